#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "e2e/command.h"
#include "support/gzip.h"
#include "support/temp_dir.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::Answer;
using testing::expectUsageError;
using testing::TempDir;
using testing::weir;

void writeFile(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

/// A folder with small files in place of the example's data.
void writeExampleData(const TempDir& folder, const std::string& flights, const std::string& planes = "tailnum,engine\nN1,Turbo-fan\n") {
  writeFile(folder / "flights.csv.gz", testing::gzip(flights));
  writeFile(folder / "planes.csv", planes);
}
const char* const kFlights = "carrier,tailnum,dep_delay\nAA,N1,5\nUA,N2,-3\nUA,N1,\n";

TEST(Command, MistakesOnTheCommandLineAreOneSentence) {
  expectUsageError({"run"}, {"JOB", "weir run --help"});
  expectUsageError({"frobnicate"}, {"no command 'frobnicate'", "run, config, trace, inspect, validate, keygroup, salts and bench are"});
  expectUsageError({"run", "flights-delay"}, {"no built-in job 'flights-delay'", "flights-delays"});
  expectUsageError({"run", "flights-delays", "--frob"}, {"--frob", "weir run --help"});
  expectUsageError({"run", "flights-delays", "--rate", "fast"}, {"--rate", "'fast' is not a number above 0"});
  expectUsageError({"run", "flights-delays", "--rate", "0"}, {"--rate", "'0' is not a number above 0"});
  expectUsageError({"run", "flights-delays", "--rate", "inf"}, {"--rate", "'inf' is not a number above 0"});
  expectUsageError({"run", "flights-delays", "--seed", "-1"}, {"--seed", "'-1' is not a whole number"});
  expectUsageError({"run", "flights-delays", "--log", ""}, {"--log", "names no file"});
  expectUsageError({"run", "flights-delays", "--output", "xml"}, {"--output", "'xml'", "text and json"});
  expectUsageError({"run", "flights-delays", "--executor", "quantum"}, {"--executor", "'quantum'", "threads, pool, simulated"});
  expectUsageError({"run", "flights-delays", "-D"}, {"-D", "KEY=VALUE"});
  expectUsageError({"run", "flights-delays", "-D", "=1"}, {"names no key"});
  expectUsageError({"run", "flights-delays", "--kill", "by-engine"}, {"--kill", "'by-engine'", "as in by-engine:1@50%"});
  expectUsageError({"run", "flights-delays", "--kill", "nobody@50%"}, {"--kill", "no operator 'nobody'", "by-engine", "by-carrier"});
  expectUsageError({"run", "flights-delays", "--kill", "by-engine:9@50%"}, {"--kill", "subtasks 0 to 3, not 9"});
  expectUsageError({"run", "flights-delays", "--kill", "by-engine:-1@50%"}, {"--kill", "subtasks 0 to 3, not -1"});
  expectUsageError({"config", "checkpointing.intervall"}, {"'checkpointing.intervall'", "weir config"});
}

TEST(Command, MistakesOfTheConfigurationNamePlaceKeyAndRemedy) {
  expectUsageError({"run", "flights-delays", "-D", "execution.checkpointing.interval=abc"},
                   {"-D", "'abc'", "execution.checkpointing.interval", "write it as 500 ms"});
  expectUsageError({"run", "flights-delays", "-D", "parallelism.default=200", "-D", "pipeline.max-parallelism=100"},
                   {"parallelism 200, above its max parallelism of 100"});
  expectUsageError({"run", "flights-delays", "-D", "execution.checkpointing.interval=1s", "-D", "execution.checkpointing.dir=/proc/nope"},
                   {"/proc/nope", "execution.checkpointing.dir"});
  expectUsageError({"run", "flights-delays", "-D", "execution.state-recovery.path=/there/is/none/chk-1"},
                   {"execution.state-recovery.path", "/there/is/none/chk-1"});
  expectUsageError({"run", "flights-delays", "-D", "execution.checkpointing.dir=s3://bucket"},
                   {"execution.checkpointing.dir: s3://bucket is not on a local file system"});
  expectUsageError({"run", "flights-delays", "-D", "execution.checkpointing.dir="}, {"execution.checkpointing.dir", "names no file"});
  expectUsageError({"run", "flights-delays", "-D", "parallelism.default=many"}, {"'many'", "parallelism.default", "write a whole number"});
  expectUsageError({"run", "flights-delays", "-D", "weir.pool.workers=1000000"}, {"weir.pool.workers", "1 to 1024"});
  expectUsageError({"run", "flights-delays", "-D", "minicluster.number-of-taskmanagers=1000000"},
                   {"minicluster.number-of-taskmanagers", "1 to 1024"});
  expectUsageError({"run", "flights-delays", "-D", "taskmanager.memory.network.min=2g", "-D", "taskmanager.memory.network.max=1g"},
                   {"taskmanager.memory.network.min is 2 gb", "taskmanager.memory.network.max"});
  expectUsageError({"run", "flights-delays", "-D", "taskmanager.memory.network.min=999t", "-D", "taskmanager.memory.network.max=999t"},
                   {"taskmanager.memory.network.min", "too many segments"});
  expectUsageError({"run", "flights-delays", "-D", "taskmanager.network.request-backoff.max=1"},
                   {"taskmanager.network.request-backoff.initial is 100", "taskmanager.network.request-backoff.max: 1"});
  expectUsageError({"run", "flights-delays", "--config-dir", "/there/is/none"}, {"/there/is/none"});
  const TempDir conf;
  writeFile(conf / "config.yaml", "execution:\n  checkpointing:\n    interval: abc\n");
  expectUsageError({"run", "flights-delays", "--config-dir", conf.path()},
                   {conf / "config.yaml" + ":3:15: ", "'abc'", "write it as 500 ms"});
  writeFile(conf / "config.yaml", "execution:\n  checkpointing\n    interval: 1s\n");
  expectUsageError({"run", "flights-delays", "--config-dir", conf.path()}, {conf / "config.yaml" + ":3:"});
}

TEST(Command, AnUnknownKeyIsAWarningWithTheNearestOne) {
  const TempDir data;
  writeExampleData(data, kFlights);
  const Answer answer =
      weir({"run", "flights-delays", "--data", data.path(), "--quiet", "-D", "execution.checkpointing.intervall=1s"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.err, AllOf(StartsWith("weir: warning: -D: execution.checkpointing.intervall is no known key"),
                                HasSubstr("did you mean execution.checkpointing.interval?")));
}

TEST(Command, MistakesInTheDataNameFileLineAndColumn) {
  expectUsageError({"run", "flights-delays", "--data", "/there/is/none"}, {"--data", "no folder /there/is/none"});
  const TempDir data;
  expectUsageError({"run", "flights-delays", "--data", data.path()}, {"flights.csv.gz"});
  writeExampleData(data, "carrier,tailnum\nAA,N1\n");
  expectUsageError({"run", "flights-delays", "--data", data.path()},
                   {"flights.csv.gz has no column \"dep_delay\"", "\"carrier\", \"tailnum\""});
  writeExampleData(data, kFlights, "tailnum,motor\nN1,Turbo-fan\n");
  expectUsageError({"run", "flights-delays", "--data", data.path()}, {"planes.csv has no column \"engine\"", "\"tailnum\", \"motor\""});
  writeExampleData(data, "carrier,tailnum,dep_delay\nAA,N1,late\n");
  expectUsageError({"run", "flights-delays", "--data", data.path()}, {"flights.csv.gz line 2, column \"dep_delay\": \"late\" is not"});
  writeExampleData(data, kFlights, "");
  expectUsageError({"run", "flights-delays", "--data", data.path()}, {"planes.csv is empty"});
  writeExampleData(data, kFlights, "tailnum,engine\nN1\n");
  expectUsageError({"run", "flights-delays", "--data", data.path()}, {"planes.csv line 2 has 1 cells"});
}

TEST(Command, APipeInPlaceOfAFileIsRefusedAndNobodyWaitsForItsWriter) {
  const TempDir data;
  writeExampleData(data, kFlights);
  std::remove((data / "planes.csv").c_str());
  ASSERT_EQ(mkfifo((data / "planes.csv").c_str(), 0600), 0);
  expectUsageError({"run", "flights-delays", "--data", data.path()}, {"planes.csv", "no regular file"});
}

TEST(Command, EmptyLinesAreNoRowsForTheOracleEither) {
  const TempDir data;
  writeExampleData(data, std::string(kFlights) + "\n\n");
  const Answer answer = weir({"run", "flights-delays", "--data", data.path(), "--quiet", "--compare"});
  EXPECT_EQ(answer.code, 0) << answer.err;
}

TEST(Command, OutputThatCannotBeWrittenIsAFailure) {
  for (const char* what : {"config", "run flights-delays --quiet --executor simulated", "--help"}) {
    const int status = std::system((std::string(WEIR_BINARY) + " " + what + " >/dev/full 2>/dev/null").c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1) << what;
  }
}

TEST(Command, AFailureWhileItRunsIsOneSentenceAndExitCodeOne) {
  const TempDir data;
  writeExampleData(data, std::string(kFlights) + "AA,N1,late\n");
  // With checkpoints the default is to restart for ever; a row that cannot be read does not get better by that.
  const Answer answer = weir(
      {"run", "flights-delays", "--data", data.path(), "--quiet", "-D", "execution.checkpointing.interval=100 ms"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, StartsWith("weir: the job failed: "));
  EXPECT_THAT(answer.err, HasSubstr("flights.csv.gz line 5, column \"dep_delay\": \"late\" is not"));
  EXPECT_THAT(answer.err, HasSubstr("[Source: flights (")) << "and which task it was";
  EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
}

TEST(Command, AKilledSubtaskWithoutRestartsLeavesACheckpointToGoOnFrom) {
  const TempDir folder;
  const std::vector<std::string> common{"run", "flights-delays", "--quiet", "--executor", "simulated", "-D",
                                        "execution.checkpointing.dir=" + folder.path() + "/checkpoints"};
  auto killed = common;
  for (const char* more : {"--rate", "100000", "--kill", "by-engine:1@60%", "-D", "restart-strategy.type=none", "-D",
                           "execution.checkpointing.interval=500 ms", "-D",
                           "execution.checkpointing.externalized-checkpoint-retention=RETAIN_ON_CANCELLATION"})
    killed.push_back(more);
  const Answer failed = weir(killed);
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("killed by --kill after"));
  const std::string hint = "-D execution.state-recovery.path=";
  const size_t at = failed.err.find(hint);
  ASSERT_NE(at, std::string::npos) << failed.err;
  const std::string path = failed.err.substr(at + 3, failed.err.find(' ', at + 3) - at - 3);

  auto resumed = common;
  for (const std::string& more :
       {std::string("--seed"), std::string("2"), std::string("-D"), path, std::string("--output"), std::string("json")})
    resumed.push_back(more);
  const Answer good = weir(resumed);
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(nlohmann::json::parse(good.out)["job"]["status"], "FINISHED");

  auto wide = resumed;
  for (const char* more : {"-D", "parallelism.default=6"}) wide.push_back(more);
  EXPECT_EQ(weir(wide).code, 0) << "at another parallelism, too";
}

TEST(Command, AJobWithoutACheckpointDirectoryStartsFromFilesOnTheDiskAndDamagedOnesEndWithOne) {
  const TempDir folder;
  const Answer failed =
      weir({"run", "flights-delays", "--quiet", "--executor", "simulated", "--rate", "100000", "--kill", "by-engine:1@60%", "-D",
            "restart-strategy.type=none", "-D", "execution.checkpointing.interval=500 ms", "-D",
            "execution.checkpointing.externalized-checkpoint-retention=RETAIN_ON_CANCELLATION", "-D",
            "execution.checkpointing.data-inline-threshold=0", "-D", "execution.checkpointing.dir=" + folder.path()});
  const std::string hint = "execution.state-recovery.path=";
  const size_t at = failed.err.find(hint);
  ASSERT_NE(at, std::string::npos) << failed.err;
  const std::string path = failed.err.substr(at, failed.err.find(' ', at) - at), chk = path.substr(hint.size());
  const std::vector<std::string> resume{"run", "flights-delays", "--quiet", "--executor", "simulated", "--compare", "-D", path};
  const Answer good = weir(resume);
  EXPECT_EQ(good.code, 0) << good.err;

  writeFile(chk + "/_metadata", "garbage");
  const Answer damaged = weir(resume);
  EXPECT_EQ(damaged.code, 1) << "no mistake of who typed the command";
  EXPECT_THAT(damaged.err, HasSubstr(chk + "/_metadata is no checkpoint metadata"));
  std::remove((chk + "/_metadata").c_str());
  EXPECT_EQ(weir(resume).code, 2) << "and no checkpoint is the wrong path";
}

TEST(Command, ControlCCancelsTheJobAndExitsWith130) {
  bool sent = false;
  const Answer answer = weir({"run", "flights-delays", "--rate", "1000", "-D", "execution.checkpointing.interval=1s"},
                             [&](pid_t pid, const std::string& err) {
                               if (sent || err.find("RUNNING") == std::string::npos) return;
                               sent = true;
                               kill(pid, SIGINT);
                             });
  EXPECT_EQ(answer.code, 130) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("weir: interrupted: cancelling the job; Ctrl-C once more quits at once\n"));
  EXPECT_THAT(answer.err, HasSubstr("weir: interrupted: the job was cancelled"));
  EXPECT_THAT(answer.out, HasSubstr("CANCELED after"));
}

TEST(Command, TheSignalOfServiceManagersCancelsTheJobToo) {
  bool sent = false;
  const Answer answer = weir({"run", "flights-delays", "--rate", "1000"}, [&](pid_t pid, const std::string& err) {
    if (sent || err.find("RUNNING") == std::string::npos) return;
    sent = true;
    kill(pid, SIGTERM);
  });
  EXPECT_EQ(answer.code, 130) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("the job was cancelled"));
}

TEST(Command, ASecondControlCQuitsAtOnce) {
  bool sent = false;
  const Answer answer = weir({"run", "flights-delays", "--rate", "1000"}, [&](pid_t pid, const std::string& err) {
    if (sent || err.find("RUNNING") == std::string::npos) return;
    sent = true;
    kill(pid, SIGSTOP);  // so that both are there before it looks
    kill(pid, SIGINT);
    kill(pid, SIGCONT);
    kill(pid, SIGINT);
  });
  EXPECT_EQ(answer.code, 130) << answer.err;
}

TEST(Command, HelpNamesTheCommandAndGivesExamples) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"config", "--help"}, {"trace", "--help"}, {"bench", "barrier", "--help"}}) {
    const Answer answer = weir(arguments);
    EXPECT_EQ(answer.code, 0);
    EXPECT_EQ(answer.err, "");
    EXPECT_THAT(answer.out, AllOf(HasSubstr("Usage: weir"), HasSubstr("Example"), HasSubstr("Exit codes: 0")));
  }
}

TEST(Command, JsonOutputIsOneObjectAndNothingElse) {
  const TempDir data;
  writeExampleData(data, kFlights);
  const Answer answer = weir({"run", "flights-delays", "--data", data.path(), "--quiet", "--compare", "--output", "json", "-D",
                              "execution.checkpointing.interval=1 s"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  const auto report = nlohmann::json::parse(answer.out);
  EXPECT_EQ(report["job"]["status"], "FINISHED");
  EXPECT_EQ(report["oracle"]["equal"], true);
  ASSERT_FALSE(report["checkpoints"]["history"].empty());
  for (const auto& checkpoint : report["checkpoints"]["history"]) {
    EXPECT_EQ(checkpoint["acknowledged"], checkpoint["subtasks"]);
    EXPECT_TRUE(checkpoint.contains("slowest-alignment-ms"));
  }
  const Answer keys = weir({"config", "--output", "json", "execution.checkpointing"});
  EXPECT_GT(nlohmann::json::parse(keys.out).size(), 10u);
}

TEST(Command, ATraceTellsTheWayOfEveryBarrierOfARun) {
  const TempDir folder;
  writeExampleData(folder, kFlights);
  const std::string trace = folder.path() + "/barriers.trace";
  const Answer run = weir({"run", "flights-delays", "--data", folder.path(), "--quiet", "-D", "execution.checkpointing.interval=1 s", "-D",
                           "weir.trace.path=" + trace});
  ASSERT_EQ(run.code, 0) << run.err;
  const Answer answer = weir({"trace", trace, "--output", "json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  // The final checkpoint of a bounded job, at least; of each that completed every task has sent its barrier and written its state.
  const auto checkpoints = nlohmann::json::parse(answer.out)["checkpoints"];
  std::set<std::string> steps, tasks;
  int completed = 0;
  for (const auto& checkpoint : checkpoints) {
    if (checkpoint["outcome"] != "completed") continue;
    ++completed;
    for (const auto& event : checkpoint["events"]) {
      steps.insert(event["step"].get<std::string>());
      tasks.insert(event["task"].get<std::string>());
    }
  }
  EXPECT_GE(completed, 1);
  EXPECT_THAT(steps, ::testing::IsSupersetOf({"triggered", "emitted", "enqueued", "received", "channel-blocked", "aligned", "snapshot-sync",
                                              "snapshot-async", "acknowledged", "completed"}));
  EXPECT_GT(tasks.size(), 10u);
}

TEST(Command, ATraceThatCannotBeWrittenOrReadIsAMistakeOfTheUser) {
  const TempDir folder;
  writeExampleData(folder, kFlights);
  const Answer run = weir({"run", "flights-delays", "--data", folder.path(), "--quiet", "-D", "weir.trace.path=" + folder.path()});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("weir.trace.path"), HasSubstr(folder.path())));
  const Answer answer = weir({"trace", folder.path() + "/none"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, AllOf(StartsWith("weir: "), HasSubstr(folder.path() + "/none")));
}

TEST(Command, MeasuresBarriersBesideTheLeastThatTheMachineAllows) {
  const Answer answer = weir({"bench", "barrier", "--force", "--quiet", "--channels", "1,16", "--milliseconds", "5", "--output", "json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto report = nlohmann::json::parse(answer.out);
  ASSERT_EQ(report["barriers"].size(), 16u);
  for (const auto& line : report["barriers"]) {
    EXPECT_GE(line["count"].get<int>(), 5);
    EXPECT_GT(line["p50-ns"].get<int64_t>(), 0);
    EXPECT_LE(line["p50-ns"].get<int64_t>(), line["p99.9-ns"].get<int64_t>());
    EXPECT_GT(line["rings-p50-ns"].get<int64_t>(), 0);
  }
}

TEST(Command, MistakesOfABenchmarkAreOneSentence) {
  expectUsageError({"bench"}, {"bench --help"});
  expectUsageError({"bench", "barrier", "--channels", "5000"}, {"5000"});
  expectUsageError({"bench", "barrier", "--channels", "one"}, {"one"});
  expectUsageError({"bench", "barrier", "--channels", "16,0"}, {"0"});
  expectUsageError({"bench", "barrier", "--milliseconds", "0"}, {"--milliseconds", "0"});
  expectUsageError({"bench", "barrier", "--output", "xml"}, {"--output", "'xml'", "text and json"});
  expectUsageError({"bench", "latency"}, {"no command 'latency'; barrier is", "bench --help"});
}

}  // namespace
}  // namespace weir
