#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/golden_checkpoints.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/real_file_system.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/checkpoint/default_operator_state_backend.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OperatorStateTest : public ::testing::Test {
 protected:
  OperatorStateTest() {
    storage = FsCheckpointStorage::create(files, JobID::of(1, 2), {"/checkpoints", 0}, Random(3)).value();
    EXPECT_TRUE(storage->initializeCheckpoint(1).has_value());
  }
  OperatorStateHandle snapshot(OperatorStateBackend& backend) {
    return backend.prepareSnapshot(1)->write(*storage->resolveCheckpointLocation(1, {})).value().value();
  }
  Result<void> restore(OperatorStateBackend& backend, const OperatorStateHandle& handle) { return backend.restore({&handle, 1}, *storage); }

  MemoryFileSystem files;
  std::unique_ptr<FsCheckpointStorage> storage;
};

TEST_F(OperatorStateTest, ListsAndMapsComeBackAsTheyWere) {
  DefaultOperatorStateBackend before;
  before.listState<int64_t>("offsets").value()->elements() = {4, 5, 6};
  before.unionListState<std::string>("names").value()->elements() = {"a", "b"};
  before.broadcastState<std::string, int64_t>("rules").value()->entries() = {{"x", 1}, {"y", 2}};
  before.listState<int64_t>("empty").value();
  const auto handle = snapshot(before);
  EXPECT_EQ(handle.states.size(), 4u);
  DefaultOperatorStateBackend after;
  ASSERT_TRUE(restore(after, handle).has_value());
  EXPECT_THAT(after.listState<int64_t>("offsets").value()->elements(), ElementsAre(4, 5, 6));
  EXPECT_THAT(after.unionListState<std::string>("names").value()->elements(), ElementsAre("a", "b"));
  EXPECT_EQ((after.broadcastState<std::string, int64_t>("rules").value()->entries()), (std::map<std::string, int64_t>{{"x", 1}, {"y", 2}}));
  EXPECT_TRUE(after.listState<int64_t>("empty").value()->elements().empty());
}

TEST_F(OperatorStateTest, AnOperatorWithoutStateWritesNothing) {
  DefaultOperatorStateBackend backend;
  EXPECT_FALSE(backend.prepareSnapshot(1)->write(*storage->resolveCheckpointLocation(1, {})).value().has_value());
  EXPECT_TRUE(files.list(storage->checkpointFolder(1)).value().empty());
}

TEST_F(OperatorStateTest, ASnapshotIsNotChangedByWhatComesAfterIt) {
  DefaultOperatorStateBackend backend;
  auto* offsets = backend.listState<int64_t>("offsets").value();
  offsets->elements() = {1};
  auto job = backend.prepareSnapshot(1);
  offsets->elements() = {2, 3};
  const auto handle = job->write(*storage->resolveCheckpointLocation(1, {})).value().value();
  DefaultOperatorStateBackend after;
  ASSERT_TRUE(restore(after, handle).has_value());
  EXPECT_THAT(after.listState<int64_t>("offsets").value()->elements(), ElementsAre(1));
}

TEST_F(OperatorStateTest, TheWrongTypeOrModeIsAnErrorThatSaysWhatItWas) {
  DefaultOperatorStateBackend before;
  before.listState<int64_t>("offsets").value()->elements() = {4};
  EXPECT_THAT(before.listState<std::string>("offsets").error().message, HasSubstr("already used with another type"));
  EXPECT_THAT(before.unionListState<int64_t>("offsets").error().message, HasSubstr("already used as SPLIT_DISTRIBUTE"));
  const auto handle = snapshot(before);
  DefaultOperatorStateBackend after;
  ASSERT_TRUE(restore(after, handle).has_value());
  const auto wrong = after.listState<std::string>("offsets");
  ASSERT_TRUE(wrong.has_error());
  EXPECT_THAT(wrong.error().message, HasSubstr("\"offsets\" is SPLIT_DISTRIBUTE Long, the operator wants SPLIT_DISTRIBUTE String"));
  EXPECT_TRUE(after.unionListState<int64_t>("offsets").has_error());
  EXPECT_TRUE(after.listState<int64_t>("offsets").has_value());
}

TEST_F(OperatorStateTest, FilesOfFlinkAreReadAndWrittenBackWhetherAskedForOrNot) {
  RealFileSystem disk;
  auto real = FsCheckpointStorage::create(disk, JobID{}, {"/nowhere"}, Random(1)).value();
  int handles = 0;
  for (const auto& folder : golden::checkpointFolders()) {
    SCOPED_TRACE(folder);
    const auto metadata = readMetadata(golden::readBytes(folder + "/_metadata"), golden::pathOf(folder), folder).value();
    for (const auto& op : metadata.operators) {
      for (const auto& [index, state] : op.subtasks) {
        for (const auto& handle : state.managedOperator) {
          for (bool register_ : {false, true}) {
            DefaultOperatorStateBackend backend;
            const auto done = backend.restore({&handle, 1}, *real);
            ASSERT_TRUE(done.has_value()) << done.error().message;
            if (register_ && op.uid == "src" && handle.states.size() == 2) {
              const auto& elements = backend.listState<int64_t>("offset").value()->elements();
              ASSERT_EQ(elements.size(), 2u);
              EXPECT_EQ(elements[0], -elements[1]);
              EXPECT_THAT(backend.unionListState<int64_t>("all-offsets").value()->elements(), ElementsAre(1000 + elements[0]));
            } else if (register_ && handle.states[0].name == "rules") {
              EXPECT_EQ((backend.broadcastState<std::string, int32_t>("rules").value()->entries()),
                        (std::map<std::string, int32_t>{{"rule", 7}}));
            }
            const auto again = snapshot(backend);
            EXPECT_EQ(readAll(*storage, again.stream).value(), readAll(*real, handle.stream).value());
            ASSERT_EQ(again.states.size(), handle.states.size());
            for (size_t i = 0; i < again.states.size(); ++i) EXPECT_EQ(again.states[i].offsets, handle.states[i].offsets);
            ++handles;
          }
        }
      }
    }
  }
  EXPECT_GT(handles, 60);
}

TEST_F(OperatorStateTest, DamagedFilesAreErrorsThatNameTheFile) {
  DefaultOperatorStateBackend before;
  before.listState<std::vector<std::string>>("lists").value()->elements() = {{"a", "bc"}, {}};
  before.broadcastState<std::string, std::optional<int64_t>>("rules").value()->entries() = {{"x", 1}, {"y", {}}};
  const auto handle = snapshot(before);
  const auto& file = std::get<RelativeFileHandle>(handle.stream);
  const auto bytes = readAll(*storage, handle.stream).value();
  Random random(5);
  for (int round = 0; round < 3000; ++round) {
    auto damaged = bytes;
    for (uint64_t flips = random.between(1, 3); flips > 0; --flips)
      damaged[random.below(damaged.size())] ^= static_cast<std::byte>(1 << random.below(8));
    OperatorStateHandle other = handle;
    if (random.oneIn(3)) damaged.resize(random.below(damaged.size()));
    other.stream = InlineHandle{file.path, std::make_shared<const std::vector<std::byte>>(damaged)};
    DefaultOperatorStateBackend after;
    const auto done = restore(after, other);
    if (done.has_error()) {
      EXPECT_THAT(done.error().message, HasSubstr(file.path));
      continue;
    }
    (void)after.listState<std::vector<std::string>>("lists");
    (void)after.broadcastState<std::string, std::optional<int64_t>>("rules");
    (void)after.prepareSnapshot(1);
  }
}

}  // namespace
}  // namespace weir
