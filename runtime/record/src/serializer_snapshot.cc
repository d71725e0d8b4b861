#include "weir/record/serializer_snapshot.h"

#include <array>

#include <fmt/format.h>

#include "weir/record/data_input.h"
#include "weir/record/data_output.h"

namespace weir {

namespace {

constexpr int32_t kFormatVersion = 2;    ///< of the place in the meta data
constexpr int32_t kSnapshotVersion = 3;  ///< of every snapshot class known here
constexpr int32_t kCompositeMagic = 911108;
constexpr int32_t kNestedMagic = 1333245;
constexpr int32_t kNestedVersion = 1;
constexpr int kMaxDepth = 16;
constexpr std::string_view kMetaData = "The state's meta data";

constexpr std::string_view kList = "org.apache.flink.api.common.typeutils.base.ListSerializerSnapshot";
constexpr std::string_view kMap = "org.apache.flink.api.common.typeutils.base.MapSerializerSnapshot";
constexpr std::string_view kTuple = "org.apache.flink.api.java.typeutils.runtime.TupleSerializerSnapshot";
constexpr std::string_view kNullable = "org.apache.flink.api.java.typeutils.runtime.NullableSerializer$NullableSerializerSnapshot";
constexpr std::string_view kTtl = "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot";
constexpr std::string_view kTimer = "org.apache.flink.streaming.api.operators.TimerSerializerSnapshot";

// What windows keep: records with their timestamps, of two streams, waiting for partners.
constexpr std::string_view kStreamElement =
    "org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer$StreamElementSerializerSnapshot";
constexpr std::string_view kUnion = "org.apache.flink.streaming.api.datastream.CoGroupedStreams$UnionSerializerSnapshot";
constexpr std::string_view kBufferEntry =
    "org.apache.flink.streaming.api.operators.co.IntervalJoinOperator$BufferEntrySerializerSnapshot";

enum class Body { kNone, kUtf, kInt };  ///< what a composite says besides its parts
struct Composite {
  std::string_view className;
  int32_t version;
  Body body;
};
constexpr std::array<Composite, 9> kComposites = {{{kList, 1, Body::kNone},
                                                   {kMap, 1, Body::kNone},
                                                   {kTuple, 2, Body::kUtf},
                                                   {kNullable, 2, Body::kInt},
                                                   {kTimer, 2, Body::kNone},
                                                   {kTtl, 2, Body::kNone},
                                                   {kStreamElement, 2, Body::kNone},
                                                   {kUnion, 2, Body::kNone},
                                                   {kBufferEntry, 2, Body::kNone}}};

const Composite* compositeOf(std::string_view className) {
  for (const Composite& composite : kComposites)
    if (composite.className == className) return &composite;
  return nullptr;
}

/// Serializers whose snapshot has an empty body.
bool isSimple(std::string_view className) {
  constexpr std::array<std::string_view, 11> kPrefixes = {
      "org.apache.flink.api.common.typeutils.base.BooleanSerializer$",
      "org.apache.flink.api.common.typeutils.base.ByteSerializer$",
      "org.apache.flink.api.common.typeutils.base.ShortSerializer$",
      "org.apache.flink.api.common.typeutils.base.IntSerializer$",
      "org.apache.flink.api.common.typeutils.base.LongSerializer$",
      "org.apache.flink.api.common.typeutils.base.FloatSerializer$",
      "org.apache.flink.api.common.typeutils.base.DoubleSerializer$",
      "org.apache.flink.api.common.typeutils.base.CharSerializer$",
      "org.apache.flink.api.common.typeutils.base.StringSerializer$",
      "org.apache.flink.runtime.state.VoidNamespaceSerializer$",
      "org.apache.flink.streaming.api.windowing.windows.TimeWindow$Serializer$",
  };
  for (std::string_view prefix : kPrefixes)
    if (className.starts_with(prefix)) return true;
  return className == "org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot";
}

/// Reads a constant of the format; anything else is corrupt.
bool expect(DataInput& in, int32_t expected, const char* why) {
  int32_t found = in.readInt();
  return in.ok() && (found == expected || in.fail(why));
}

Result<SerializerSnapshot> read(DataInput& in, int depth) {
  SerializerSnapshot snapshot;
  snapshot.className = in.readUtf();
  if (in.failed()) return in.error(kMetaData);
  const Composite* composite = compositeOf(snapshot.className);
  if (!composite && !isSimple(snapshot.className))
    return Error{ErrorCode::kUnsupported,
                 fmt::format("The state was written by the serializer of {}, which Weir does not know.", snapshot.className)};
  if (!expect(in, kSnapshotVersion, "has a serializer snapshot of an unknown version")) return in.error(kMetaData);
  if (!composite) return snapshot;
  if (depth == kMaxDepth) in.fail("nests serializers too deeply");
  expect(in, kCompositeMagic, "lacks the mark of a composite serializer");
  expect(in, composite->version, "has a composite serializer of an unknown version");
  if (composite->body == Body::kUtf) snapshot.detail = in.readUtf();
  if (composite->body == Body::kInt) snapshot.detail = std::to_string(in.readInt());
  expect(in, kNestedMagic, "lacks the mark of nested serializers");
  expect(in, kNestedVersion, "has nested serializers of an unknown version");
  int32_t count = in.readInt();
  if (count < 0 || count > 25) in.fail("has more nested serializers than any type");
  if (in.failed()) return in.error(kMetaData);
  for (int32_t i = 0; i < count; ++i) {
    WEIR_ASSIGN(auto nested, read(in, depth + 1));
    snapshot.nested.push_back(std::move(nested));
  }
  return snapshot;
}

std::string shortName(std::string_view className) {
  className.remove_prefix(className.find_last_of('.') + 1);
  className = className.substr(0, className.find("Serializer"));
  if (className.ends_with('$')) className.remove_suffix(1);
  return std::string(className);
}

}  // namespace

SerializerSnapshot SerializerSnapshot::simple(std::string className) { return {std::move(className), "", {}}; }
SerializerSnapshot SerializerSnapshot::list(SerializerSnapshot element) { return {std::string(kList), "", {std::move(element)}}; }
SerializerSnapshot SerializerSnapshot::map(SerializerSnapshot key, SerializerSnapshot value) {
  return {std::string(kMap), "", {std::move(key), std::move(value)}};
}
SerializerSnapshot SerializerSnapshot::nullable(SerializerSnapshot value) { return {std::string(kNullable), "0", {std::move(value)}}; }
SerializerSnapshot SerializerSnapshot::tuple(std::vector<SerializerSnapshot> fields) {
  return {std::string(kTuple), fmt::format("org.apache.flink.api.java.tuple.Tuple{}", fields.size()), std::move(fields)};
}
SerializerSnapshot SerializerSnapshot::ttl(SerializerSnapshot value) {
  const SerializerSnapshot time =
      simple("org.apache.flink.api.common.typeutils.base.LongSerializer$LongSerializerSnapshot");
  return {std::string(kTtl), "", {time, std::move(value)}};
}
SerializerSnapshot SerializerSnapshot::timer(SerializerSnapshot key, SerializerSnapshot nameSpace) {
  return {std::string(kTimer), "", {std::move(key), std::move(nameSpace)}};
}

std::string SerializerSnapshot::toString() const {
  std::string text = className == kTuple ? detail.substr(detail.find_last_of('.') + 1) : shortName(className);
  if (nested.empty()) return text;
  for (size_t i = 0; i < nested.size(); ++i) text += (i == 0 ? "(" : ", ") + nested[i].toString();
  return text + ")";
}

void SerializerSnapshot::writeTo(DataOutput& out) const {
  out.writeUtf(className);
  out.writeInt(kSnapshotVersion);
  const Composite* composite = compositeOf(className);
  if (!composite) return;
  out.writeInt(kCompositeMagic);
  out.writeInt(composite->version);
  if (composite->body == Body::kUtf) out.writeUtf(detail);
  if (composite->body == Body::kInt) out.writeInt(static_cast<int32_t>(std::stol(detail)));
  out.writeInt(kNestedMagic);
  out.writeInt(kNestedVersion);
  out.writeInt(static_cast<int32_t>(nested.size()));
  for (const SerializerSnapshot& part : nested) part.writeTo(out);
}

Result<SerializerSnapshot> SerializerSnapshot::readFrom(DataInput& in) { return read(in, 0); }

void SerializerSnapshot::writeVersioned(DataOutput& out) const {
  out.writeInt(kFormatVersion);
  writeTo(out);
}

Result<SerializerSnapshot> SerializerSnapshot::readVersioned(DataInput& in) {
  if (!expect(in, kFormatVersion, "has serializer snapshots of an unknown format")) return in.error(kMetaData);
  return readFrom(in);
}

}  // namespace weir
