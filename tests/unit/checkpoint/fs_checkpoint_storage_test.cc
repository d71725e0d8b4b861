#include "weir/checkpoint/fs_checkpoint_storage.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/golden_checkpoints.h"
#include "support/temp_dir.h"
#include "weir/base/faulty_file_system.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/real_file_system.h"
#include "weir/checkpoint/checkpoint_files.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::UnorderedElementsAre;

constexpr char kJob[] = "00000000000000010000000000000002";

class FsCheckpointStorageTest : public ::testing::Test {
 protected:
  FsCheckpointStorageTest() : faulty(memory, faults) { make({"/checkpoints", 20480}); }
  void make(FsCheckpointStorageOptions options) {
    storage = FsCheckpointStorage::create(faulty, JobID::of(1, 2), std::move(options), Random(3)).value();
  }
  std::string folder(int64_t id) { return fmt::format("/checkpoints/{}/chk-{}", kJob, id); }
  void fail(FileOperation operation, const std::string& path, ErrorCode code = ErrorCode::kIo) {
    FileFault fault;
    fault.operations = {operation};
    fault.path = path;
    fault.code = code;
    faults.add(fault);
  }
  Result<StreamHandle> write(int64_t id, size_t size, CheckpointedStateScope scope = CheckpointedStateScope::kExclusive,
                             size_t piece = 7000) {
    WEIR_ASSIGN(auto output, storage->resolveCheckpointLocation(id, {})->createOutput(scope));
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7);
    for (size_t at = 0; at < size; at += piece) WEIR_TRY(output->write(std::span(bytes).subspan(at, std::min(piece, size - at))));
    EXPECT_EQ(output->position(), static_cast<int64_t>(size));
    return output->finish();
  }
  OperatorState operatorWith(StreamHandle handle) {
    OperatorState op;
    op.name = "op";
    op.id = OperatorID::of(5, 6);
    op.subtasks[0].managedOperator = {{{{"s", OperatorStateMode::kSplit, {0}}}, std::move(handle)}};
    return op;
  }
  std::set<std::string> allFiles(const std::string& path = "/") {
    std::set<std::string> files;
    for (const auto& name : memory.list(path).value()) {
      const std::string inside = path == "/" ? "/" + name : path + "/" + name;
      if (memory.isDirectory(inside))
        files.merge(allFiles(inside));
      else
        files.insert(inside);
    }
    return files;
  }

  MemoryFileSystem memory;
  FileFaults faults;
  FaultyFileSystem faulty;
  std::unique_ptr<FsCheckpointStorage> storage;
};

TEST_F(FsCheckpointStorageTest, TheFoldersAreThoseOfFlink) {
  ASSERT_TRUE(storage->initializeBaseLocations().has_value());
  ASSERT_TRUE(storage->initializeCheckpoint(3).has_value());
  EXPECT_THAT(memory.list(std::string("/checkpoints/") + kJob).value(), ElementsAre("chk-3", "shared", "taskowned"));
  EXPECT_THAT(allFiles(), IsEmpty()) << "the probe is gone";
}

TEST_F(FsCheckpointStorageTest, SmallStateStaysInsideAndLargerStateBecomesAFile) {
  ASSERT_TRUE(storage->initializeBaseLocations().has_value());
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(write(1, 0).value()));
  const auto small = write(1, 20480).value();
  ASSERT_TRUE(std::holds_alternative<InlineHandle>(small));
  EXPECT_THAT(std::get<InlineHandle>(small).name,
              MatchesRegex("file:" + folder(1) + "/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_THAT(allFiles(), IsEmpty());
  for (size_t size : {20481u, 65536u, 65537u, 300000u}) {
    for (size_t piece : {size, size_t{999}, size_t{70000}}) {
      const auto large = write(1, size, CheckpointedStateScope::kExclusive, piece).value();
      ASSERT_TRUE(std::holds_alternative<RelativeFileHandle>(large));
      EXPECT_EQ(stateSize(large), static_cast<int64_t>(size));
      const auto bytes = readAll(*storage, large).value();
      ASSERT_EQ(bytes.size(), size);
      for (size_t i = 0; i < size; ++i) ASSERT_EQ(bytes[i], static_cast<std::byte>(i * 7));
    }
  }
  const auto shared = std::get<FileHandle>(write(1, 30000, CheckpointedStateScope::kShared).value());
  EXPECT_THAT(shared.path, MatchesRegex(fmt::format("file:/checkpoints/{}/shared/[0-9a-f-]{{36}}", kJob)));
  EXPECT_EQ(readAll(*storage, shared).value().size(), 30000u);
}

TEST_F(FsCheckpointStorageTest, ATaskThatIsLateForADiscardedCheckpointMakesItsFolderAnewAndCanTakeItBack) {
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  ASSERT_TRUE(storage->discardCheckpoint(1).has_value());
  TaskStateSnapshot late, later;
  late.operators[OperatorID::of(5, 6)] = operatorWith(write(1, 30000).value()).subtasks[0];
  later.operators[OperatorID::of(5, 6)] = operatorWith(write(1, 30000).value()).subtasks[0];
  EXPECT_EQ(allFiles().size(), 2u);
  storage->discardAborted(1, {}, late);
  EXPECT_EQ(allFiles().size(), 1u) << "the other task's file is none of its business";
  storage->discardAborted(1, {}, later);
  EXPECT_FALSE(memory.exists(folder(1))) << "the last one takes the folder along";
}

TEST_F(FsCheckpointStorageTest, AnOutputThatIsNotFinishedLeavesNoFile) {
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  {
    auto output = storage->resolveCheckpointLocation(1, {})->createOutput(CheckpointedStateScope::kExclusive).value();
    ASSERT_TRUE(output->write(std::vector<std::byte>(100000)).has_value());
    EXPECT_EQ(allFiles().size(), 1u);
  }
  EXPECT_THAT(allFiles(), IsEmpty());
}

TEST_F(FsCheckpointStorageTest, ACompletedCheckpointIsFoundByFolderByFileAndByUri) {
  ASSERT_TRUE(storage->initializeCheckpoint(4).has_value());
  const auto handle = write(4, 30000).value();
  const std::string path = storage->writeMetadata(4, {operatorWith(handle)}).value();
  EXPECT_EQ(path, folder(4));
  EXPECT_THAT(memory.list(path).value(), ::testing::Contains("_metadata"));
  for (const std::string& name : {path, path + "/", path + "/_metadata", "file:" + path, "file://" + path + "/_metadata"}) {
    const auto loaded = loadCheckpoint(memory, name);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    EXPECT_EQ(loaded->folder, path);
    EXPECT_EQ(loaded->metadata.checkpointId, 4);
    const auto& found = loaded->metadata.operators.at(0).subtasks.at(0).managedOperator.at(0).stream;
    EXPECT_EQ(readAll(*storage, found).value(), readAll(*storage, handle).value());
  }
  EXPECT_THAT(loadCheckpoint(memory, "hdfs://host/x").error().message, HasSubstr("is not on a local file system"));
}

TEST_F(FsCheckpointStorageTest, AMovedFolderIsStillACheckpoint) {
  ASSERT_TRUE(storage->initializeCheckpoint(4).has_value());
  ASSERT_TRUE(storage->writeMetadata(4, {operatorWith(write(4, 30000).value())}).has_value());
  ASSERT_TRUE(memory.createDirectories("/elsewhere").has_value());
  ASSERT_TRUE(memory.rename(folder(4), "/elsewhere/kept").has_value());
  const auto loaded = loadCheckpoint(memory, "/elsewhere/kept").value();
  EXPECT_EQ(readAll(*storage, loaded.metadata.operators.at(0).subtasks.at(0).managedOperator.at(0).stream).value().size(), 30000u);
}

TEST_F(FsCheckpointStorageTest, AMissingOrShortenedFileIsNamed) {
  ASSERT_TRUE(storage->initializeCheckpoint(4).has_value());
  const auto handle = std::get<RelativeFileHandle>(write(4, 30000).value());
  ASSERT_TRUE(storage->writeMetadata(4, {operatorWith(handle)}).has_value());
  auto file = memory.create(handle.path, FileSystem::Create::kTruncate).value();
  ASSERT_TRUE(file->append(std::vector<std::byte>(100)).has_value());
  ASSERT_TRUE(file->close().has_value());
  const std::string shortened = "the state file " + handle.path + " has 100 bytes instead of 30000";
  EXPECT_EQ(loadCheckpoint(memory, folder(4)).error().message, "cannot restore from " + folder(4) + ": " + shortened);
  EXPECT_EQ(storage->open(handle).error().message, shortened);
  ASSERT_TRUE(memory.remove(handle.path).has_value());
  EXPECT_THAT(loadCheckpoint(memory, folder(4)).error().message, HasSubstr("the state file " + handle.path + " is missing"));
  EXPECT_THAT(storage->open(handle).error().message, HasSubstr(handle.path));
}

TEST_F(FsCheckpointStorageTest, AWrongPathSaysWhatWouldBeRight) {
  EXPECT_THAT(loadCheckpoint(memory, "/nothing").error().message, HasSubstr("there is no checkpoint or savepoint at /nothing"));
  ASSERT_TRUE(storage->initializeCheckpoint(4).has_value());
  EXPECT_THAT(loadCheckpoint(memory, folder(4)).error().message, HasSubstr("has no file _metadata; give the folder of a completed"));
  ASSERT_TRUE(storage->writeMetadata(4, {}).has_value());
  EXPECT_THAT(loadCheckpoint(memory, storage->jobFolder()).error().message, HasSubstr("did you mean " + folder(4) + "?"));
}

TEST_F(FsCheckpointStorageTest, TheNewestReadableCheckpointIsTakenOnlyWhenAskedFor) {
  for (int64_t id : {1, 2, 10}) {
    ASSERT_TRUE(storage->initializeCheckpoint(id).has_value());
    ASSERT_TRUE(storage->writeMetadata(id, {operatorWith(write(id, 30000).value())}).has_value());
  }
  ASSERT_TRUE(storage->initializeCheckpoint(11).has_value()) << "never completed";
  EXPECT_THAT(completedCheckpoints(memory, storage->jobFolder()).value(), ElementsAre(folder(10), folder(2), folder(1)));
  EXPECT_EQ(loadNewestCheckpoint(memory, storage->jobFolder()).value().checkpoint.folder, folder(10));
  auto file = memory.create(folder(10) + "/_metadata", FileSystem::Create::kTruncate).value();
  ASSERT_TRUE(file->close().has_value());
  const auto older = loadNewestCheckpoint(memory, storage->jobFolder()).value();
  EXPECT_EQ(older.checkpoint.folder, folder(2));
  ASSERT_EQ(older.skipped.size(), 1u);
  EXPECT_THAT(older.skipped[0].message, HasSubstr(folder(10) + "/_metadata"));
  for (int64_t id : {1, 2}) ASSERT_TRUE(storage->discardCheckpoint(id).has_value());
  EXPECT_THAT(loadNewestCheckpoint(memory, storage->jobFolder()).error().message, HasSubstr("none of the 1 checkpoints"));
}

TEST_F(FsCheckpointStorageTest, AnUnusableDirectoryIsFoundBeforeTheJobRuns) {
  fail(FileOperation::kCreate, "*.probe.*");
  const auto refused = storage->initializeBaseLocations();
  ASSERT_TRUE(refused.has_error());
  EXPECT_THAT(refused.error().message, HasSubstr("the checkpoint directory /checkpoints cannot be used: "));
  faults.clear();
  fail(FileOperation::kCreateDirectories, "*");
  EXPECT_TRUE(storage->initializeBaseLocations().has_error());
}

TEST_F(FsCheckpointStorageTest, AnExistingMetadataFileIsNotOverwritten) {
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  ASSERT_TRUE(storage->writeMetadata(1, {}).has_value());
  const auto again = storage->writeMetadata(1, {operatorWith({})});
  ASSERT_TRUE(again.has_error());
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(loadCheckpoint(memory, folder(1)).value().metadata.operators.empty());
}

/// Invariant H5: whatever fails, a checkpoint is there completely or not at all, and nothing else lies around.
TEST_F(FsCheckpointStorageTest, AFailureInAnyStepOfTheMetadataLeavesNoFile) {
  make({"/checkpoints", 20480, true});
  for (FileOperation operation : {FileOperation::kCreate, FileOperation::kAppend, FileOperation::kSync, FileOperation::kClose,
                                  FileOperation::kRename, FileOperation::kSyncDirectory}) {
    SCOPED_TRACE(fileOperationName(operation));
    faults.clear();
    ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
    fail(operation, "*");
    const auto written = storage->writeMetadata(1, {});
    ASSERT_TRUE(written.has_error());
    EXPECT_THAT(written.error().message, HasSubstr(folder(1)));
    EXPECT_THAT(allFiles(), IsEmpty());
  }
}

TEST_F(FsCheckpointStorageTest, AFailureInAnyStepOfAStateFileLeavesNoFile) {
  make({"/checkpoints", 20480, true});
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  for (FileOperation operation : {FileOperation::kCreate, FileOperation::kAppend, FileOperation::kSync, FileOperation::kClose}) {
    SCOPED_TRACE(fileOperationName(operation));
    faults.clear();
    fail(operation, "*");
    const auto written = write(1, 100000);
    ASSERT_TRUE(written.has_error());
    EXPECT_THAT(written.error().message, HasSubstr(folder(1)));
    EXPECT_THAT(allFiles(), IsEmpty());
  }
}

TEST_F(FsCheckpointStorageTest, AFullDiskIsSaidInOneSentenceWithTheFile) {
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  FileFault full;
  full.effect = FileFault::Effect::kFullDisk;
  full.afterBytes = 50000;
  faults.add(full);
  const auto written = write(1, 100000);
  ASSERT_TRUE(written.has_error());
  EXPECT_EQ(written.error().code, ErrorCode::kNoSpace);
  EXPECT_THAT(written.error().message, HasSubstr(folder(1)));
  EXPECT_THAT(allFiles(), IsEmpty());
}

TEST_F(FsCheckpointStorageTest, WithSyncACompletedCheckpointSurvivesACrashAtOnce) {
  make({"/checkpoints", 20480, true});
  ASSERT_TRUE(memory.createDirectories("/checkpoints").has_value());
  ASSERT_TRUE(memory.syncDirectory("/").has_value());
  ASSERT_TRUE(storage->initializeBaseLocations().has_value());
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  ASSERT_TRUE(storage->writeMetadata(1, {operatorWith(write(1, 30000).value())}).has_value());
  memory.crash();
  const auto loaded = loadCheckpoint(memory, folder(1));
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(readAll(*storage, loaded->metadata.operators[0].subtasks.at(0).managedOperator[0].stream).value().size(), 30000u);
}

TEST_F(FsCheckpointStorageTest, WithoutSyncACrashMayLoseACheckpointButNeverShowsAWrongOne) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    MemoryFileSystem disk;
    Random random(seed);
    auto own = FsCheckpointStorage::create(disk, JobID::of(1, 2), {"/c", 0}, Random(seed)).value();
    ASSERT_TRUE(own->initializeBaseLocations().has_value() && own->initializeCheckpoint(1).has_value());
    auto output = own->resolveCheckpointLocation(1, {})->createOutput(CheckpointedStateScope::kExclusive).value();
    ASSERT_TRUE(output->write(std::vector<std::byte>(5000)).has_value());
    ASSERT_TRUE(own->writeMetadata(1, {operatorWith(output->finish().value())}).has_value());
    disk.crash(random);
    const auto loaded = loadCheckpoint(disk, own->checkpointFolder(1));
    if (loaded.has_error()) {
      EXPECT_THAT(loaded.error().message, HasSubstr("/c"));
    }
  }
}

TEST_F(FsCheckpointStorageTest, DiscardingTakesTheCheckpointAndNothingElse) {
  ASSERT_TRUE(storage->initializeBaseLocations().has_value());
  for (int64_t id : {1, 2}) {
    ASSERT_TRUE(storage->initializeCheckpoint(id).has_value());
    ASSERT_TRUE(storage->writeMetadata(id, {operatorWith(write(id, 30000).value())}).has_value());
  }
  ASSERT_TRUE(storage->discardCheckpoint(1).has_value());
  ASSERT_TRUE(storage->discardCheckpoint(1).has_value()) << "twice is fine";
  EXPECT_EQ(completedCheckpoints(memory, storage->jobFolder()).value(), std::vector<std::string>{folder(2)});
  EXPECT_EQ(allFiles().size(), 2u);
}

TEST_F(FsCheckpointStorageTest, AClaimedCheckpointOfAnotherJobIsDiscardedByItsPath) {
  ASSERT_TRUE(storage->initializeBaseLocations().has_value());
  for (int64_t id : {1, 2}) {
    ASSERT_TRUE(storage->initializeCheckpoint(id).has_value());
    ASSERT_TRUE(storage->writeMetadata(id, {operatorWith(write(id, 30000).value())}).has_value());
  }
  ASSERT_TRUE(storage->discardSavepoint(folder(1)).has_value());
  EXPECT_TRUE(storage->discardSavepoint(folder(1)).has_value()) << "twice is fine";
  EXPECT_EQ(completedCheckpoints(memory, storage->jobFolder()).value(), std::vector<std::string>{folder(2)});
}

TEST_F(FsCheckpointStorageTest, ALateAcknowledgementLosesItsOwnFilesAndKeepsSharedOnes) {
  ASSERT_TRUE(storage->initializeBaseLocations().has_value());
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  OperatorSubtaskState state = operatorWith(write(1, 30000).value()).subtasks.at(0);
  RocksDbHandle rocks;
  rocks.sharedFiles = {{"1.sst", write(1, 30000, CheckpointedStateScope::kShared).value()}};
  rocks.meta = write(1, 30000).value();
  state.managedKeyed = {rocks};
  EXPECT_EQ(allFiles().size(), 3u);
  ASSERT_TRUE(storage->discard(state).has_value());
  EXPECT_THAT(allFiles(), ElementsAre(HasSubstr("/shared/")));
  EXPECT_TRUE(storage->discard(state).has_value()) << "twice is fine";
}

TEST_F(FsCheckpointStorageTest, ALocationInABarrierLeadsElsewhere) {
  const auto location = encodeLocation("/savepoints/savepoint-1");
  EXPECT_EQ(decodeLocation(location).value(), "/savepoints/savepoint-1");
  ASSERT_TRUE(memory.createDirectories("/savepoints/savepoint-1").has_value());
  auto output = storage->resolveCheckpointLocation(1, location)->createOutput(CheckpointedStateScope::kExclusive).value();
  ASSERT_TRUE(output->write(std::vector<std::byte>(30000)).has_value());
  EXPECT_THAT(std::get<RelativeFileHandle>(output->finish().value()).path, HasSubstr("/savepoints/savepoint-1/"));
  const std::vector<uint8_t> garbage{1, 2, 3};
  EXPECT_TRUE(storage->resolveCheckpointLocation(1, garbage)->createOutput(CheckpointedStateScope::kExclusive).has_error());
}

TEST_F(FsCheckpointStorageTest, ASmallCheckpointCostsAFolderAndOneRenamedFile) {
  ASSERT_TRUE(storage->initializeBaseLocations().has_value());
  const auto before = [&](FileOperation o) { return faults.counter(o).calls; };
  std::map<FileOperation, uint64_t> was;
  const auto all = {FileOperation::kCreate,
                    FileOperation::kAppend,
                    FileOperation::kSync,
                    FileOperation::kClose,
                    FileOperation::kRename,
                    FileOperation::kRemove,
                    FileOperation::kCreateDirectories,
                    FileOperation::kSyncDirectory,
                    FileOperation::kOpen,
                    FileOperation::kRead,
                    FileOperation::kList};
  for (auto o : all) was[o] = before(o);
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  ASSERT_TRUE(storage->writeMetadata(1, {operatorWith(write(1, 1000).value())}).has_value());
  std::map<FileOperation, uint64_t> cost;
  for (auto o : all)
    if (before(o) != was[o]) cost[o] = before(o) - was[o];
  EXPECT_EQ(cost, (std::map<FileOperation, uint64_t>{{FileOperation::kCreate, 1},
                                                     {FileOperation::kAppend, 1},
                                                     {FileOperation::kClose, 1},
                                                     {FileOperation::kRename, 1},
                                                     {FileOperation::kCreateDirectories, 1}}));
}

TEST(FsCheckpointStorageOnDisk, TheRealFileSystemGivesTheSame) {
  testing::TempDir dir;
  RealFileSystem disk;
  auto storage = FsCheckpointStorage::create(disk, JobID::of(1, 2), {"file://" + dir.path(), 10, true}, Random(1)).value();
  ASSERT_TRUE(storage->initializeBaseLocations().has_value());
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  auto output = storage->resolveCheckpointLocation(1, {})->createOutput(CheckpointedStateScope::kExclusive).value();
  ASSERT_TRUE(output->write(std::vector<std::byte>(500)).has_value());
  OperatorState op;
  op.coordinatorState = output->finish().value();
  const std::string path = storage->writeMetadata(1, {op}).value();
  const auto loaded = loadCheckpoint(disk, path).value();
  EXPECT_EQ(readAll(*storage, loaded.metadata.operators[0].coordinatorState).value().size(), 500u);
}

TEST(GoldenCheckpoints, EveryOneWhoseFilesAreRelativeIsLoadedFromWhereItLiesNow) {
  RealFileSystem disk;
  int loaded = 0;
  for (const auto& folder : golden::checkpointFolders()) {
    SCOPED_TRACE(folder);
    const auto checkpoint = loadCheckpoint(disk, golden::pathOf(folder));
    const bool movedShared =
        folder.find("rocksdb-incremental") != std::string::npos || folder.find("savepoints-rocksdb/0") != std::string::npos;
    EXPECT_EQ(checkpoint.has_error(), movedShared) << (checkpoint.has_error() ? checkpoint.error().message : "");
    loaded += checkpoint.has_value();
  }
  EXPECT_EQ(loaded, 15);
}

}  // namespace
}  // namespace weir
