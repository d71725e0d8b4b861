#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>

#include "support/golden_checkpoints.h"
#include "weir/base/random.h"
#include "weir/checkpoint/checkpoint_metadata.h"
#include "weir/checkpoint/checkpoint_properties.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

CheckpointMetadata readGolden(const std::string& folder) {
  return readMetadata(golden::readBytes(folder + "/_metadata"), folder, folder + "/_metadata").value();
}

/// A structure with one of everything that the format can hold.
CheckpointMetadata everything() {
  CheckpointMetadata m;
  m.checkpointId = 7;
  m.masterStates.push_back({1, "hook", {std::byte{1}, std::byte{2}}});
  const auto bytes = std::make_shared<const std::vector<std::byte>>(3, std::byte{9});
  OperatorState op;
  op.name = "count";
  op.uid = "";
  op.id = OperatorID::of(1, 2);
  op.parallelism = 4;
  op.maxParallelism = 8;
  op.coordinatorState = InlineHandle{"coordinator", bytes};
  op.finishedSubtasks = {3, 0};
  OperatorSubtaskState& state = op.subtasks[1];
  state.managedOperator = {{{{"b", OperatorStateMode::kUnion, {1, 2}}, {"a", OperatorStateMode::kSplit, {}}}, InlineHandle{"n", bytes}}};
  state.rawOperator = {{{}, RelativeFileHandle{"raw", 5, "/f/raw"}}};
  state.managedKeyed = {
      KeyGroupsHandle{KeyGroupsHandle::Format::kCanonicalSavepoint, {2, 3}, {0, 10}, RelativeFileHandle{"kg", 20, "/f/kg"}, ""}};
  RocksDbHandle rocks{7,   "backend", {2, 3}, 11, InlineHandle{"meta", bytes}, {{"1.sst", FileHandle{"file:/x/1", 8}}}, {{"CURRENT", {}}},
                      "id"};
  state.rawKeyed = {rocks};
  state.inputChannels = {{1, 30, FileHandle{"file:/x/c", 99}, {{0, 1, 30, {4, 20}}}}};
  state.outputChannels = {{1, 0, StreamHandle{}, {}}};
  op.subtasks[2] = {};
  m.operators.push_back(op);
  OperatorState done;
  done.id = OperatorID::of(3, 4);
  done.fullyFinished = true;
  m.operators.push_back(done);
  m.properties = CheckpointProperties{}.toJavaObject();
  return m;
}

TEST(Metadata, EveryFileOfFlinkIsReadAndWrittenBackByteForByte) {
  const auto folders = golden::checkpointFolders();
  ASSERT_EQ(folders.size(), 18u);
  for (const auto& folder : folders) {
    SCOPED_TRACE(folder);
    const auto bytes = golden::readBytes(folder + "/_metadata");
    auto metadata = readMetadata(bytes, folder, "f");
    ASSERT_TRUE(metadata.has_value()) << metadata.error().message;
    auto again = writeMetadata(*metadata);
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(*again, bytes);
  }
}

std::string describe(const StreamHandle& handle) {
  if (const auto* f = std::get_if<RelativeFileHandle>(&handle)) return fmt::format("RelativeFileStateHandle {} size={}", f->name, f->size);
  if (const auto* f = std::get_if<FileHandle>(&handle)) return fmt::format("FileStateHandle {} size={}", f->path, f->size);
  if (std::holds_alternative<InlineHandle>(handle)) return fmt::format("ByteStreamStateHandle {}", stateSize(handle));
  return "none";
}

TEST(Metadata, SaysWhatFlinksOwnReaderSays) {
  for (const auto& folder : golden::checkpointFolders()) {
    SCOPED_TRACE(folder);
    const std::string listing = golden::readText(folder + "/metadata.txt");
    const auto metadata = readGolden(folder);
    EXPECT_THAT(listing, HasSubstr(fmt::format("checkpoint id {}\n", metadata.checkpointId)));
    for (const auto& op : metadata.operators) {
      EXPECT_THAT(listing, HasSubstr(fmt::format("operator {} name={} uid={} parallelism={} maxParallelism={} fullyFinished={}",
                                                 op.id.toString(), op.name, op.uid, op.parallelism, op.maxParallelism, op.fullyFinished)));
      for (const auto& [index, state] : op.subtasks) {
        EXPECT_THAT(listing, HasSubstr(fmt::format("subtask {} stateSize={}", index, state.stateSize())));
        for (const auto& handle : state.managedKeyed) {
          const auto* groups = std::get_if<KeyGroupsHandle>(&handle);
          if (!groups) continue;
          EXPECT_THAT(listing,
                      HasSubstr(fmt::format("KeyGroupRange{{startKeyGroup={}, endKeyGroup={}}}", groups->range.first, groups->range.last)));
          if (std::holds_alternative<RelativeFileHandle>(groups->stream)) {
            EXPECT_THAT(listing, HasSubstr(describe(groups->stream)));
          }
          for (size_t i = 0; i < groups->offsets.size(); ++i) {
            if (groups->offsets[i] == 0) continue;  // an empty key group of a savepoint: listed as part of a range
            EXPECT_THAT(listing, HasSubstr(fmt::format("{}@{}", groups->range.first + static_cast<int>(i), groups->offsets[i])));
          }
        }
        for (const auto& handle : state.managedOperator) {
          for (const auto& s : handle.states) EXPECT_THAT(listing, HasSubstr(fmt::format("state \"{}\" mode=", s.name)));
        }
      }
    }
  }
}

TEST(Metadata, KnowsTheValuesOfASmallFile) {
  const std::string folder = golden::checkpointFolder("aligned-heap-tiny", "chk-2");
  const auto metadata = readGolden(folder);
  EXPECT_EQ(metadata.checkpointId, 2);
  ASSERT_EQ(metadata.operators.size(), 3u);
  const OperatorState& tiny = metadata.operators[0];
  EXPECT_EQ(tiny.id.toString(), "322e364ecd84dca078a46c945914fd96");
  const auto& keyed = std::get<KeyGroupsHandle>(tiny.subtasks.at(0).managedKeyed.at(0));
  EXPECT_EQ(keyed.range, (KeyGroupRange{0, 63}));
  EXPECT_EQ(keyed.offsets[8], 1228);
  EXPECT_EQ(keyed.handleId, "61ed7a5d-e38f-4d7e-ab5e-09673d968fd1");
  const auto& file = std::get<RelativeFileHandle>(keyed.stream);
  EXPECT_EQ(file.path, folder + "/ad9fe7f3-2a54-4a10-81ef-127b8a4d8222");
  EXPECT_EQ(file.size, 2492);
  const auto& source = metadata.operators[2].subtasks.at(1).managedOperator.at(0);
  ASSERT_EQ(source.states.size(), 2u);
  EXPECT_EQ(source.states[0].name, "offset");
  EXPECT_EQ(source.states[0].offsets, (std::vector<int64_t>{363, 371}));
  EXPECT_EQ(source.states[1].mode, OperatorStateMode::kUnion);
}

TEST(Metadata, KeepsWhatNoGoldenFileShows) {
  const auto bytes = writeMetadata(everything()).value();
  const auto again = readMetadata(bytes, "/f", "x").value();
  EXPECT_EQ(writeMetadata(again).value(), bytes);
  EXPECT_EQ(again.masterStates.at(0).name, "hook");
  const OperatorState& op = again.operators.at(0);
  EXPECT_EQ(op.finishedSubtasks, (std::vector<int32_t>{0, 3}));
  EXPECT_EQ(op.subtasks.size(), 2u);
  EXPECT_EQ(op.subtasks.at(1).inputChannels.at(0).channels.at(0).offsets, (std::vector<int64_t>{4, 20}));
  EXPECT_EQ(std::get<RocksDbHandle>(op.subtasks.at(1).rawKeyed.at(0)).range, (KeyGroupRange{2, 3}));
  EXPECT_TRUE(again.operators.at(1).fullyFinished);
}

TEST(Metadata, AFileCutAnywhereIsAnErrorThatNamesFileAndOffset) {
  const auto bytes = writeMetadata(everything()).value();
  const size_t properties = bytes.size() - CheckpointProperties{}.toJavaObject().size();
  for (size_t length = 0; length < properties + 4; ++length) {
    const auto cut = readMetadata(std::span(bytes).first(length), "/f", "/f/_metadata");
    ASSERT_TRUE(cut.has_error()) << length;
    EXPECT_EQ(cut.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(cut.error().message, StartsWith("/f/_metadata "));
    if (length >= 8) {
      EXPECT_THAT(cut.error().message, HasSubstr(fmt::format("of {})", length)));
    }
  }
}

TEST(Metadata, DamagedBytesNeverCrashAndWhatIsReadCanBeWritten) {
  for (const auto& folder : golden::checkpointFolders()) {
    auto bytes = golden::readBytes(folder + "/_metadata");
    Random random(1, folder);
    for (int round = 0; round < 300; ++round) {
      auto damaged = bytes;
      for (uint64_t flips = random.between(1, 4); flips > 0; --flips)
        damaged[random.below(damaged.size())] ^= static_cast<std::byte>(1 << random.below(8));
      if (random.oneIn(4)) damaged.resize(random.below(damaged.size()));
      const auto read = readMetadata(damaged, "/f", "/f/_metadata");
      if (read.has_error()) {
        EXPECT_THAT(read.error().message, StartsWith("/f/_metadata "));
      } else {
        EXPECT_TRUE(writeMetadata(*read).has_value());
      }
    }
  }
}

TEST(Metadata, EveryByteOfASmallFileMayBeAnything) {
  const auto bytes = writeMetadata(everything()).value();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      auto damaged = bytes;
      damaged[at] = static_cast<std::byte>(value);
      const auto read = readMetadata(damaged, "/f", "x");
      if (read.has_error()) {
        EXPECT_THAT(read.error().message, StartsWith("x "));
      }
    }
  }
}

TEST(Metadata, AnotherFormatIsRefusedByName) {
  auto bytes = writeMetadata(everything()).value();
  bytes[7] = std::byte{4};
  EXPECT_THAT(readMetadata(bytes, "/f", "/f/_metadata").error().message, HasSubstr("metadata version 4"));
  bytes[0] = std::byte{'{'};
  EXPECT_THAT(readMetadata(bytes, "/f", "/f/_metadata").error().message, HasSubstr("is no checkpoint metadata"));
}

TEST(Metadata, ARelativeNameCannotLeaveItsFolder) {
  CheckpointMetadata m;
  OperatorState op;
  op.coordinatorState = RelativeFileHandle{"../../etc/passwd", 1, ""};
  m.operators.push_back(op);
  m.properties = CheckpointProperties{}.toJavaObject();
  EXPECT_THAT(readMetadata(writeMetadata(m).value(), "/f", "x").error().message, HasSubstr("relative file name"));
}

TEST(Metadata, TwoHandlesOfASubtaskCannotBeWritten) {
  auto m = everything();
  auto& keyed = m.operators[0].subtasks.at(1).managedKeyed;
  keyed.push_back(keyed.front());
  const auto written = writeMetadata(m);
  ASSERT_TRUE(written.has_error());
  EXPECT_THAT(written.error().message, HasSubstr("(count), subtask 1: a checkpoint holds at most one keyed state handle"));
}

TEST(CheckpointProperties, AreTheBytesOfFlink) {
  std::set<size_t> sizes;
  for (const auto& folder : golden::checkpointFolders()) {
    SCOPED_TRACE(folder);
    const auto metadata = readGolden(folder);
    const auto properties = CheckpointProperties::fromJavaObject(metadata.properties);
    ASSERT_TRUE(properties.has_value());
    EXPECT_EQ(properties->toJavaObject(), metadata.properties);
    EXPECT_THAT(golden::readText(folder + "/metadata.txt"), HasSubstr(toString(properties->type, properties->format)));
    sizes.insert(metadata.properties.size());
    if (isSavepoint(properties->type)) {
      EXPECT_EQ(*properties, CheckpointProperties::forSavepoint(properties->type, properties->format));
    } else {
      EXPECT_EQ(*properties,
                CheckpointProperties::forCheckpoint(SnapshotType::kCheckpoint, CheckpointProperties::Retention::kRetainOnCancellation));
    }
  }
  EXPECT_EQ(sizes, (std::set<size_t>{604, 742, 745, 760}));
}

TEST(CheckpointProperties, OfAnotherShapeAreNotGuessed) {
  auto bytes = CheckpointProperties{}.toJavaObject();
  EXPECT_TRUE(CheckpointProperties::fromJavaObject(bytes));
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(CheckpointProperties::fromJavaObject(bytes));
  EXPECT_FALSE(CheckpointProperties::fromJavaObject(std::span(bytes).first(100)));
}

}  // namespace
}  // namespace weir
