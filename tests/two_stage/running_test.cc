#include "two_stage/two_stage_job.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
const auto kSum = on(&Order::amount, Sum<int64_t>());
constexpr int64_t kCount = 6000;
using Options = TwoStageOptions<std::string>;

std::map<std::string, int64_t> sums(const Options& options, std::vector<int64_t> failAt = {}, uint64_t seed = 1) {
  TwoStageJob job(seed);
  job.checkpointEvery("10 ms");
  const auto results = collect<std::pair<std::string, int64_t>>(
      job.orders(kCount, hotOrder, std::move(failAt)).keyBy(&Order::key).aggregate(kSum).twoStage(options));
  EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
  return results.last();
}

TEST(TwoStage, GivesTheResultsOfOneStage) {
  TwoStageJob job;
  const auto oneStage = collect<std::pair<std::string, int64_t>>(job.orders(kCount, hotOrder).keyBy(&Order::key).aggregate(kSum));
  ASSERT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
  EXPECT_EQ(oneStage.count(), static_cast<size_t>(kCount)) << "a result per record";
  EXPECT_EQ(oneStage.last(), oracle(kSum, kCount, hotOrder));
  EXPECT_EQ(sums({.salts = 8}), oneStage.last());
}

TEST(TwoStage, StageOneCanRunAtTheProducers) { EXPECT_EQ(sums({.salts = 0}), oracle(kSum, kCount, hotOrder)); }

TEST(TwoStage, OnlyListedKeysAreSalted) { EXPECT_EQ(sums({.salts = 8, .hotKeys = {"hot"}}), oracle(kSum, kCount, hotOrder)); }

TEST(TwoStage, HotKeysAreFoundAtRunTime) {
  EXPECT_EQ(sums({.salts = 16, .detect = HotKeyDetection{.share = 0.2, .warmUp = 50}}), oracle(kSum, kCount, hotOrder));
  EXPECT_EQ(sums({.salts = 16, .detect = HotKeyDetection{.share = 0.2, .warmUp = 50}, .adaptive = true}), oracle(kSum, kCount, hotOrder));
}

TEST(TwoStage, FailuresChangeNoResult) {
  for (uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_EQ(sums({.salts = 4, .flush = {.records = 100}}, {1000, 3000, 5500}, seed), oracle(kSum, kCount, hotOrder)) << "seed " << seed;
}

TEST(TwoStage, FlushesByCountByTimeAndAtTheEnd) {
  const auto results = [](FlushPolicy flush) {
    TwoStageJob job(1, 1);
    const auto all = collect<std::pair<std::string, int64_t>>(job.orders(1000, [](int64_t) { return Order{.key = "k", .amount = 1}; })
                                                                  .keyBy(&Order::key)
                                                                  .aggregate(kSum)
                                                                  .twoStage({.salts = 1, .flush = flush}));
    EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
    EXPECT_EQ(all.last().at("k"), 1000);
    return all.count();
  };
  EXPECT_EQ(results({.records = 0, .interval = Millis(0)}), 1U) << "at the end";
  EXPECT_LE(results({.records = 100, .interval = Millis(0)}), 10U);
  EXPECT_GE(results({.records = 100, .interval = Millis(0)}), 6U) << "batches of up to 64 records may pass the limit";
  const size_t byTime = results({.records = 0, .interval = Millis(10)});  // 1000 records take 50 ms
  EXPECT_GE(byTime, 3U);
  EXPECT_LE(byTime, 7U);
}

TEST(TwoStage, StagesAreNamedAfterTheWhole) {
  StreamExecutionEnvironment env;
  env.fromCollection(std::vector<Order>{{}}).keyBy(&Order::key).aggregate(kSum).twoStage({}).uid("sums-of-amounts").name("sums").print();
  const auto graph = env.getJobGraph("job");
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  std::vector<std::string> names;
  for (const JobVertex& vertex : (*graph)->vertices())
    for (const auto& op : vertex.operators) names.push_back(op.name);
  EXPECT_THAT(names, ::testing::ElementsAre("Source: Collection Source", "Salt", "sums", "sums-global", "Sink: Print to Std. Out"));
}

TEST(TwoStage, OrderSensitiveFunctionsAreWarnedOf) {
  TwoStageJob job;
  collect<std::pair<std::string, int64_t>>(
      job.orders(10, hotOrder).keyBy(&Order::key).aggregate(on(&Order::amount, First<int64_t>())).twoStage({}));
  EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
  EXPECT_EQ(job.runner.log().count("aggregates in two stages what hangs on the order of its records"), 1U);
}

TEST(TwoStage, MistakesInItsOptionsAreOneSentence) {
  const auto mistake = [](Options options) {
    StreamExecutionEnvironment env;
    env.fromCollection(std::vector<Order>{{}}).keyBy(&Order::key).aggregate(kSum).twoStage(std::move(options)).print();
    const auto graph = env.getJobGraph("job");
    return graph.has_error() ? graph.error().message : "none";
  };
  EXPECT_EQ(mistake({}), "none");
  EXPECT_THAT(mistake({.salts = -1}), HasSubstr("salts -1 is below 0"));
  EXPECT_THAT(mistake({.flush = {.records = -1}}), HasSubstr("a flush policy below 0"));
  EXPECT_THAT(mistake({.detect = HotKeyDetection{.share = 2}}), HasSubstr("not between 0 and 1"));
}

TEST(TwoStage, IsSaidBeforeTheStreamIsUsed) {
  StreamExecutionEnvironment env;
  auto aggregated = env.fromCollection(std::vector<Order>{{}}).keyBy(&Order::key).aggregate(kSum);
  aggregated.print();
  EXPECT_THROW(aggregated.twoStage({}), std::logic_error);
}

}  // namespace
}  // namespace weir
