#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/command.h"
#include "support/temp_dir.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Answer;
using testing::expectUsageError;
using testing::TempDir;
using testing::weir;

const std::string kData = WEIR_EXAMPLE_DATA;

std::string written(const TempDir& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder / name, std::ios::binary) << text;
  return folder / name;
}
std::vector<std::string> sortedLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}
/// Orders of two customers in an hour, one of them late; then `operators`.
std::string ordersJob(const TempDir& folder, const std::string& operators, const std::string& rows = "") {
  written(folder, "orders.csv",
          rows.empty() ? "customer,amount,at\nann,3,1970-01-01T00:00:01Z\nbob,5,1970-01-01T00:00:02Z\nann,4,1970-01-01T00:00:09Z\n"
                         "ann,1,1970-01-01T00:00:12Z\nbob,7,1970-01-01T00:00:03Z\n"
                       : rows);
  return written(folder, "job.yaml",
                 "job:\n- orders: {source: csv, path: orders.csv, columns: {customer: string, amount: long, at: timestamp},\n"
                 "           event-time: {column: at, watermarks: every-record}}\n" + operators);
}

TEST(JobFile, PrintsItsRowsAndNothingElseOnStandardOutput) {
  const TempDir folder;
  const std::string job = ordersJob(folder,
                                    "- big: {input: orders, filter: \"amount > 3\"}\n"
                                    "- named: {input: big, map: {who: \"upper(customer)\", twice: \"amount * 2\"}}\n"
                                    "- out: {input: named, sink: print}\n");
  const Answer good = weir({"run", job});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(sortedLines(good.out), ElementsAre("{who=ANN, twice=8}", "{who=BOB, twice=10}", "{who=BOB, twice=14}"));
  EXPECT_THAT(good.err, HasSubstr("FINISHED"));
}

TEST(JobFile, WindowsCloseByEventTimeAndLateRowsHaveAStreamOfTheirOwn) {
  const TempDir folder;
  const std::string job =
      ordersJob(folder,
                "- sums: {input: orders, key: customer, aggregate: {sum: amount}, window: {tumbling-event-time: 10 s, late: late}}\n"
                "- out: {input: sums, sink: print}\n- missed: {input: late, sink: print}\n");
  const Answer answer = weir({"run", job});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(sortedLines(answer.out),
              ElementsAre("missed> {customer=bob, amount=7, at=1970-01-01T00:00:03Z}",
                          "out> {customer=ann, window_start=1970-01-01T00:00:00Z, window_end=1970-01-01T00:00:10Z, sum=7}",
                          "out> {customer=ann, window_start=1970-01-01T00:00:10Z, window_end=1970-01-01T00:00:20Z, sum=1}",
                          "out> {customer=bob, window_start=1970-01-01T00:00:00Z, window_end=1970-01-01T00:00:10Z, sum=5}"));
}

TEST(JobFile, NaiveFormsKeepLateRowsAsTheyWere) {
  for (const char* form : {"results", "string-keys"}) {
    const TempDir folder;
    const std::string job = ordersJob(
        folder, "- sums: {input: orders, key: customer, aggregate: {sum: amount}, two-stage: {salts: 3, form: " + std::string(form) +
                    "},\n         window: {tumbling-event-time: 10 s, late: late}}\n"
                    "- out: {input: sums, sink: discard}\n- missed: {input: late, sink: print}\n");
    const Answer answer = weir({"run", job});
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.out, "{customer=bob, amount=7, at=1970-01-01T00:00:03Z}\n") << form;
  }
}

TEST(JobFile, TwoStagesGiveTheSameAsOneWithSessionsAndSlidingWindowsToo) {
  for (const char* window : {"tumbling-event-time: 10 s", "sliding-event-time: {size: 10 s, slide: 5 s}", "session-event-time: 4 s"}) {
    const TempDir folder;
    const auto run = [&](const std::string& more) {
      const std::string job = ordersJob(folder, "- sums: {input: orders, key: customer, aggregate: {sum: amount}, window: {" +
                                                    std::string(window) + "}" + more + "}\n- out: {input: sums, sink: print}\n");
      const Answer answer = weir({"run", job, "-D", "parallelism.default=1"});
      EXPECT_EQ(answer.code, 0) << answer.err;
      return sortedLines(answer.out);
    };
    EXPECT_EQ(run(""), run(", two-stage: {salts: 3}")) << window;
  }
}

TEST(JobFile, JoinsByWindowAndByTime) {
  const TempDir folder;
  const std::string halves = "- small: {input: orders, filter: \"amount < 4\"}\n- large: {input: orders, filter: \"amount >= 4\"}\n";
  const Answer windowed = weir({"run", ordersJob(folder, halves +
                                                             "- pairs: {join: {left: small, right: large}, key: customer, window: "
                                                             "{tumbling-event-time: 10 s}}\n- out: {input: pairs, sink: print}\n")});
  EXPECT_EQ(windowed.code, 0) << windowed.err;
  EXPECT_THAT(windowed.out, HasSubstr("{customer=ann, amount=3, at=1970-01-01T00:00:01Z, right_customer=ann, right_amount=4, "
                                      "right_at=1970-01-01T00:00:09Z}"));
  const Answer nearby =
      weir({"run", ordersJob(folder, halves + "- pairs: {join: {left: small, right: large}, key: customer, within: {lower: -4 s, "
                                              "upper: 1 s}}\n- out: {input: pairs, sink: print}\n")});
  EXPECT_EQ(nearby.code, 0) << nearby.err;
  EXPECT_THAT(sortedLines(nearby.out), ElementsAre("{customer=ann, amount=1, at=1970-01-01T00:00:12Z, right_customer=ann, right_amount=4, "
                                                   "right_at=1970-01-01T00:00:09Z}"));
}

TEST(JobFile, WritesFilesAndReadsThemAgain) {
  const TempDir folder;
  const std::string job = ordersJob(folder, "- all: {union: [orders, orders]}\n- out: {input: all, sink: json-lines, path: out}\n");
  ASSERT_EQ(weir({"run", job, "--quiet"}).code, 0);
  std::string part;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out")) part = entry.path().filename();
  const std::string again = written(folder, "again.yaml",
                                    "job:\n- back: {source: json-lines, path: out/" + part +
                                        ", columns: {customer: string, amount: long, at: timestamp}}\n"
                                        "- n: {input: back, key: customer, aggregate: {n: count, total: {sum: amount}}}\n"
                                        "- last: {input: n, filter: \"n = 6\"}\n- out: {input: last, sink: print}\n");
  const Answer answer = weir({"run", again});
  EXPECT_EQ(answer.out, "{customer=ann, n=6, total=16}\n") << answer.err;
}

TEST(JobFile, ASimulatedRunRepeatsAndItsReportHoldsTheRows) {
  const TempDir folder;
  const std::string job = written(folder, "orders.yaml",
                                  "job:\n- orders: {source: generator, records: 500, keys: {cardinality: 5, zipf: 1.1}, parallelism: 2}\n"
                                  "- n: {input: orders, parallelism: 2, aggregate: {n: count}}\n- out: {input: n, sink: print}\n");
  const auto run = [&] {
    const Answer answer = weir({"run", job, "--executor", "simulated", "--seed", "7", "--output", "json", "--quiet"});
    EXPECT_EQ(answer.code, 0) << answer.err;
    return nlohmann::json::parse(answer.out);
  };
  const auto first = run();
  EXPECT_EQ(first["results"]["out"].size(), 500u);
  EXPECT_EQ(first["results"], run()["results"]);
}

TEST(JobFile, MistakesAreOneSentenceWithTheirPlace) {
  const TempDir folder;
  const auto refused = [&](const std::string& operators, const std::vector<std::string>& says) {
    expectUsageError({"run", ordersJob(folder, operators)}, says);
  };
  const std::string out = "- out: {input: x, sink: print}\n";
  refused("- x: {input: orders, filter: \"amont > 3\"}\n" + out, {"job.yaml:4:31: ", "there is no column 'amont': did you mean 'amount'?"});
  refused("- x: {input: orders, filter: \"amount\"}\n" + out, {"job.yaml:4:", "is a long, expected is true or false"});
  refused("- x: {input: orders, key: custmer, aggregate: count}\n" + out, {"job.yaml:4:27: ", "no column 'custmer'", "'customer'"});
  refused("- x: {input: orders, aggregate: count}\n" + out, {"'x' needs 'key'"});
  refused("- x: {input: orders, key: customer, aggregate: {t: {sum: customer}}}\n" + out, {"sum takes numbers", "'customer' is a string"});
  refused("- x: {input: orders, key: customer, aggregate: {t: {exponential-average: amount}}, two-stage: {salts: 4}}\n" + out,
          {"exponential-average cannot be merged from parts, as two stages do: use one stage"});
  refused(
      "- x: {input: orders, key: customer, aggregate: {sum: amount}, window: {tumbling-processing-time: 5 s}, two-stage: {salts: 4}}\n" +
          out,
      {"job.yaml:4:", "'x' cannot go into two stages: its windows close by the clock", "use windows in event time"});
  for (const char* window : {"sliding-processing-time: {size: 10 s, slide: 5 s}", "session-processing-time: 5 s"})
    refused("- x: {input: orders, key: customer, aggregate: {sum: amount}, window: {" + std::string(window) +
                "}, two-stage: {salts: 4}}\n" + out,
            {"job.yaml:4:", "close by the clock, which each subtask sees on its own; use windows in event time"});
  refused("- x: {input: orders, key: customer, aggregate: {sum: amount}, window: {count: 5}, two-stage: {salts: 4}}\n" + out,
          {"job.yaml:4:", "'x' cannot go into two stages: its windows close by count", "use windows in event time"});
  refused("- x: {input: orders, key: customer, aggregate: {t: {exponential-average: amount}}, window: {session-event-time: 5 s}}\n" + out,
          {"job.yaml:4:", "cannot be merged from parts, as sessions do: use one stage and windows of a fixed size"});
  refused("- few: {input: orders, map: {a: amount}}\n- x: {union: [orders, few]}\n" + out, {"have different columns"});
  refused("- x: {input: orders, sink: csv}\n", {"the sink needs 'path'"});
  refused("- x: {input: orders, sink: csv, path: ''}\n", {"the path is empty"});
  for (const std::string root : {"/", "//", "/tmp/..", "/./"})
    refused("- x: {input: orders, sink: csv, path: " + root + "}\n", {"'" + root + "' is the root of all folders: name a folder"});
  expectUsageError({"run", "nowhere.yaml"}, {"nowhere.yaml"});
  expectUsageError({"run", ordersJob(folder, "- x: {input: orders, sink: discard}\n"), "--compare"}, {"a job file has no oracle"});
}

TEST(JobFile, RowsThatDoNotParseNameFileLineAndColumn) {
  const TempDir folder;
  const std::string sink = "- out: {input: orders, sink: discard}\n";
  expectUsageError({"run", ordersJob(folder, sink, "customer,amount,at\nann,3,soon\n")},
                   {"job.yaml:2:", "orders.csv line 2, column \"at\": \"soon\" is not a timestamp"});
  expectUsageError({"run", ordersJob(folder, sink, "customer,amont,at\n")}, {"no column \"amount\"", "did you mean \"amont\"?"});
  const Answer later = weir({"run", ordersJob(folder, sink, "customer,amount,at\nann,3,1\nann,x,2\n")});
  EXPECT_EQ(later.code, 1);
  EXPECT_THAT(later.err, HasSubstr("orders.csv line 3, column \"amount\": \"x\" is not a whole number"));
}

TEST(JobFile, TheExamplesRun) {
  for (const char* name : {"flights-by-origin", "adversarial-orders"}) {
    const Answer answer = weir({"run", kData + "/../scenarios/" + name + ".yaml", "--quiet"});
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_THAT(answer.out, HasSubstr("window_start=")) << name;
  }
}

// ---- weir validate -----------------------------------------------------------------------------------------------------------------

nlohmann::json validated(const std::string& job, int code, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"validate", job, "--output", "json", "--quiet"};
  if (std::find(more.begin(), more.end(), "--seeds") == more.end()) arguments.insert(arguments.end(), {"--seeds", "2"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Answer answer = weir(arguments);
  EXPECT_EQ(answer.code, code) << answer.out << answer.err;
  return answer.out.empty() ? nlohmann::json() : nlohmann::json::parse(answer.out);
}
std::string flightsJob(const TempDir& folder, const std::string& aggregations) {
  return written(folder, "flights.yaml",
                 "job:\n- flights: {source: csv, path: " + kData +
                     "/flights.csv.gz,\n    columns: {sched_ms: timestamp, carrier: string, tailnum: string, dep_delay: optional int},\n"
                     "    event-time: {column: sched_ms, out-of-orderness: 1 d}}\n"
                     "- departed: {input: flights, filter: \"dep_delay is not null\", parallelism: 1}\n"
                     "- seen: {input: flights, filter: \"tailnum != ''\", parallelism: 1}\n" +
                     aggregations + "config: {parallelism.default: 2}\n");
}

TEST(Validate, FindsWhatAveragesOfAveragesDoToTheFlights) {
  const TempDir folder;
  const auto report =
      validated(flightsJob(folder,
                           "- naive: {input: departed, key: carrier, window: {tumbling-event-time: 1 d},\n"
                           "          aggregate: {mean: {avg: dep_delay}, n: count}, two-stage: {salts: 4, form: results}}\n"
                           "- out: {input: naive, sink: discard}\n- other: {input: seen, sink: discard}\n"),
                1, {"--seeds", "0"});
  const auto& mean = report["streams"][0]["aggregates"][0];
  EXPECT_EQ(mean["verdict"], "different");
  EXPECT_EQ(mean["results"], 5430);
  EXPECT_EQ(mean["differing"], 4032);
  EXPECT_EQ(mean["differing-by-more-than-1e-9"], 4031);
  EXPECT_NEAR(mean["largest-difference"].get<double>(), 62.8611, 1e-4);
  EXPECT_NEAR(mean["mean-difference"].get<double>(), 0.878942, 1e-6);
  EXPECT_THAT(mean["reasons"][0].get<std::string>(), HasSubstr("not mergeable"));
  EXPECT_EQ(report["streams"][0]["aggregates"][1]["verdict"], "equal");
}

TEST(Validate, FindsWhatSumsOfDistinctCountsDoToTheFlights) {
  const TempDir folder;
  const auto report = validated(flightsJob(folder,
                                           "- naive: {input: seen, key: carrier, window: {tumbling-event-time: 30 d},\n"
                                           "          aggregate: {planes: {distinct: tailnum}}, two-stage: {salts: 4, form: results}}\n"
                                           "- out: {input: naive, sink: discard}\n- other: {input: departed, sink: discard}\n"),
                                1, {"--seeds", "0"});
  const auto& planes = report["streams"][0]["aggregates"][0];
  EXPECT_EQ(planes["results"], 201);
  EXPECT_EQ(planes["differing"], 197);
  EXPECT_EQ(planes["largest-difference"], 1314);
}

TEST(Validate, AccumulatorsGiveTheSameThroughFailuresAndRoundingIsBounded) {
  const TempDir folder;
  const auto report = validated(
      flightsJob(folder,
                 "- hours: {input: departed, keep: all, map: {hours: \"dep_delay / 60.0\"}, parallelism: 1}\n"
                 "- sound: {input: hours, key: carrier, window: {tumbling-event-time: 1 d},\n"
                 "          aggregate: {mean: {avg: hours}, n: count, worst: {max: dep_delay}, whole: {avg: dep_delay}},\n"
                 "          two-stage: {salts: 4}}\n"
                 "- out: {input: sound, sink: discard}\n- other: {input: seen, sink: discard}\n"),
      0);
  const auto& aggregates = report["streams"][0]["aggregates"];
  EXPECT_EQ(aggregates[0]["verdict"], "equal up to rounding");
  EXPECT_LE(aggregates[0]["largest-difference"].get<double>(), aggregates[0]["rounding-bound"].get<double>());
  for (const int exact : {1, 2, 3}) EXPECT_EQ(aggregates[exact]["verdict"], "equal") << exact;
  const auto& balance = report["streams"][0]["balance"];
  EXPECT_EQ(balance["exchanged-before"], 328'521);
  EXPECT_EQ(balance["stage-one"].size(), 2u);
}

TEST(Validate, NamesTheReasonOfEachNaiveForm) {
  const TempDir folder;
  const auto reason = [&](const std::string& form, const std::string& aggregate, const std::string& window) {
    const std::string job = written(
        folder, "orders.yaml",
        "job:\n- orders: {source: generator, records: 2000, keys: {cardinality: 7, hot: {count: 1, share: 0.6}}, event-time: {step: 10 ms, "
        "out-of-orderness: 500 ms}}\n- x: {input: orders, parallelism: 2, " +
            window + "aggregate: {v: {" + aggregate + ": amount}}, two-stage: {salts: 4" + form + "}}\n- out: {input: x, sink: discard}\n");
    std::string all;
    const auto report = validated(job, 1, {"--seeds", "0"});
    for (const auto& text : report["streams"][0]["aggregates"][0]["reasons"]) all += text.get<std::string>() + "\n";
    return all;
  };
  const std::string window = "window: {tumbling-event-time: 1 s}, ";
  EXPECT_THAT(reason(", form: salt-in-key", "sum", window), HasSubstr("salt left in the key"));
  EXPECT_THAT(reason(", form: salt-in-selector", "sum", window), HasSubstr("salt in the key selector"));
  EXPECT_THAT(reason(", form: mixed-time", "sum", window), HasSubstr("mixed time"));
  EXPECT_THAT(reason(", form: results", "sum", ""), HasSubstr("totals to totals"));
  EXPECT_THAT(reason("", "collect", window), HasSubstr("order-sensitive"));
  EXPECT_THAT(reason("", "exponential-average", window), HasSubstr("not mergeable"));
  EXPECT_THAT(reason("", "sum", "window: {tumbling-processing-time: 1 s}, "), HasSubstr("mixed time"));
}

/// All reasons of the first aggregate, a line each.
std::string reasonsOf(const nlohmann::json& report) {
  std::string all;
  for (const auto& text : report["streams"][0]["aggregates"][0]["reasons"]) all += text.get<std::string>() + "\n";
  return all;
}
const char* const kSessions = "- sums: {input: orders, key: customer, aggregate: {sum: amount}, window: {session-event-time: 10 s}";

TEST(Validate, FindsLateDataThatOnlyOneFormSees) {
  // At 4 s behind a watermark of 15 s: a session of its own would be over, but that of 0 and 8 s is open and takes it in.
  const TempDir folder;
  const std::string rows = "customer,amount,at\nann,1,1970-01-01T00:00:00Z\nann,2,1970-01-01T00:00:08Z\n"
                           "bob,4,1970-01-01T00:00:15Z\nann,8,1970-01-01T00:00:04Z\n";
  for (const char* form : {"accumulators", "results"}) {
    const auto report = validated(
        ordersJob(folder, kSessions + std::string(", two-stage: {salts: 3, form: ") + form + "}}\n- out: {input: sums, sink: discard}\n",
                  rows),
        1);
    EXPECT_EQ(report["streams"][0]["late-in-one-stage"], 0) << form;
    EXPECT_EQ(report["streams"][0]["late-in-two-stages"], 1) << form;
    EXPECT_THAT(reasonsOf(report), HasSubstr("late data seen by one form only: one stage dropped 0 records as late, two stages 1")) << form;
    EXPECT_EQ(report["streams"][0]["aggregates"][0]["verdict"], "different") << form;
  }
  // Where both drop the same, nothing is said of it, and the sums are the same; also where the file has a stream for late rows.
  const auto same = validated(ordersJob(folder, "- sums: {input: orders, key: customer, aggregate: {sum: amount},\n"
                                                "         window: {tumbling-event-time: 10 s, late: late}, two-stage: {salts: 3}}\n"
                                                "- out: {input: sums, sink: discard}\n- missed: {input: late, sink: discard}\n"),
                              0);
  EXPECT_EQ(same["streams"][0]["late-in-one-stage"], 1);
  EXPECT_EQ(same["streams"][0]["late-in-two-stages"], 1);
}

TEST(Validate, FindsWhatDependsOnTheOrder) {
  // One key and one window: `first` and `collect` hang on which part of stage one arrives first, the sum beside them does not.
  const TempDir folder;
  std::string rows = "customer,amount,at\n";
  for (int i = 0; i < 60; ++i) rows += "ann," + std::to_string(i) + "," + std::to_string(i * 10) + "\n";
  const auto report =
      validated(ordersJob(folder,
                          "- x: {input: orders, key: customer, parallelism: 3, window: {tumbling-event-time: 1 s},\n"
                          "      aggregate: {all: {collect: amount}, total: {sum: amount}}, two-stage: {salts: 8}}\n"
                          "- out: {input: x, sink: discard}\n",
                          rows),
                1);
  EXPECT_THAT(reasonsOf(report), HasSubstr("order-sensitive: collect depends on the order of the records"));
  EXPECT_THAT(reasonsOf(report), Not(HasSubstr("not mergeable")));
  EXPECT_EQ(report["streams"][0]["aggregates"][1]["verdict"], "equal");
  EXPECT_TRUE(report["streams"][0]["aggregates"][1]["reasons"].empty());
}

TEST(Validate, SaysOnlyWhatItHasSeen) {
  // With the salt left in the key no result of both forms has the same key: what collect would do with parts was not seen.
  const TempDir folder;
  const auto report = validated(ordersJob(folder,
                                          "- x: {input: orders, key: customer, window: {tumbling-event-time: 1 min},\n"
                                          "      aggregate: {mean: {avg: amount}}, two-stage: {salts: 8, form: salt-in-key}}\n"
                                          "- out: {input: x, sink: discard}\n"),
                                1);
  EXPECT_THAT(reasonsOf(report), AllOf(HasSubstr("salt left in the key"), Not(HasSubstr("not mergeable"))));
}

TEST(Validate, MeasuresNetworkAndAddedLatency) {
  const TempDir folder;
  const auto balance = [&](const std::string& window, const std::string& twoStage) {
    const std::string job =
        written(folder, "orders.yaml",
                "job:\n- orders: {source: generator, records: 20000, keys: {cardinality: 9, hot: {count: 1, share: 0.6}},\n"
                "           event-time: {step: 10 ms}}\n"
                "- x: {input: orders, parallelism: 2, " + window + "aggregate: {n: count}, two-stage: {" + twoStage + "}}\n"
                "- out: {input: x, sink: discard}\n" +
                    (window.empty() ? "config: {pipeline.auto-watermark-interval: 0 ms}\n" : ""));  // a watermark would flush
    return validated(job, 0, {"--seeds", "0"})["streams"][0]["balance"];
  };
  const auto windows = balance("window: {tumbling-event-time: 10 s}, ", "salts: 4");
  // A record is a length, a timestamp and a row with a text of 5 letters and more: not below 20 bytes, not above 80.
  EXPECT_GT(windows["network-bytes"]["one-stage"], 20'000 * 20);
  EXPECT_LT(windows["network-bytes"]["one-stage"], 20'000 * 80);
  EXPECT_GE(windows["network-bytes"]["to-stage-one"], windows["network-bytes"]["one-stage"]) << "the same records, with salts";
  EXPECT_LT(windows["network-bytes"]["to-stage-two"].get<double>(), windows["network-bytes"]["to-stage-one"].get<double>() / 10);
  EXPECT_GT(windows["network-bytes"]["to-stage-two"], 20 * 9 * 20) << "20 windows of 9 keys";
  EXPECT_EQ(windows["added-latency-ms"]["clock"], "virtual");
  EXPECT_EQ(windows["added-latency-ms"]["compared"], 20 * 9);
  EXPECT_LE(windows["added-latency-ms"]["largest"], 300) << "one more exchange";

  // Without windows a record waits until stage one ships.
  const auto slow = balance("", "salts: 4, flush: 3 s"), quick = balance("", "salts: 4, flush: 200 ms");
  EXPECT_EQ(slow["added-latency-ms"]["compared"], 20'000);
  EXPECT_NEAR(slow["added-latency-ms"]["mean"].get<double>(), 1'500, 400);
  EXPECT_NEAR(quick["added-latency-ms"]["mean"].get<double>(), 150, 60) << "half of the interval, and up to a buffer timeout of 100 ms";
  EXPECT_LT(slow["network-bytes"]["to-stage-two"], quick["network-bytes"]["to-stage-two"]);
}

TEST(Validate, TakesAnotherInputAndRefusesWhatItCannotCompare) {
  const TempDir folder;
  const std::string sums = "- sums: {input: orders, key: customer, aggregate: {sum: amount}, window: {tumbling-event-time: 10 s}}\n"
                           "- out: {input: sums, sink: discard}\n";
  const std::string job = ordersJob(folder, sums);
  const std::string other = written(folder, "other.csv", "customer,amount,at\neve,1,1\neve,2,2\n");
  EXPECT_EQ(validated(job, 0, {"--input", other})["streams"][0]["aggregates"][0]["results"], 1);
  expectUsageError({"validate", job, "--input", folder / "none.csv", "--quiet"}, {"none.csv"});
  expectUsageError({"validate", ordersJob(folder, "- out: {input: orders, sink: discard}\n"), "--quiet"}, {"has no aggregation"});
  expectUsageError({"validate", job, "--seeds", "many"}, {"--seeds"});
  const std::string endless =
      written(folder, "endless.yaml",
              "job:\n- orders: {source: generator}\n- n: {input: orders, aggregate: count}\n- out: {input: n, sink: discard}\n");
  expectUsageError({"validate", endless, "--quiet"}, {"'orders' has no end: give it 'records'"});
}

}  // namespace
}  // namespace weir
