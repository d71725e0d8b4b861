#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/scenario.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/operators/file_reader.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Trade {
  std::string symbol;
  int64_t volume = 0;
  WEIR_FIELDS(symbol, volume)
};

void write(MemoryFileSystem& files, const std::string& path, std::string_view text) {
  ASSERT_TRUE(files.createDirectories(path.substr(0, path.rfind('/'))).has_value());
  auto file = files.create(path, FileSystem::Create::kTruncate);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_TRUE((*file)->append(std::as_bytes(std::span(text))).has_value());
  ASSERT_TRUE((*file)->close().has_value());
}

std::string read(MemoryFileSystem& files, const std::string& path) {
  const auto bytes = files.readAll(path);
  EXPECT_TRUE(bytes.has_value()) << path;
  return bytes.has_value() ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
}

/// Reads a CSV file with checkpoints on, so that by default every failure is restarted for ever.
struct TradesJob : Scenario {
  std::shared_ptr<CollectResult<Trade>> trades = std::make_shared<CollectResult<Trade>>();

  JobStatus runOn(std::string_view text, BadRows badRows = BadRows::kFail) {
    write(runner.files(), "/data/trades.csv", text);
    env.configure("restart-strategy.type", "exponential-delay");
    reader.badRows(badRows);
    env.fromSource(reader, "trades").sinkTo("collect", Batching::kBatches, CollectSink<Trade>(trades));
    return run().status;
  }
  CsvReader<Trade> reader{"/data/trades.csv"};
};

TEST(Mistakes, AMissingColumnFailsTheJobOnceAndNamesFileAndColumns) {
  TradesJob s;
  EXPECT_EQ(s.runOn("symbol,price\nA,1\n"), JobStatus::kFailed);
  EXPECT_EQ(s.result.restarts, 0) << "a restart would meet the same file";
  EXPECT_THAT(s.failure(), HasSubstr("/data/trades.csv has no column \"volume\""));
  EXPECT_THAT(s.failure(), HasSubstr("\"symbol\", \"price\""));
}

TEST(Mistakes, AMissingFileFailsTheJobOnceAndIsNamed) {
  TradesJob s;
  s.reader = CsvReader<Trade>("/data/trade.csv");
  EXPECT_EQ(s.runOn("symbol,volume\n"), JobStatus::kFailed);
  EXPECT_EQ(s.result.restarts, 0);
  EXPECT_THAT(s.failure(), AllOf(HasSubstr("/data/trade.csv"), HasSubstr("trades.csv"))) << "and what lies beside it";
}

TEST(Mistakes, ABrokenRowFailsTheJobOnceAndNamesFileLineAndColumn) {
  TradesJob s;
  EXPECT_EQ(s.runOn("symbol,volume\nA,1\nB,two\nC,3\n"), JobStatus::kFailed);
  EXPECT_EQ(s.result.restarts, 0);
  EXPECT_THAT(s.failure(), HasSubstr("/data/trades.csv line 3, column \"volume\": \"two\" is not"));
}

TEST(Mistakes, BrokenRowsAreSkippedAndCountedWhereTheProgramSaysSo) {
  TradesJob s;
  EXPECT_EQ(s.runOn("symbol,volume\nA,1\nB,two\nC\nD,4\n", BadRows::kSkipAndCount), JobStatus::kFinished) << s.failure();
  EXPECT_EQ(s.trades->size(), 2u);
  EXPECT_EQ(s.reader.badRowCounter()->count(), 2);
  EXPECT_THAT(s.reader.badRowCounter()->firstProblem(), HasSubstr("/data/trades.csv line 3, column \"volume\""));
}

std::string graphError(const StreamExecutionEnvironment& env) {
  const auto graph = env.getJobGraph("job");
  return graph.has_error() ? graph.error().message : "";
}

TEST(Mistakes, OfTheProgramAreToldBeforeItRuns) {
  StreamExecutionEnvironment uids;
  uids.fromSequence(1, 10).uid("same").map([](int64_t x) { return x; }).name("double").uid("same").addSink([](int64_t) {});
  EXPECT_THAT(graphError(uids), AllOf(HasSubstr("uid 'same' is used twice"), HasSubstr("'double'")));

  StreamExecutionEnvironment wide;
  wide.fromSequence(1, 10).map([](int64_t x) { return x; }).name("wide").setParallelism(9).setMaxParallelism(8).addSink([](int64_t) {});
  EXPECT_THAT(graphError(wide), HasSubstr("'wide' has parallelism 9, above its max parallelism of 8: lower the parallelism or raise"));

  StreamExecutionEnvironment badValue;
  badValue.configure("execution.checkpointing.interval", "abc").fromSequence(1, 10).addSink([](int64_t) {});
  EXPECT_THAT(graphError(badValue), AllOf(HasSubstr("'abc' for key 'execution.checkpointing.interval'"), HasSubstr("write it as 500 ms")));
}

/// Keyed counts of 200 keys over 3,000 rows at 100 a second, whose outcome is exact whatever happens on the way.
struct CountJob : Scenario {
  std::vector<std::shared_ptr<TransactionalCollectResult<Row>>> runs;  ///< what each wrote

  CountJob() { program(2); }
  void program(int32_t parallelism, int32_t maxParallelism = 128) {
    newProgram();
    const auto collected = runs.emplace_back(std::make_shared<TransactionalCollectResult<Row>>());
    env.configure("restart-strategy.type", "exponential-delay")
        .configure("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION")
        .configure("execution.checkpointing.tolerable-failed-checkpoints", "10")
        .setMaxParallelism(maxParallelism);
    env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), 3000), "source", 100)
        .uid("source")
        .keyBy([](const Row& row) { return row.number % 200; })
        .reduce([](Row& all, const Row& one) { all.number += one.number; })
        .setParallelism(parallelism)
        .uid("count")
        .name("count")
        .sinkTo("collect", Batching::kBatches, TransactionalCollectSink<Row>(collected).ignoreEarlierRuns())
        .uid("collect");
  }
  /// Runs until checkpoint `id`, taken at `id` seconds, is completed, and is then cancelled. The folder of that checkpoint.
  std::string cancelAfterCheckpoint(int64_t id) {
    std::string folder;
    run([&] {
      ASSERT_TRUE(waitForFirstCheckpoint());
      for (int64_t next = 2; next <= id; ++next) {
        sleep(kSecond);
        ASSERT_EQ(triggerCheckpoint(), next);
        ASSERT_TRUE(waitForLog("Completed checkpoint " + std::to_string(next) + " "));
      }
      folder = folderOf(id);
    });
    EXPECT_EQ(result.status, JobStatus::kCanceled);
    EXPECT_TRUE(runner.files().exists(folder + "/_metadata")) << folder;
    return folder;
  }
  void restoreFrom(const std::string& folder) {
    env.configure("execution.state-recovery.path", folder).configure("execution.checkpointing.dir", "/restored");
  }
  /// The running sums of all runs together are those of one loop: none is missing, none came twice.
  void expectExactSums() const {
    std::multiset<int64_t> expected, got;
    std::map<int64_t, int64_t> sums;
    for (int64_t n = 0; n < 3000; ++n) expected.insert(sums[n % 200] += n);
    for (const auto& run : runs)
      for (const Row& row : run->values()) got.insert(row.number);
    EXPECT_TRUE(got == expected) << got.size() << " sums instead of " << expected.size();
  }
};

TEST(Mistakes, ADiskThatFillsUpFailsThatCheckpointAndTheLastOneStaysGood) {
  CountJob s;
  s.run(
      [&] {
        ASSERT_TRUE(s.waitForFirstCheckpoint());
        s.sleep(2 * kSecond);
        ASSERT_EQ(s.triggerCheckpoint(), 2);
        ASSERT_TRUE(s.waitForLog("Completed checkpoint 2 "));
        s.sleep(kSecond);
        FileFault full;
        full.effect = FileFault::Effect::kFullDisk;
        full.path = "/checkpoints/*";
        full.afterBytes = 500;
        const int rule = s.runner.faults().add(full);
        ASSERT_EQ(s.triggerCheckpoint(), 3);
        ASSERT_TRUE(s.waitUntil([&] { return s.checkpoint(3)->status == CheckpointStatus::kFailed; }));
        EXPECT_GE(s.runner.faults().fired(rule), 1u);
        s.sleep(kSecond);
        EXPECT_TRUE(s.filesUnder("/checkpoints", "chk-3/").empty()) << "what was half written is gone";
        const auto good = loadCheckpoint(s.runner.files(), s.folderOf(2));
        EXPECT_TRUE(good.has_value()) << good.error().message;
        s.runner.faults().clear();
        ASSERT_TRUE(s.kill("count", 0));
        ASSERT_TRUE(s.waitForLog("Restoring job"));
      },
      false);
  EXPECT_THAT(s.log().text(), HasSubstr("No space left on device"));
  EXPECT_THAT(s.linesWith("Restoring job").front().message, HasSubstr("from Checkpoint 2 @"));
  EXPECT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  s.expectExactSums();
}

TEST(Mistakes, AnUnwritableCheckpointDirectoryIsToldBeforeTheJobRuns) {
  CountJob s;
  FileFault denied;
  denied.path = "/readonly*";
  denied.operations = {FileOperation::kCreateDirectories};
  s.runner.faults().add(denied);
  s.env.configure("execution.checkpointing.dir", "/readonly");
  EXPECT_EQ(s.run().status, JobStatus::kFailed);
  EXPECT_THAT(s.failure(), AllOf(HasSubstr("checkpoint directory /readonly cannot be used"), HasSubstr("execution.checkpointing.dir")));
  EXPECT_EQ(s.log().count("Initializing job"), 0u);
}

TEST(Mistakes, ARecoveryPathThatIsNotThereIsToldBeforeTheJobRuns) {
  CountJob s;
  s.restoreFrom("/checkpoints/nowhere/chk-7");
  EXPECT_EQ(s.run().status, JobStatus::kFailed);
  EXPECT_THAT(s.failure(), AllOf(HasSubstr("execution.state-recovery.path"), HasSubstr("/checkpoints/nowhere/chk-7")));
}

TEST(Restore, WorksAtAnotherParallelism) {
  for (const int32_t parallelism : {1, 3, 5}) {
    CountJob s;
    const std::string folder = s.cancelAfterCheckpoint(4);
    s.program(parallelism);
    s.restoreFrom(folder);
    ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
    s.expectExactSums();
  }
}

TEST(Restore, IsRefusedAboveTheMaxParallelismOfTheCheckpoint) {
  CountJob s;
  const std::string folder = s.cancelAfterCheckpoint(2);
  s.program(200, 0);
  s.restoreFrom(folder);
  EXPECT_EQ(s.run().status, JobStatus::kFailed);
  EXPECT_EQ(s.result.restarts, 0);
  EXPECT_THAT(s.failure(), AllOf(HasSubstr("count"), HasSubstr("128"), HasSubstr("200")));
}

TEST(Restore, OfATruncatedMetadataNamesTheFile) {
  CountJob s;
  const std::string folder = s.cancelAfterCheckpoint(2);
  const std::string metadata = read(s.runner.files(), folder + "/_metadata");
  for (const size_t length : {size_t{0}, size_t{3}, metadata.size() / 2}) {
    write(s.runner.files(), folder + "/_metadata", std::string_view(metadata).substr(0, length));
    s.program(2);
    s.restoreFrom(folder);
    EXPECT_EQ(s.run().status, JobStatus::kFailed) << length;
    EXPECT_THAT(s.failure(), HasSubstr(folder + "/_metadata")) << length;
  }
}

TEST(Restore, OfAMissingStateFileNamesIt) {
  CountJob s;
  const std::string folder = s.cancelAfterCheckpoint(2);
  const auto files = s.filesUnder("/checkpoints", "chk-2/");
  const auto state = std::find_if(files.begin(), files.end(), [](const std::string& f) { return !f.ends_with("/_metadata"); });
  ASSERT_NE(state, files.end());
  ASSERT_TRUE(s.runner.files().remove(*state).has_value());
  s.program(2);
  s.restoreFrom(folder);
  EXPECT_EQ(s.run().status, JobStatus::kFailed);
  EXPECT_THAT(s.failure(), HasSubstr("the state file " + *state + " is missing"));
}

TEST(Restore, OfFlippedBytesFailsTheJobOnceAndNamesTheFile) {
  CountJob s;
  const std::string folder = s.cancelAfterCheckpoint(2);
  int refused = 0;
  for (const std::string& path : s.filesUnder("/checkpoints", "chk-2/")) {
    if (path.ends_with("/_metadata")) continue;
    const std::string good = read(s.runner.files(), path);
    // The format has no checksum: a flipped count of a key is another count. Whatever is noticed is told, once.
    for (size_t at = 0; at < std::min<size_t>(good.size(), 40); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0xff);
      write(s.runner.files(), path, bad);
      s.program(2);
      s.restoreFrom(folder);
      const JobStatus status = s.run().status;
      EXPECT_EQ(s.result.restarts, 0) << path << " byte " << at;
      if (status == JobStatus::kFinished) continue;
      ++refused;
      EXPECT_EQ(status, JobStatus::kFailed);
      EXPECT_THAT(s.failure(), HasSubstr(path)) << "byte " << at;
    }
    write(s.runner.files(), path, good);
  }
  EXPECT_GE(refused, 30);
}

TEST(Restore, FallsBackToAnOlderCheckpointOnlyWhereItMay) {
  CountJob s;
  s.env.configure("execution.checkpointing.num-retained", "2");
  const std::string folder = s.cancelAfterCheckpoint(4);
  write(s.runner.files(), folder + "/_metadata", "garbage");
  s.program(2);
  s.restoreFrom(folder);
  EXPECT_EQ(s.run().status, JobStatus::kFailed) << "recovery does not guess";
  s.program(2);
  s.restoreFrom(folder);
  s.env.configure("weir.recovery.fall-back", "true");
  EXPECT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  EXPECT_THAT(s.log().text(), AllOf(HasSubstr("chk-3 instead"), HasSubstr("will be repeated")));
  EXPECT_GT(s.runs.front()->values().size() + s.runs.back()->values().size(), 3000u) << "and so it was";
}

TEST(Restore, OfAFileThatWasLostWhileTheJobRanEndsItInsteadOfLooping) {
  CountJob s;
  s.run(
      [&] {
        ASSERT_TRUE(s.waitForFirstCheckpoint());
        s.sleep(2 * kSecond);
        ASSERT_EQ(s.triggerCheckpoint(), 2);
        ASSERT_TRUE(s.waitForLog("Completed checkpoint 2 "));
        for (const std::string& file : s.filesUnder("/checkpoints", "chk-2/"))
          ASSERT_TRUE(file.ends_with("/_metadata") || s.runner.files().remove(file).has_value());
        ASSERT_TRUE(s.kill("count", 0));
      },
      false);
  EXPECT_EQ(s.result.status, JobStatus::kFailed);
  EXPECT_EQ(s.result.restarts, 1) << "the one that found out";
  EXPECT_THAT(s.failure(), AllOf(HasSubstr("/chk-2/"), HasSubstr("execution.state-recovery.path")));
}

}  // namespace
}  // namespace weir
