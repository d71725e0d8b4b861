#include "weir/inspect/inspection.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "support/damage.h"
#include "support/golden_checkpoints.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/real_file_system.h"

namespace weir {
namespace {

CheckpointInspection inspected(const std::string& folder, const InspectionOptions& options = {}) {
  RealFileSystem files;
  auto result = inspectCheckpoint(files, golden::pathOf(folder), options);
  EXPECT_TRUE(result.has_value()) << (result.has_error() ? result.error().message : "");
  return result.has_value() ? std::move(*result) : CheckpointInspection{};
}

const InspectedOperator& operatorOf(const CheckpointInspection& inspection, const std::string& uid) {
  return *std::find_if(inspection.operators.begin(), inspection.operators.end(), [&](const auto& op) { return op.uid == uid; });
}

const InspectedState& stateOf(const InspectedOperator& op, const std::string& name) {
  return *std::find_if(op.states.begin(), op.states.end(), [&](const auto& state) { return state.name == name; });
}

/// Key to value of all entries of a state.
std::map<std::string, std::string> entriesOf(const InspectedState& state) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : state.examples) entries[entry.key] += entry.value;
  return entries;
}

/// What Flink's own loader says of operators and subtasks, from the listing beside a `_metadata`.
std::string listedByFlink(const std::string& folder) {
  std::istringstream lines(golden::readText(folder + "/metadata.txt"));
  std::string line, text;
  while (std::getline(lines, line))
    if (line.starts_with("operator ") || line.starts_with("  subtask "))
      text += line.substr(0, line.find(" checkpointedSize=")).substr(0, line.find(" coordinator=")) + "\n";
  return text;
}

std::string listedByWeir(const CheckpointInspection& inspection) {
  std::string text;
  for (const auto& op : inspection.operators) {
    text += fmt::format("operator {} name={} uid={} parallelism={} maxParallelism={} fullyFinished={}\n", op.id, op.name, op.uid,
                        op.parallelism, op.maxParallelism, op.fullyFinished);
    for (const auto& subtask : op.subtasks) text += fmt::format("  subtask {} stateSize={}\n", subtask.index, subtask.total());
  }
  return text;
}

TEST(Inspection, ListsEveryCheckpointAsFlinkDoes) {
  const auto folders = golden::checkpointFolders();
  ASSERT_EQ(folders.size(), 18u);
  for (const auto& folder : folders) {
    const CheckpointInspection inspection = inspected(folder);
    EXPECT_EQ(listedByWeir(inspection), listedByFlink(folder)) << folder;
    EXPECT_TRUE(inspection.isWhole()) << folder;
    EXPECT_TRUE(inspection.properties.has_value()) << folder;
  }
}

TEST(Inspection, ShowsTheSameStateInAHeapCheckpointAndInACanonicalSavepointOfEitherBackend) {
  const InspectionOptions everything{.heaviestKeys = 100, .examples = 1000};
  for (const auto& folder :
       {golden::checkpointFolder("aligned-heap", "chk-2"), golden::checkpointFolder("aligned-heap-inline", "chk-2"),
        golden::checkpointFolder("savepoints-heap", "2fa8190b721f"), golden::checkpointFolder("savepoints-rocksdb", "ca02ddb497d7"),
        golden::checkpointFolder("savepoints-heap", "307cf562b157")}) {
    const CheckpointInspection inspection = inspected(folder, everything);
    const InspectedOperator& keyed = operatorOf(inspection, "keyed");
    EXPECT_EQ(keyed.keyType, "String") << folder;
    EXPECT_EQ(keyed.keys, 10) << folder;
    EXPECT_TRUE(keyed.notDecoded.empty()) << folder;
    // As the job of the golden files left it; the user's numbers are i % 10, its values 100 i + subtask.
    const auto count = entriesOf(stateOf(keyed, "count")), seen = entriesOf(stateOf(keyed, "seen"));
    ASSERT_EQ(count.size(), 10u) << folder;
    EXPECT_EQ(stateOf(keyed, "count").kind, "VALUE");
    EXPECT_EQ(stateOf(keyed, "by-parity").type, "Map(String, Long)");
    for (const auto& [key, value] : count) {
      const auto elements = std::count(seen.at(key).begin(), seen.at(key).end(), 'v');
      EXPECT_EQ(value, std::to_string(elements)) << folder << ' ' << key;
    }
    EXPECT_EQ(*stateOf(keyed, "by-parity").entries, 20) << folder;
    EXPECT_EQ(stateOf(keyed, "rules").examples.front().value, "7") << folder;
  }
  const auto heap = inspected(golden::checkpointFolder("aligned-heap", "chk-2"), everything);
  const InspectedOperator& keyed = operatorOf(heap, "keyed");
  EXPECT_EQ(entriesOf(stateOf(keyed, "count")).at("\"user-0\""), "6");
  EXPECT_EQ(entriesOf(stateOf(keyed, "sum")).at("\"user-9\""), "5602");
  EXPECT_EQ(entriesOf(stateOf(keyed, "seen")).at("\"user-9\""), R"(["v900","v1900","v901","v1901"])");
  EXPECT_EQ(entriesOf(stateOf(keyed, "by-parity")).at("\"user-5\""), R"([["even",1500],["odd",1501]])");
}

TEST(Inspection, ShowsWindowsAndTimers) {
  for (const auto& folder : {golden::checkpointFolder("windows-heap", "chk-2"), golden::checkpointFolder("windows-heap", "ba5a5a4ffe79")}) {
    const CheckpointInspection inspection = inspected(folder);
    const InspectedState& contents = stateOf(operatorOf(inspection, "window"), "window-contents");
    EXPECT_EQ(contents.type, "Tuple2(Long, Long)") << folder;
    EXPECT_TRUE(contents.examples.front().nameSpace.starts_with("{\"start\":")) << folder;
    const InspectedState& timers = stateOf(operatorOf(inspection, "timers"), "_timer_state/processing_user-timers");
    EXPECT_EQ(*timers.entries, 10) << folder;
    EXPECT_EQ(timers.examples.front().timestamp, 4102444800000) << folder;
  }
}

TEST(Inspection, FindsTheHeaviestKeys) {
  const auto inspection = inspected(golden::checkpointFolder("unaligned", "chk-2"), {.heaviestKeys = 2});
  const InspectedOperator& keyed = operatorOf(inspection, "keyed");
  ASSERT_EQ(keyed.heaviestKeys.size(), 2u);
  EXPECT_EQ(keyed.heaviestKeys[0].key, "\"user-2m\"");
  EXPECT_EQ(keyed.heaviestKeys[0].keyGroup, 108);
  EXPECT_EQ(keyed.heaviestKeys[0].subtask, 1);
  EXPECT_EQ(keyed.heaviestKeys[0].bytes, 230);
  EXPECT_EQ(std::max_element(keyed.keyGroupBytes.begin(), keyed.keyGroupBytes.end()) - keyed.keyGroupBytes.begin(), 108);
}

TEST(Inspection, TellsWhatWasInFlightOnEachChannel) {
  const auto inspection = inspected(golden::checkpointFolder("unaligned", "chk-2"));
  const InspectedOperator& mid = operatorOf(inspection, "mid");
  const InspectedChannel& fullest = mid.channels.front();
  EXPECT_FALSE(fullest.isOutput);
  EXPECT_EQ(fullest.subtask, 0);
  EXPECT_EQ(fullest.channel, 1);
  EXPECT_EQ(fullest.buffers, 11);
  EXPECT_EQ(fullest.bytes, 24804);
  int64_t inFlight = 0;
  for (const auto& channel : mid.channels) inFlight += channel.bytes;
  EXPECT_EQ(inFlight, mid.subtasks[0].inFlight() + mid.subtasks[1].inFlight());
}

TEST(Inspection, SaysThatFilesOfRocksDbAreNotDecodedAndStillListsTheirStates) {
  const auto inspection = inspected(golden::checkpointFolder("rocksdb-incremental", "chk-3"));
  const InspectedOperator& keyed = operatorOf(inspection, "keyed");
  EXPECT_FALSE(stateOf(keyed, "count").entries.has_value());
  EXPECT_EQ(stateOf(keyed, "seen").type, "List(String)");
  ASSERT_EQ(keyed.notDecoded.size(), 1u);
  EXPECT_FALSE(keyed.isDamaged);
}

/// A golden checkpoint with its shared files, in memory under /copy.
void copyTo(MemoryFileSystem& files, const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path job = fs::path(golden::pathOf(folder)).parent_path();
  for (const auto& entry : fs::recursive_directory_iterator(job)) {
    if (!entry.is_regular_file()) continue;
    const std::string path = "/copy/" + fs::relative(entry.path(), job).string();
    ASSERT_TRUE(files.createDirectories(path.substr(0, path.rfind('/'))).has_value());
    auto file = files.create(path, FileSystem::Create::kNew);
    ASSERT_TRUE((*file)->append(golden::readBytes(fs::relative(entry.path(), golden::folder()).string())).has_value());
    ASSERT_TRUE((*file)->close().has_value());
  }
}

std::string lastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

TEST(Inspection, FindsSharedFilesOfACopiedCheckpoint) {
  const std::string folder = golden::checkpointFolder("rocksdb-incremental", "chk-3");
  MemoryFileSystem files;
  copyTo(files, folder);
  const auto inspection = inspectCheckpoint(files, "/copy/chk-3", {});
  ASSERT_TRUE(inspection.has_value()) << inspection.error().message;
  EXPECT_TRUE(inspection->isWhole());
  const auto shared = std::find_if(inspection->files.begin(), inspection->files.end(), [](const auto& file) { return file.isShared; });
  ASSERT_NE(shared, inspection->files.end());
  EXPECT_TRUE(shared->path.starts_with("file:/checkpoints/")) << shared->path;
  EXPECT_EQ(shared->foundAs, "/copy/shared/" + lastPart(shared->path));
}

TEST(Inspection, NamesTheFileThatIsMissingAndShowsTheRest) {
  MemoryFileSystem files;
  copyTo(files, golden::checkpointFolder("aligned-heap", "chk-2"));
  const auto whole = inspectCheckpoint(files, "/copy/chk-2", {});
  const auto& keyedFiles = whole->files;
  const auto largest = std::max_element(keyedFiles.begin(), keyedFiles.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
  ASSERT_TRUE(files.remove(largest->foundAs).has_value());
  const auto inspection = inspectCheckpoint(files, "/copy/chk-2", {});
  ASSERT_TRUE(inspection.has_value());
  EXPECT_FALSE(inspection->isWhole());
  const InspectedOperator& keyed = operatorOf(*inspection, "keyed");
  ASSERT_EQ(keyed.notDecoded.size(), 1u);
  EXPECT_TRUE(keyed.notDecoded[0].ends_with(lastPart(largest->path) + " is missing")) << keyed.notDecoded[0];
  EXPECT_LT(keyed.keys, 10);
  EXPECT_GT(keyed.keys, 0);
}

TEST(Inspection, StandsDamagedFiles) {
  Random random(1);
  int64_t damagedOnes = 0, seen = 0;
  for (const auto& folder : golden::checkpointFolders()) {
    MemoryFileSystem files;
    copyTo(files, folder);
    const std::string copy = "/copy/" + lastPart(folder);
    const auto names = *files.list(copy);
    for (int round = 0; round < 60; ++round) {
      const std::string path = copy + "/" + names[random.below(names.size())];
      const auto before = *files.readAll(path);
      auto after = testing::damaged(before, random);
      // The length would give it away.
      if (!path.ends_with("_metadata")) after.resize(before.size());
      auto file = files.create(path, FileSystem::Create::kTruncate);
      ASSERT_TRUE((*file)->append(after).has_value() && (*file)->close().has_value());
      const auto inspection = inspectCheckpoint(files, copy, {.heaviestKeys = 3, .examples = 2, .largestDecodedFile = 1 << 20});
      ++seen;
      damagedOnes += inspection.has_error() || !inspection->isWhole() ? 1 : 0;
      file = files.create(path, FileSystem::Create::kTruncate);
      ASSERT_TRUE((*file)->append(before).has_value() && (*file)->close().has_value());
    }
  }
  EXPECT_GT(damagedOnes, seen / 4) << "many are noticed; a changed number inside a value is not";
}

TEST(Inspection, OfAFolderWithoutACheckpointSaysWhatIsThere) {
  MemoryFileSystem files;
  copyTo(files, golden::checkpointFolder("aligned-heap", "chk-2"));
  const auto none = inspectCheckpoint(files, "/nowhere", {});
  ASSERT_TRUE(none.has_error());
  EXPECT_EQ(none.error().message, "there is no checkpoint or savepoint at /nowhere");
  const auto parent = inspectCheckpoint(files, "/copy", {});
  ASSERT_TRUE(parent.has_error());
  EXPECT_EQ(parent.error().message, "the folder /copy has no file _metadata; did you mean /copy/chk-2?");
}

}  // namespace
}  // namespace weir
