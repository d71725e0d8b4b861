#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "weir/base/memory_file_system.h"
#include "weir/cli/trace_command.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Two checkpoints of one source and one slow task: the first aligned, the second overtaking.
constexpr std::string_view kTrace = R"({"format":"weir barrier trace","version":1,"start-epoch-ms":1700000000000}
{"track":0,"process":"jobmanager","name":"coordinator"}
{"track":1,"process":"tm1","name":"source (1/1)#0"}
{"track":2,"process":"tm2","name":"slow (1/1)#0"}
{"ns":1000000,"track":0,"checkpoint":1,"step":"triggered"}
{"ns":1200000,"track":1,"checkpoint":1,"step":"emitted"}
{"ns":1250000,"track":1,"checkpoint":1,"step":"enqueued","gate":0,"channel":0,"count":8}
{"ns":5000000,"track":2,"checkpoint":1,"step":"received","gate":0,"channel":0}
{"ns":5100000,"track":2,"checkpoint":1,"step":"aligned","duration-ns":2500000}
{"ns":5200000,"track":2,"checkpoint":1,"step":"emitted"}
{"ns":5900000,"track":0,"checkpoint":1,"step":"acknowledged","bytes":17,"of":2}
{"ns":6000000,"track":0,"checkpoint":1,"step":"completed"}
{"ns":9000000,"track":0,"checkpoint":2,"step":"triggered"}
{"ns":9100000,"track":1,"checkpoint":2,"step":"overtook","gate":0,"channel":0,"count":8,"bytes":262144}
)";

struct Answer {
  ExitCode code;
  std::string out;
};

Answer trace(TraceOptions options, std::string_view text = kTrace) {
  MemoryFileSystem files;
  auto file = files.create("/t", FileSystem::Create::kTruncate);
  EXPECT_TRUE((*file)->append(std::as_bytes(std::span(text))).has_value());
  options.file = "/t";
  std::ostringstream out;
  const ExitCode code = showTrace(files, options, out, false);
  return {code, out.str()};
}

TEST(TraceCommand, ShowsALinePerCheckpointWithWhatTookLongest) {
  const Answer answer = trace({});
  EXPECT_EQ(answer.code, kExitOk);
  EXPECT_THAT(answer.out, testing::ContainsRegex("1 +.*completed +5 ms +4.2 ms +2.5 ms .* slow \\(1/1\\)#0"));
  EXPECT_THAT(answer.out, testing::ContainsRegex("2 +.*open .* 8 +262,144 B"));
}

TEST(TraceCommand, CountsWhatWasOvertakenAlsoWhereNobodyToldItsBytes) {
  const std::string text(kTrace);
  const Answer answer = trace({}, text.substr(0, text.find(R"(,"bytes":262144)")) + "}\n");
  EXPECT_THAT(answer.out, testing::ContainsRegex("2 +.*open .* 8 +- "));
}

TEST(TraceCommand, ShowsTheWayOfOneBarrierFromItsTrigger) {
  const Answer answer = trace({.checkpoint = 1});
  EXPECT_THAT(answer.out, HasSubstr("completed after 5 ms"));
  EXPECT_THAT(answer.out, testing::ContainsRegex("250 us +tm1 +source \\(1/1\\)#0 +enqueued +partition 0, subpartition 0, behind 8"));
  EXPECT_THAT(answer.out, testing::ContainsRegex("4 ms +tm2 +slow \\(1/1\\)#0 +received +gate 0, channel 0"));
  EXPECT_THAT(answer.out, testing::ContainsRegex("4.9 ms +jobmanager +coordinator +acknowledged +slow \\(1/1\\)#0, 17 B"));
  EXPECT_THAT(answer.out, Not(HasSubstr("overtook")));
}

TEST(TraceCommand, AsJsonHasEveryEventOfEveryCheckpoint) {
  const auto json = nlohmann::json::parse(trace({.format = TraceOptions::Format::kJson}).out);
  ASSERT_EQ(json["checkpoints"].size(), 2u);
  EXPECT_EQ(json["checkpoints"][0]["end-to-end-ns"], 5'000'000);
  EXPECT_EQ(json["checkpoints"][0]["triggered-epoch-ms"], 1'700'000'000'001);
  EXPECT_EQ(json["checkpoints"][0]["events"].size(), 8u);
  EXPECT_EQ(json["checkpoints"][0]["events"][6]["of"], "slow (1/1)#0");
  EXPECT_EQ(json["checkpoints"][1]["outcome"], "open");
  EXPECT_EQ(json["checkpoints"][1]["events"][1]["bytes"], 262'144);
}

TEST(TraceCommand, AsPerfettoHasAProcessPerTaskManagerATrackPerSubtaskAndAFlowPerBarrier) {
  const auto json = nlohmann::json::parse(trace({.format = TraceOptions::Format::kPerfetto}).out);
  std::map<std::string, int> phases;
  std::vector<std::string> processes;
  for (const auto& event : json["traceEvents"]) {
    ++phases[event["ph"]];
    if (event["name"] == "process_name") processes.push_back(event["args"]["name"]);
    if (event["ph"] == "X") { EXPECT_GT(event["dur"].get<double>(), 0) << event; }
  }
  EXPECT_THAT(processes, testing::UnorderedElementsAre("jobmanager", "tm1", "tm2"));
  EXPECT_EQ(phases["s"], 2);
  EXPECT_EQ(phases["t"], 3);
  EXPECT_EQ(phases["f"], 1);
  EXPECT_EQ(phases["X"], 11);  // ten steps, and the one checkpoint that ended
}

TEST(TraceCommand, RefusesACheckpointThatIsNotThereAndAFileThatIsNoTrace) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(trace({.checkpoint = 7}).code, kExitUsage);
  EXPECT_EQ(trace({}, "carrier,delay\n").code, kExitUsage);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "weir: /t: the trace has no checkpoint 7, it has 1 to 2\nweir: /t:1: this is no barrier trace\n");
}

}  // namespace
}  // namespace weir
