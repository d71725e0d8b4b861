#include "weir/scenario/scenario_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string mistake(const std::string& text) {
  const auto file = ScenarioFile::parse(text, "job.yaml");
  return file.has_error() ? file.error().message : "";
}
/// A file with these lines of `job` between a source and a sink; the first of them is line 3.
std::string around(const std::string& lines, const std::string& last = "orders") {
  return "job:\n- orders: {source: generator, records: 9}\n" + lines + "\n- out: {input: " + last + ", sink: discard}\n";
}

TEST(ScenarioFile, IsReadWithAllThatTheSketchShows) {
  const auto file = ScenarioFile::parse(R"(
name: hot-key
title: A hot key starves the barrier
tags: [data skew]
job:
  - orders:    {source: generator, parallelism: 16, rate: 6000/s,
                keys: {cardinality: 401, hot: {count: 1, share: 0.6}}, record-size: 60 b,
                event-time: {out-of-orderness: 200 ms}}
  - by-dim:    {input: orders, exchange: hash, parallelism: 16,
                window: {tumbling-event-time: 500 ms}, aggregate: {sum: amount},
                cost: {per-record: 1 ms, mode: sleep}}
  - board:     {input: by-dim, exchange: hash, sink: discard, parallelism: 16}
config:
  execution.checkpointing.interval: 2 s
  execution: {checkpointing: {timeout: 4 s}}
faults: []
)",
                                        "scenarios/hot-key.yaml");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->name, "hot-key");
  ASSERT_EQ(file->job.size(), 3u);
  const NodeSpec &orders = file->job[0], &byDim = file->job[1];
  EXPECT_EQ(orders.source.rate, 6000);
  EXPECT_EQ(orders.source.keys.hotShare, 0.6);
  EXPECT_EQ(orders.source.outOfOrdernessMillis, 200);
  EXPECT_EQ(byDim.window->sizeMillis, 500);
  EXPECT_EQ(byDim.aggregates[0].column->value, "amount");
  EXPECT_EQ(byDim.cost->nanosPerRecord, 1'000'000);
  EXPECT_EQ(file->config.find("execution.checkpointing.timeout")->text, "4 s");
  EXPECT_TRUE(file->notes.empty()) << "an empty list of faults is no news";
  EXPECT_EQ(file->beside("data/flights.csv"), "scenarios/data/flights.csv");
}

TEST(ScenarioFile, BytesThatAreNoTextAreNamedWithTheirLine) {
  EXPECT_EQ(mistake("job:\n- \xe4rger: {source: generator}\n"),
            "job.yaml:2:1: this line has a byte that is no text in UTF-8: 0xE4; save the file as UTF-8");
  EXPECT_EQ(mistake(std::string("j\0o\0b\0", 6)),
            "job.yaml:1:1: this line has a byte that is no text in UTF-8: 0x00; save the file as UTF-8");
  EXPECT_THAT(mistake("\xef\xbb\xbfjob: []\n"), HasSubstr("job has no streams")) << "a byte order mark is text";
}

TEST(ScenarioFile, WordsOfLaterVersionsAreAcceptedWithASentence) {
  const auto file = ScenarioFile::parse(around("") + "variants: {salted: {config: {a: b}}}\nexpect: {incident: [x == 1]}\n", "job.yaml");
  ASSERT_TRUE(file.has_value());
  EXPECT_THAT(file->notes, ElementsAre(HasSubstr("'variants' is not acted upon by this version"), StartsWith("job.yaml:6:1: 'expect'")));
}

TEST(ScenarioFile, StreamsMayStandInAnyOrder) {
  const auto file = ScenarioFile::parse("job:\n- out: {input: few, sink: discard}\n- few: {input: all, filter: \"amount > 1\"}\n"
                                        "- all: {source: generator, records: 3}\n",
                                        "job.yaml");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->job[0].name.value, "all");
  EXPECT_EQ(file->job[2].name.value, "out");
}

TEST(ScenarioFile, UnknownWordsComeWithPlaceAndTheNearestOne) {
  EXPECT_EQ(mistake(around("- few: {input: orders, fliter: \"amount > 1\"}")),
            "job.yaml:3:24: 'few' has no word 'fliter': did you mean 'filter'?");
  EXPECT_EQ(mistake(around("- few: {input: orders, filter: \"amount > 1\", paralelism: 2}")),
            "job.yaml:3:46: 'few' has no word 'paralelism': did you mean 'parallelism'?");
  EXPECT_EQ(mistake("jobs: []"), "job.yaml:1:1: a job file has no word 'jobs': did you mean 'job'?");
  EXPECT_THAT(mistake(around("- x: {source: generatr}")),
              HasSubstr("job.yaml:3:15: the source 'generatr' is not known: did you mean 'generator'?"));
  EXPECT_THAT(mistake(around("- x: {input: orders, sink: printt}")), HasSubstr("the sink 'printt' is not known: did you mean 'print'?"));
  EXPECT_THAT(mistake(around("- x: {input: orders, key: key, aggregate: {t: {summ: amount}}}")),
              HasSubstr("there is no aggregate 'summ': did you mean 'sum'?"));
  EXPECT_THAT(mistake(around("- x: {input: orders, key: key, aggregate: count, window: {tumbling-event-tme: 5 s}}")),
              HasSubstr("did you mean 'tumbling-event-time'?"));
  EXPECT_THAT(mistake(around("- x: {input: orders, exchange: hsah, sink: discard}")), HasSubstr("did you mean 'hash'?"));
  EXPECT_THAT(mistake("job:\n- a: {source: csv, path: p, columns: {x: strin}}"), HasSubstr("did you mean 'string'?"));
}

TEST(ScenarioFile, WrongTypesSayWhatIsExpected) {
  EXPECT_THAT(mistake(around("- x: {input: orders, sink: discard, parallelism: two}")),
              StartsWith("job.yaml:3:50: the parallelism is 'two', expected is a whole number from 1 to 32768"));
  EXPECT_THAT(mistake(around("- x: {input: orders, sink: discard, parallelism: 0}")), HasSubstr("from 1 to 32768"));
  EXPECT_THAT(mistake(around("- x: {input: [orders], sink: discard}")), HasSubstr("the input is a list, expected is text"));
  EXPECT_THAT(mistake(around("- x: discard")), HasSubstr("'x' is one value, expected is a mapping"));
  EXPECT_THAT(mistake("job: orders"), HasSubstr("job is one value, expected is a list of streams"));
  EXPECT_THAT(mistake("job:\n- orders: {source: generator, rate: fast}"),
              HasSubstr("the rate is 'fast', expected is a number of records a second"));
  EXPECT_THAT(mistake("job:\n- orders: {source: generator, keys: {hot: {share: 2}}}"),
              HasSubstr("expected is a number above 0 and up to 1"));
  EXPECT_THAT(mistake("job:\n- orders: {source: generator, keys: {zipf: 1, hot: {share: 0.5}}}"), HasSubstr("keys have one distribution"));
  EXPECT_THAT(mistake("config: {execution.checkpointing.interval: soon}\n" + around("")),
              AllOf(StartsWith("job.yaml:1:"), HasSubstr("execution.checkpointing.interval")));
}

TEST(ScenarioFile, WindowsHaveASizeAboveZeroAndAnOffsetBelowIt) {
  const auto window = [](const std::string& text) {
    return mistake(around("- x: {input: orders, key: key, aggregate: count, window: {" + text + "}}"));
  };
  EXPECT_THAT(window("tumbling-event-time: 0 s"), HasSubstr("the size of the window is 0"));
  EXPECT_THAT(window("tumbling-event-time: -5 s"), HasSubstr("the size of the window is '-5 s', and a length of time is not below 0"));
  EXPECT_THAT(window("tumbling-event-time: 5 s, offset: 5 s"), HasSubstr("the offset '5 s' is not shorter than the size of the window"));
  EXPECT_THAT(window("tumbling-event-time: 5 s, offset: -6 s"), HasSubstr("the offset '-6 s' is not shorter than the size"));
  EXPECT_THAT(window("sliding-event-time: {size: 10 s, slide: 0 s}"), HasSubstr("the slide of the window is 0"));
  EXPECT_THAT(window("sliding-event-time: {size: 10 s, slide: 2 s}, offset: 3 s"), HasSubstr("not shorter than the slide"));
  EXPECT_THAT(window("sliding-event-time: {size: 100 s, slide: 1 ms}"), HasSubstr("nothing reads 'x'")) << "as many as a row may be in";
  EXPECT_THAT(window("sliding-event-time: {size: 1 d, slide: 1 ms}"), HasSubstr("each row would go into 86400000 windows, 100000 are"));
  EXPECT_THAT(window("session-event-time: 0 s"), HasSubstr("the gap of the session is 0"));
  EXPECT_THAT(window("count: 0"), HasSubstr("the number of records of a count window is '0'"));
  EXPECT_THAT(window("tumbling-event-time: 5 s, count: 3"), HasSubstr("a window has one shape"));
  EXPECT_THAT(window("tumbling-processing-time: 5 s, allowed-lateness: 1 s"), HasSubstr("only event-time windows know lateness"));
  EXPECT_THAT(window("offset: 5 s"), HasSubstr("window needs a shape"));
  EXPECT_THAT(window("tumbling-event-time: soon"), HasSubstr("expected is a length of time such as"));
}

TEST(ScenarioFile, CommaInFrontIsNoEndlessRowOfDocuments) {
  EXPECT_EQ(mistake(",: a\n"), "job.yaml:1:1: this is no YAML: a document cannot begin with this");
  EXPECT_THAT(mistake("--- \n,\n"), HasSubstr("job.yaml:2:1: this is no YAML"));
}

TEST(ScenarioFile, NamesAreTakenOnce) {
  EXPECT_EQ(mistake(around("- orders: {input: orders, sink: discard}")), "job.yaml:3:3: the name 'orders' is taken: line 2 has it too");
  EXPECT_THAT(mistake(around("- x: {input: orders, input: orders, sink: discard}")), HasSubstr("the key 'input' is here twice"));
}

TEST(ScenarioFile, InputsAreThereAndWithoutCycles) {
  EXPECT_EQ(mistake(around("- x: {input: order, sink: discard}")),
            "job.yaml:3:14: 'x' reads 'order', and there is no such stream: did you mean 'orders'?");
  EXPECT_THAT(mistake(around("- x: {sink: discard}")), HasSubstr("'x' needs 'input'"));
  EXPECT_THAT(mistake(around("- x: {input: out, sink: discard}")), HasSubstr("'out', which is a sink and gives nothing"));
  EXPECT_THAT(mistake(around("- a: {input: b, filter: \"true\"}\n- b: {input: a, filter: \"true\"}", "b")),
              HasSubstr("a job has no cycles"));
  EXPECT_THAT(mistake(around("- a: {union: [orders, a]}", "a")), HasSubstr("a job has no cycles"));
  EXPECT_THAT(mistake(around("- a: {input: orders, filter: \"true\"}")), HasSubstr("nothing reads 'a'"));
}

TEST(ScenarioFile, AJobHasASourceASinkAndOneThingPerOperator) {
  EXPECT_THAT(mistake("job:\n- a: {source: generator}"), HasSubstr("job has no sink"));
  EXPECT_THAT(mistake("job: []"), HasSubstr("job has no streams"));
  EXPECT_THAT(mistake(around("- a: {input: orders, parallelism: 2}")), HasSubstr("'a' does nothing: it needs one of source, map, filter"));
  EXPECT_THAT(mistake(around("- a: {input: orders, sink: discard, filter: \"true\"}")), HasSubstr("an operator does one thing"));
}

TEST(ScenarioFile, WhatIsNoYamlNamesItsPlace) {
  EXPECT_THAT(mistake("job:\n- a: {source"), StartsWith("job.yaml:"));
  EXPECT_THAT(mistake("job: &a [*a]"), StartsWith("job.yaml:"));
  EXPECT_THAT(mistake(""), HasSubstr("the file is empty"));
  EXPECT_THAT(mistake("job: []\n---\njob: []"), HasSubstr("second document"));
  EXPECT_THAT(mistake("job: !!binary abc"), StartsWith("job.yaml:1:"));
}

}  // namespace
}  // namespace weir
