#include "weir/operators/file_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/operator_harness.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::UnorderedElementsAre;

struct Count {
  std::string word;
  int32_t count = 0;
  WEIR_FIELDS(word, count)
};

class FileSinkTest : public ::testing::Test {
 protected:
  using Harness = testing::OperatorHarness<Count>;
  std::unique_ptr<Harness> attempt(testing::HarnessOptions options = {}, bool sync = false) {
    return std::make_unique<Harness>(machine_, FileSink<Count>({.directory = "/out", .sync = sync}), options);
  }
  /// Names of committed parts, or of those in progress.
  std::vector<std::string> parts(bool hidden = false) {
    auto names = machine_.memory.list("/out").value();
    std::erase_if(names, [&](const std::string& name) { return (name[0] == '.') != hidden; });
    return names;
  }
  std::string content() {
    std::string all;
    for (const std::string& name : parts()) all += machine_.read("/out/" + name);
    return all;
  }
  template <class F>
  static std::string failure(F f) {
    try {
      f();
    } catch (const Throwable& error) {
      return error.trace();
    }
    return "(no failure)";
  }
  testing::OperatorMachine machine_;
};

TEST_F(FileSinkTest, PartsAreHiddenUntilTheirCheckpointHasCompleted) {
  auto sink = attempt({.subtask = 2, .parallelism = 3});
  sink->start();
  sink->process({{"a", 1}});
  sink->snapshot(1);
  EXPECT_THAT(parts(), IsEmpty());
  EXPECT_THAT(parts(true), ElementsAre(MatchesRegex("\\.part-2-0\\.inprogress\\.[0-9a-f]{32}")));
  sink->complete(1);
  EXPECT_THAT(parts(), ElementsAre("part-2-0.csv"));
  EXPECT_THAT(parts(true), IsEmpty());
  EXPECT_EQ(content(), "word,count\na,1\n");
}

TEST_F(FileSinkTest, EachCheckpointHasAPartOfItsOwnAndWithoutRecordsThereIsNone) {
  auto sink = attempt();
  sink->start();
  for (int64_t id = 1; id <= 3; ++id) {
    if (id != 2) sink->process({{"a", static_cast<int32_t>(id)}});
    sink->snapshot(id);
    sink->complete(id);
  }
  EXPECT_EQ(content(), "word,count\na,1\nword,count\na,3\n");
  sink->close();
  EXPECT_THAT(parts(true), IsEmpty());
}

TEST_F(FileSinkTest, JsonLinesHaveNoHeader) {
  testing::OperatorHarness<Count> sink(machine_, FileSink<Count, RowFileFormat::kJsonLines>({.directory = "/out"}),
                                       {.checkpointing = false});
  sink.start();
  sink.process({{"a", 1}, {"b", 2}});
  sink.finish();
  EXPECT_THAT(parts(), ElementsAre("part-0-0.jsonl"));
  EXPECT_EQ(content(), "{\"word\":\"a\",\"count\":1}\n{\"word\":\"b\",\"count\":2}\n");
}

TEST_F(FileSinkTest, CsvHeaderCanBeLeftOut) {
  testing::OperatorHarness<Count> sink(machine_, FileSink<Count>({.directory = "/out", .header = false}), {.checkpointing = false});
  sink.start();
  sink.process({{"a", 1}});
  sink.finish();
  EXPECT_EQ(content(), "a,1\n");
}

TEST_F(FileSinkTest, LargePartsAreWrittenAlongTheWay) {
  auto sink = attempt();
  sink->start();
  std::string expected = "word,count\n";
  for (int32_t i = 0; i < 3000; ++i) {
    const std::string word(100, static_cast<char>('a' + i % 26));
    sink->process({{word, i}});
    expected += word + "," + std::to_string(i) + "\n";
  }
  EXPECT_GT(machine_.faults.counter(FileOperation::kAppend).bytes, 200'000u);
  sink->snapshot(1);
  sink->complete(1);
  EXPECT_EQ(content(), expected);
}

TEST_F(FileSinkTest, FinalCheckpointCommitsTheLastPart) {
  auto sink = attempt();
  sink->start();
  sink->process({{"a", 1}});
  sink->finish();
  EXPECT_THAT(parts(), IsEmpty());
  sink->snapshot(1);
  sink->complete(1);
  sink->close();
  EXPECT_EQ(content(), "word,count\na,1\n");
}

TEST_F(FileSinkTest, WithoutCheckpointingTheEndOfTheInputCommits) {
  auto sink = attempt({.checkpointing = false});
  sink->start();
  sink->process({{"a", 1}});
  sink->finish();
  sink->close();
  EXPECT_EQ(content(), "word,count\na,1\n");
}

TEST_F(FileSinkTest, FailedAttemptDeletesItsCurrentPartAndKeepsThePendingOnes) {
  auto sink = attempt();
  sink->start();
  sink->process({{"a", 1}});
  sink->snapshot(1);
  sink->process({{std::string(100'000, 'b'), 2}});
  ASSERT_THAT(parts(true), ::testing::SizeIs(2));
  sink->close();
  EXPECT_THAT(parts(true), ElementsAre(HasSubstr("part-0-0.inprogress")));
}

TEST_F(FileSinkTest, RestoreCommitsPendingPartsAlsoWhereTheyAreCommittedAlready) {
  auto sink = attempt();
  sink->start();
  sink->process({{"a", 1}});
  const auto state = sink->snapshot(1);
  sink->process({{"b", 2}});
  sink->close();
  for (int i = 0; i < 2; ++i) {
    auto next = attempt();
    next->restore(state);
    next->close();
    EXPECT_THAT(parts(), ElementsAre("part-0-0.csv"));
    EXPECT_EQ(content(), "word,count\na,1\n");
  }
}

TEST_F(FileSinkTest, RestoreAtAnotherParallelismCommitsThePartsOfAllAndNamesGoOn) {
  std::vector<OperatorSubtaskState> states;
  std::vector<std::unique_ptr<Harness>> sinks;
  for (int32_t subtask : {0, 1}) {
    sinks.push_back(attempt({.subtask = subtask, .parallelism = 2}));
    sinks.back()->start();
    for (int64_t id = 1; id <= 2 + subtask; ++id) {
      sinks.back()->process({{"a", static_cast<int32_t>(10 * subtask + id)}});
      if (id < 2 + subtask) sinks.back()->snapshot(id);
      if (id < 2 + subtask) sinks.back()->complete(id);
    }
    states.push_back(sinks.back()->snapshot(5));
  }
  sinks.clear();
  auto one = testing::rescaled(states, 1).at(0);
  auto sink = attempt();
  sink->restore(one);
  EXPECT_THAT(parts(), ElementsAre("part-0-0.csv", "part-0-1.csv", "part-1-0.csv", "part-1-1.csv", "part-1-2.csv"));
  sink->process({{"new", 1}});
  sink->snapshot(6);
  sink->complete(6);
  EXPECT_THAT(parts(), ::testing::Contains("part-0-2.csv"));
}

TEST_F(FileSinkTest, NameOfAPartThatAnotherSubtaskIsAboutToCommitIsNotTaken) {
  auto one = attempt({.subtask = 1, .parallelism = 2});
  one->start();
  one->process({{"old", 1}});
  const auto state = one->snapshot(1);
  one.reset();
  auto other = attempt({.subtask = 1, .parallelism = 2});  // starts first, and without the state of its forerunner
  other->start();
  other->process({{"new", 2}});
  other->snapshot(2);
  auto zero = attempt({.subtask = 0, .parallelism = 2});
  zero->restore(state);
  other->complete(2);
  EXPECT_THAT(parts(), ElementsAre("part-1-0.csv", "part-1-1.csv"));
  EXPECT_EQ(content(), "word,count\nold,1\nword,count\nnew,2\n");
}

/// A union list state would make every checkpoint fail once one subtask of several has finished.
TEST_F(FileSinkTest, KeepsNoUnionState) {
  auto sink = attempt();
  sink->start();
  const auto snapshot = sink->snapshot(1);
  for (const auto& handle : snapshot.managedOperator)
    for (const auto& state : handle.states) EXPECT_EQ(state.mode, OperatorStateMode::kSplit) << state.name;
}

TEST_F(FileSinkTest, FilesOfAnEarlierJobAreNeverOverwritten) {
  machine_.memory.createDirectories("/out").value();
  machine_.write("/out/part-0-0.csv", "precious\n");
  auto sink = attempt({.checkpointing = false});
  sink->start();
  sink->process({{"a", 1}});
  sink->finish();
  EXPECT_EQ(machine_.read("/out/part-0-0.csv"), "precious\n");
  EXPECT_EQ(machine_.read("/out/part-0-1.csv"), "word,count\na,1\n");
}

TEST_F(FileSinkTest, FileThatSomebodyElseWroteMeanwhileFailsTheCommit) {
  auto sink = attempt();
  sink->start();
  sink->process({{"a", 1}});
  sink->snapshot(1);
  machine_.write("/out/part-0-0.csv", "precious\n");
  EXPECT_THAT(failure([&] { sink->complete(1); }),
              AllOf(HasSubstr("somebody else wrote /out/part-0-0.csv"), HasSubstr("directory of its own")));
  EXPECT_EQ(machine_.read("/out/part-0-0.csv"), "precious\n");
}

TEST_F(FileSinkTest, FullDiskFailsTheTaskAndNamesThePath) {
  machine_.faults.add({.effect = FileFault::Effect::kFullDisk, .path = "/out/*", .afterBytes = 5});
  auto sink = attempt();
  sink->start();
  sink->process({{"a", 1}});
  EXPECT_THAT(failure([&] { sink->snapshot(1); }),
              AllOf(HasSubstr("java.io.IOException: FileSink "), HasSubstr("/out/.part-0-0.inprogress."), HasSubstr("free space there")));
  sink->close();
  EXPECT_THAT(parts(true), IsEmpty()) << "what was written helps nobody and fills the disk";
}

TEST_F(FileSinkTest, FailedRenameFailsTheCommitAndARestoreTriesAgain) {
  auto sink = attempt();
  sink->start();
  sink->process({{"a", 1}});
  const auto state = sink->snapshot(1);
  machine_.faults.add({.path = "*", .operations = {FileOperation::kRename}, .times = 1});
  EXPECT_THAT(failure([&] { sink->complete(1); }), AllOf(HasSubstr("checkpoint 1"), HasSubstr("rename"), HasSubstr("/out/part-0-0.csv")));
  sink->close();
  auto next = attempt();
  next->restore(state);
  EXPECT_EQ(content(), "word,count\na,1\n");
}

TEST_F(FileSinkTest, LostPartFailsTheRestoreAndIsNotPassedOver) {
  auto sink = attempt();
  sink->start();
  sink->process({{"a", 1}});
  const auto state = sink->snapshot(1);
  machine_.memory.removeAll("/out").value();
  EXPECT_THAT(failure([&] { attempt()->restore(state); }), AllOf(HasSubstr("neither it nor"), HasSubstr("/out/part-0-0.csv")));
}

TEST_F(FileSinkTest, DirectoryThatCannotBeMadeIsAMistakeFoundBeforehand) {
  machine_.write("/file", "");
  const auto result = FileSink<Count>({.directory = "/file/out"}).validate(machine_.files);
  ASSERT_TRUE(result.has_error());
  EXPECT_THAT(result.error().message, HasSubstr("/file/out"));
  EXPECT_TRUE(FileSink<Count>({}).validate(machine_.files).has_error());
  EXPECT_FALSE(FileSink<Count>({.directory = "/fine/out"}).validate(machine_.files).has_error());
  EXPECT_THAT(machine_.memory.list("/fine/out").value(), IsEmpty());
}

TEST_F(FileSinkTest, PowerLossAfterACheckpointLosesNothingWithSync) {
  for (const bool committed : {false, true}) {
    machine_.memory.removeAll("/out").value();
    auto sink = attempt({}, true);
    sink->start();
    machine_.memory.syncDirectory("/").value();
    sink->process({{"a", 1}});
    auto state = sink->snapshot(1);
    for (auto& handle : state.managedOperator) ASSERT_TRUE(std::holds_alternative<InlineHandle>(handle.stream));
    if (committed) sink->complete(1);
    machine_.memory.crash();
    sink.reset();
    auto next = attempt({}, true);
    next->restore(state);
    EXPECT_EQ(content(), "word,count\na,1\n");
  }
}

TEST_F(FileSinkTest, PowerLossWithoutSyncIsNoticedByTheRestore) {
  auto sink = attempt();
  sink->start();
  machine_.memory.syncDirectory("/").value();
  sink->process({{"a", 1}});
  auto state = sink->snapshot(1);
  machine_.memory.syncDirectory("/out").value();  // the name reached the disk, the bytes did not
  machine_.memory.crash();
  sink.reset();
  EXPECT_THAT(failure([&] { attempt()->restore(state); }), AllOf(HasSubstr("it has 0 of 15 bytes"), HasSubstr("set sync")));
}

}  // namespace
}  // namespace weir
