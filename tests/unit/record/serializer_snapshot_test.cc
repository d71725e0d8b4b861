#include "weir/record/serializer_snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "support/golden_bytes.h"
#include "weir/record/serializer.h"

namespace weir {
namespace {

struct Row {
  int64_t sum = 0, count = 0;
  WEIR_FIELDS(sum, count)
};

std::vector<uint8_t> fileBytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Every snapshot in the checkpoints of a real Flink: it follows its role ("VALUE_SERIALIZER", ...) everywhere.
std::map<std::string, int> snapshotsOfFlink() {
  std::map<std::string, int> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(golden::folder() + "/checkpoints")) {
    if (!entry.is_regular_file() || entry.path().extension() == ".md" || entry.path().extension() == ".txt") continue;
    auto bytes = fileBytes(entry.path());
    for (std::string_view role : {"VALUE_SERIALIZER", "NAMESPACE_SERIALIZER"}) {
      for (auto at = bytes.begin(); (at = std::search(at, bytes.end(), role.begin(), role.end())) != bytes.end();) {
        at += static_cast<long>(role.size());
        DataInput in(std::span(at, bytes.end()));
        auto snapshot = SerializerSnapshot::readVersioned(in);
        if (!snapshot.has_value()) {
          ADD_FAILURE() << entry.path() << ": " << snapshot.error().message;
          continue;
        }
        DataOutput out;
        snapshot->writeVersioned(out);
        EXPECT_TRUE(std::equal(out.bytes().begin(), out.bytes().end(), at)) << entry.path() << ": " << snapshot->toString();
        ++found[snapshot->toString()];
      }
    }
  }
  return found;
}

TEST(SerializerSnapshot, EveryOneInTheCheckpointsOfFlinkIsReadAndWrittenByteForByte) {
  auto found = snapshotsOfFlink();
  for (const char* expected : {"Long", "List(String)", "Map(String, Long)", "Tuple2(Long, Long)", "VoidNamespace", "TimeWindow",
                               "Timer(String, VoidNamespace)", "Timer(String, TimeWindow)"})
    EXPECT_GT(found[expected], 0) << expected;
  for (const auto& [text, count] : found) RecordProperty(text, count);
}

TEST(SerializerSnapshot, ATypeHasTheOneThatFlinkWritesForIt) {
  EXPECT_EQ(Serializer<std::string>::snapshot().className,
            "org.apache.flink.api.common.typeutils.base.StringSerializer$StringSerializerSnapshot");
  EXPECT_EQ(Serializer<int32_t>::snapshot().className, "org.apache.flink.api.common.typeutils.base.IntSerializer$IntSerializerSnapshot");
  EXPECT_EQ(Serializer<std::vector<uint8_t>>::snapshot().toString(), "BytePrimitiveArray");
  EXPECT_EQ(Serializer<Row>::snapshot(), (Serializer<std::tuple<int64_t, int64_t>>::snapshot()));
  EXPECT_EQ(Serializer<Row>::snapshot().detail, "org.apache.flink.api.java.tuple.Tuple2");
  using Everything = std::tuple<bool, int8_t, int16_t, int32_t, int64_t, float, double, char16_t, std::optional<std::string>,
                                std::optional<int32_t>, std::vector<Row>, std::map<std::string, std::optional<int64_t>>>;
  SerializerSnapshot snapshot = Serializer<Everything>::snapshot();
  EXPECT_EQ(
      snapshot.toString(),
      "Tuple12(Boolean, Byte, Short, Int, Long, Float, Double, Char, String, Nullable(Int), List(Tuple2(Long, Long)), Map(String, Long))");
  DataOutput out;
  snapshot.writeVersioned(out);
  DataInput in(out.bytes());
  EXPECT_EQ(SerializerSnapshot::readVersioned(in).value(), snapshot);
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(SerializerSnapshot, AClassThatIsNotKnownIsRefusedByName) {
  DataOutput out;
  out.writeUtf("org.apache.flink.api.java.typeutils.runtime.PojoSerializerSnapshot");
  out.writeInt(2);
  DataInput in(out.bytes());
  auto snapshot = SerializerSnapshot::readFrom(in);
  ASSERT_FALSE(snapshot.has_value());
  EXPECT_EQ(snapshot.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(snapshot.error().message.find("PojoSerializerSnapshot"), std::string::npos) << snapshot.error().message;
}

TEST(SerializerSnapshot, EveryTruncationAndNestingWithoutEndIsRefused) {
  DataOutput out;
  Serializer<std::map<std::string, std::vector<Row>>>::snapshot().writeVersioned(out);
  for (size_t size = 0; size < out.size(); ++size) {
    DataInput in(out.bytes().first(size));
    EXPECT_FALSE(SerializerSnapshot::readVersioned(in).has_value()) << size;
  }
  SerializerSnapshot deep = Serializer<bool>::snapshot();
  for (int i = 0; i < 100; ++i) deep = SerializerSnapshot::list(std::move(deep));
  DataOutput deepOut;
  deep.writeTo(deepOut);
  DataInput in(deepOut.bytes());
  EXPECT_EQ(SerializerSnapshot::readFrom(in).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace weir
