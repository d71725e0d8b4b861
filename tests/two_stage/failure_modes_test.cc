// What users of Flink have met when they split hot keys: one test per failure mode, with its cure.
#include "two_stage/two_stage_job.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
template <class Out>
using Keyed = std::pair<std::string, Out>;

/// 1001 records of one key; with two salts in turn, the 101 comes alone behind a thousand times 1.
Order thousandOnesAndOne101(int64_t number) { return {number, "k", 0, number == 1 ? 101.0 : 1.0}; }

TEST(FailureMode, SaltedAverage) {
  // The value 101 in one salt, a thousand ones in the other: the naive form asks for the salt by hand.
  const auto salt = [](const Order& order) { return order.price > 50 ? "1|k" : "0|k"; };
  TwoStageJob naive(1, 1);
  auto partial = naive.orders(1001, thousandOnesAndOne101).keyBy([salt](const Order& order) { return std::string(salt(order)); });
  const auto partials = collect<Keyed<double>>(partial.aggregate(on(&Order::price, Avg<double>())));
  ASSERT_EQ(naive.run().status, JobStatus::kFinished) << naive.failure();
  std::vector<double> averages;
  for (const auto& [key, average] : partials.last()) averages.push_back(average);
  EXPECT_EQ(aggregateAll(Avg<double>(), averages), 51.0);

  TwoStageJob right(1, 2);
  const auto results = collect<Keyed<double>>(
      right.orders(1001, thousandOnesAndOne101).keyBy(&Order::key).aggregate(on(&Order::price, Avg<double>())).twoStage({.salts = 2}));
  ASSERT_EQ(right.run().status, JobStatus::kFinished) << right.failure();
  EXPECT_DOUBLE_EQ(results.last().at("k"), 1101.0 / 1001);
}

TEST(FailureMode, AvgIntermediateType) {
  // Salts that hold 1, 10 and 1000 values: the average of their averages is (100 + 10 + 1) / 3.
  const auto make = [](int64_t number) {
    return Order{number, number == 0 ? "0|k" : number <= 10 ? "1|k" : "2|k", 0, number == 0 ? 100.0 : number <= 10 ? 10.0 : 1.0};
  };
  TwoStageJob naive(1, 1);
  const auto partials =
      collect<Keyed<double>>(naive.orders(1011, make).keyBy(&Order::key).aggregate(on(&Order::price, Avg<double, CompensatedSum>())));
  ASSERT_EQ(naive.run().status, JobStatus::kFinished) << naive.failure();
  std::vector<double> averages;
  for (const auto& [key, average] : partials.last()) averages.push_back(average);
  EXPECT_DOUBLE_EQ(aggregateAll(Avg<double>(), averages), 37.0);

  // What two stages ship has another type than the result; an empty part counts as nothing.
  const auto average = on(&Order::price, Avg<double, CompensatedSum>());
  static_assert(!std::same_as<decltype(average)::Acc, decltype(average)::Out>);
  auto whole = average.createAccumulator();
  for (int64_t i = 0; i < 1011; ++i) {
    auto part = average.createAccumulator();
    if (i % 2 == 0) average.merge(whole, part);
    average.add(part, make(i));
    average.merge(whole, part);
  }
  EXPECT_DOUBLE_EQ(average.getResult(whole), 1200.0 / 1011);
}

TEST(FailureMode, SaltedOrderedCollection) {
  const auto make = [](int64_t number) { return Order{number, "k"}; };
  const auto collected = on(&Order::number, Collect<int64_t>());
  std::vector<int64_t> inOrder(400);
  for (size_t i = 0; i < inOrder.size(); ++i) inOrder[i] = static_cast<int64_t>(i);
  int differs = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    // One source subtask: one channel, whose order a single stage keeps.
    TwoStageJob oneStage(seed, 1);
    const auto list = collect<Keyed<std::vector<int64_t>>>(
        oneStage.orders(400, make).keyBy(&Order::key).aggregate(collected).setParallelism(3));
    ASSERT_EQ(oneStage.run().status, JobStatus::kFinished) << oneStage.failure();
    EXPECT_EQ(list.last().at("k"), inOrder) << "seed " << seed;

    TwoStageJob twoStages(seed, 1);
    const auto split = collect<Keyed<std::vector<int64_t>>>(twoStages.orders(400, make)
                                                                .keyBy(&Order::key)
                                                                .aggregate(collected)
                                                                .twoStage({.salts = 4, .flush = {.records = 64}})
                                                                .setParallelism(3));
    ASSERT_EQ(twoStages.run().status, JobStatus::kFinished) << twoStages.failure();
    auto values = split.last().at("k");
    differs += values != inOrder;
    std::sort(values.begin(), values.end());
    EXPECT_EQ(values, inOrder) << "seed " << seed;
    EXPECT_EQ(twoStages.runner.log().count("hangs on the order of its records"), 1U) << "and it is said";
  }
  EXPECT_GE(differs, 4);
}

TEST(FailureMode, SaltedKeyLeaks) {
  const auto leaked = [](const NaiveTwoStageOptions& options) {
    TwoStageJob job;
    const auto results = collect<Keyed<int64_t>>(
        naiveTwoStage(job.orders(500, hotOrder), &Order::key, on(&Order::amount, Sum<int64_t>()), Sum<int64_t>(), options));
    EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
    int salted = 0;
    for (const auto& [key, sum] : results.last()) salted += key.find('|') != std::string::npos;
    return salted;
  };
  EXPECT_GT(leaked({.takesSaltOutAgain = false}), 4) << "the sink sees salted keys";
  EXPECT_EQ(leaked({}), 0);

  // A key with a bar of its own loses what stands before it, if it ever comes unsalted; a salt in a field of its own cannot be confused.
  EXPECT_EQ(unsaltedText("a|b"), "b");
  TwoStageJob job;
  const auto results = collect<Keyed<int64_t>>(job.orders(100, [](int64_t number) { return Order{number, "a|b", 1}; })
                                                   .keyBy(&Order::key)
                                                   .aggregate(on(&Order::amount, Sum<int64_t>()))
                                                   .twoStage({.salts = 5}));
  ASSERT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
  EXPECT_EQ(results.last(), (std::map<std::string, int64_t>{{"a|b", 100}}));
}

TEST(FailureMode, LocalMergeBuffer) {
  constexpr int64_t kCount = 5000;
  constexpr int32_t kProducers = 3;
  const auto sum = on(&Order::amount, Sum<int64_t>());
  // Stage one at the producers; the hot key crosses the exchange once per flush and producer.
  TwoStageJob job(1, kProducers);
  const auto results = collect<Keyed<int64_t>>(job.orders(kCount, hotOrder).keyBy(&Order::key).aggregate(sum).twoStage(
      {.salts = 0, .flush = {.records = 500, .interval = Millis(0)}}));
  ASSERT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
  EXPECT_EQ(results.last(), oracle(sum, kCount, hotOrder));
  int64_t hot = 0;
  for (const auto& [key, result] : results.store->values()) hot += key == "hot";
  const int64_t flushesOfEach = kCount / kProducers / 500 + 1;
  EXPECT_LE(hot, flushesOfEach * kProducers);

  // A buffer that is not emptied before the barrier is in no checkpoint: after a restore the counts have drifted.
  const auto naive = [&](bool flushesAtBarrier) {
    TwoStageJob failing;
    failing.checkpointEvery("10 ms");
    const auto sums = collect<Keyed<int64_t>>(naiveTwoStage(failing.orders(kCount, hotOrder, {2500}), &Order::key, sum, Sum<int64_t>(),
                                                            {.flush = {.records = 1000}, .flushesAtBarrier = flushesAtBarrier}));
    EXPECT_EQ(failing.run().status, JobStatus::kFinished) << failing.failure();
    return sums.last();
  };
  EXPECT_NE(naive(false), oracle(sum, kCount, hotOrder));
  EXPECT_EQ(naive(true), oracle(sum, kCount, hotOrder));
}

TEST(FailureMode, HashTwoPhaseWithoutLocalState) {
  // A local phase across many barriers and failures: it ships differences and holds nothing when a barrier passes.
  constexpr int64_t kCount = 20'000;
  const auto sum = on(&Order::amount, Sum<int64_t>());
  for (int32_t salts : {0, 8}) {
    TwoStageJob job;
    job.checkpointEvery("10 ms");
    const auto results = collect<Keyed<int64_t>>(
        job.orders(kCount, hotOrder, {3000, 7000, 7001, 15'000}).keyBy(&Order::key).aggregate(sum).twoStage({.salts = salts}));
    ASSERT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
    EXPECT_EQ(results.last(), oracle(sum, kCount, hotOrder)) << salts << " salts";
    EXPECT_GE(job.runner.log().count("Completed checkpoint"), 20U);
  }
}

TEST(FailureMode, DeltaVsTotal) {
  const auto one = [](int64_t number) { return Order{number, "k", 1}; };
  const auto naive = [&](bool totals) {
    TwoStageJob job(1, 1);
    const auto sums = collect<Keyed<int64_t>>(naiveTwoStage(job.orders(1000, one), &Order::key, on(&Order::amount, Sum<int64_t>()),
                                                            Sum<int64_t>(), {.salts = 1, .flush = {.records = 100}, .totals = totals}));
    EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
    return sums.last().at("k");
  };
  EXPECT_EQ(naive(false), 1000);
  EXPECT_GT(naive(true), 4000) << "grows with the square of the number of flushes";
  // Max does not mind totals; a sum, a count does. What two stages ship is always a difference.
  EXPECT_FALSE(MergeableAggregate<ExponentialAverage>) << "what cannot be split is refused by the compiler: see tests/compile_fail";
}

TEST(FailureMode, DistinctMergeWrong) {
  // 40 users, each of whom is seen by every salt.
  const auto make = [](int64_t number) { return Order{number, "k", number / 4 % 40}; };
  const auto distinct = on(&Order::amount, DistinctExact<int64_t>());
  TwoStageJob naive(1, 1);
  const auto added = collect<Keyed<int64_t>>(
      naiveTwoStage(naive.orders(600, make), &Order::key, distinct, Sum<int64_t>(), {.salts = 4, .flush = {.records = 0}}));
  ASSERT_EQ(naive.run().status, JobStatus::kFinished) << naive.failure();
  EXPECT_EQ(added.last().at("k"), 160) << "added counts count a user once per salt";
  TwoStageJob right;
  const auto united = collect<Keyed<int64_t>>(right.orders(600, make).keyBy(&Order::key).aggregate(distinct).twoStage({.salts = 4}));
  ASSERT_EQ(right.run().status, JobStatus::kFinished) << right.failure();
  EXPECT_EQ(united.last().at("k"), 40);
}

TEST(FailureMode, LocalGlobalUselessForDistinct) {
  // Almost every record is a new user: accumulators hold almost all of them, so that two stages ship what one stage would.
  constexpr int64_t kCount = 4000, kUsers = 3600, kBuckets = 1024;
  constexpr int32_t kSubtasks = 8;
  const auto make = [](int64_t number) { return Order{number, "day", (number * 7919) % kUsers}; };
  const auto distinct = on(&Order::amount, DistinctExact<int64_t>());
  TwoStageJob twoStages;
  const auto united = collect<Keyed<int64_t>>(twoStages.orders(kCount, make).keyBy(&Order::key).aggregate(distinct).twoStage({.salts = 8}));
  ASSERT_EQ(twoStages.run().status, JobStatus::kFinished) << twoStages.failure();
  EXPECT_EQ(united.last().at("day"), kUsers) << "right, and of no use";
  auto accumulator = distinct.createAccumulator();
  for (int64_t i = 0; i < kCount; ++i) distinct.add(accumulator, make(i));
  EXPECT_GE(Serializer<decltype(accumulator)>::maxSize(accumulator), kUsers * sizeof(int64_t)) << "what stage one ships";

  // A salt that is a function of the user: each is counted in one place, so that counts add up.
  using Bucket = std::pair<std::string, int64_t>;
  const auto bucketOf = [](const Order& order) { return Bucket{order.key, murmurHash(javaHash(order.amount)) % kBuckets}; };
  TwoStageJob split;
  const auto counts = collect<std::pair<Bucket, int64_t>>(split.orders(kCount, make).keyBy(bucketOf).aggregate(distinct));
  ASSERT_EQ(split.run().status, JobStatus::kFinished) << split.failure();
  int64_t sum = 0;
  for (const auto& [bucket, count] : counts.last()) sum += count;
  EXPECT_EQ(sum, kUsers);
  std::vector<int64_t> load(kSubtasks);
  for (int64_t i = 0; i < kCount; ++i) ++load[static_cast<size_t>(assignKeyToParallelOperator(bucketOf(make(i)), kSubtasks, 128))];
  EXPECT_LE(*std::max_element(load.begin(), load.end()), kCount * 16 / 100) << "plain: all records of the day on one subtask";
}

/// A selector that draws.
struct Drawn {
  std::shared_ptr<Random> random = std::make_shared<Random>(3);
  int64_t operator()(const Order&) const { return random->between(0, 9999); }
};

TEST(FailureMode, RandomKeySelector) {
  // The selector runs again behind the exchange and draws another key, which belongs to another subtask.
  TwoStageJob job(1, 4);
  job.env.configure("restart-strategy.type", "none");
  collect<std::pair<int64_t, int64_t>>(job.orders(100, hotOrder).keyBy(Drawn()).aggregate(Count<Order>()));
  ASSERT_EQ(job.run().status, JobStatus::kFailed);
  EXPECT_THAT(job.failure(), HasSubstr("Key group")) << "named at the first access";

  // The salt belongs into the record, before keyBy.
  TwoStageJob right(1, 4);
  const auto counts =
      collect<std::pair<std::string, int64_t>>(right.orders(100, hotOrder).keyBy(&Order::key).aggregate(Count<Order>()).twoStage({}));
  ASSERT_EQ(right.run().status, JobStatus::kFinished) << right.failure();
  EXPECT_EQ(counts.last(), oracle(Count<Order>(), 100, hotOrder));
}

TEST(FailureMode, RandomForNullKeys) {
  // One record in twenty has no key, and gets one that is drawn each time it is asked for.
  const auto make = [](int64_t number) { return Order{number, number % 20 == 7 ? "" : "key-" + std::to_string(number % 50), 1}; };
  const auto keyOrDrawn = [drawn = Drawn()](const Order& order) { return order.key.empty() ? std::to_string(drawn(order)) : order.key; };
  TwoStageJob job(1, 4);
  job.checkpointEvery("1 h");
  job.env.configure("restart-strategy.type", "none");
  collect<Keyed<int64_t>>(job.orders(2000, make).keyBy(keyOrDrawn).aggregate(Count<Order>()));
  ASSERT_EQ(job.run().status, JobStatus::kFailed);
  EXPECT_THAT(job.failure(), HasSubstr("Key group"));
  EXPECT_EQ(job.runner.log().count("Completed checkpoint"), 0U) << "not only when state is written";
}

}  // namespace
}  // namespace weir
