#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/job_runner.h"
#include "weir/aggregate/collections.h"
#include "weir/aggregate/distinct.h"
#include "weir/aggregate/percentile.h"
#include "weir/api/aggregated_stream.h"
#include "weir/api/naive_two_stage.h"
#include "weir/operators/transactional_collect_sink.h"

namespace weir {

/// What the jobs of these tests aggregate.
struct Order {
  int64_t number = 0;  ///< from 0
  std::string key;
  int64_t amount = 0;
  double price = 0;
  WEIR_FIELDS(number, key, amount, price)
};

/// Whole jobs under simulation: one thread, virtual time, the same from the same seed.
struct TwoStageJob {
  explicit TwoStageJob(uint64_t seed = 1, int32_t parallelism = 3) : runner(JobRunner::simulated(seed)) {
    runner.cluster.segmentSize = 512;
    env.setParallelism(parallelism)
        .configure("restart-strategy.type", "fixed-delay")
        .configure("restart-strategy.fixed-delay.attempts", "20")
        .configure("restart-strategy.fixed-delay.delay", "1 ms");
  }
  void checkpointEvery(const std::string& interval) { env.configure("execution.checkpointing.interval", interval); }

  /// `make(number)`; a subtask fails when it meets one of these numbers for the first time.
  template <class Make>
  DataStream<Order> orders(int64_t count, Make make, std::vector<int64_t> failAt = {}) {
    auto left = std::make_shared<std::vector<int64_t>>(std::move(failAt));
    return env
        .fromGenerator(
            count,
            [make](int64_t number) {
              Order order = make(number);
              order.number = number;
              return order;
            },
            20'000)
        .map([left](const Order& order) {
          if (const auto found = std::find(left->begin(), left->end(), order.number); found != left->end()) {
            left->erase(found);
            throw std::runtime_error("broken on purpose");
          }
          return order;
        });
  }
  JobResult run() { return result = runner.run(env); }
  std::string failure() const { return result.failure ? result.failure->trace() : ""; }

  JobRunner runner;
  StreamExecutionEnvironment env;
  JobResult result;
};

/// What a job has committed: exactly once, each key's results in order.
template <class R>
struct Results {
  std::shared_ptr<TransactionalCollectResult<R>> store = std::make_shared<TransactionalCollectResult<R>>();
  /// The sink has the parallelism of the stream, so that the results of a key stay in order.
  void attach(DataStream<R> stream) {
    const int32_t parallelism = stream.program()->graph.node(stream.origins().front().node).parallelism;
    stream.sinkTo("results", Batching::kBatches, TransactionalCollectSink<R>(store).ignoreEarlierRuns())
        .name("results")
        .uid("results")
        .setParallelism(parallelism);
  }
  /// The last result of each key.
  auto last() const {
    std::map<typename R::first_type, typename R::second_type> all;
    for (const R& result : store->values()) all[result.first] = result.second;
    return all;
  }
  size_t count() const { return store->values().size(); }
};
template <class R>
Results<R> collect(DataStream<R> stream) {
  Results<R> results;
  results.attach(std::move(stream));
  return results;
}

/// The right answer, without a job.
template <AggregateFunction F, class Make>
auto oracle(const F& f, int64_t count, Make make) {
  std::map<std::string, typename F::Acc> accumulators;
  for (int64_t i = 0; i < count; ++i) {
    Order order = make(i);
    order.number = i;
    f.add(accumulators.try_emplace(order.key, f.createAccumulator()).first->second, order);
  }
  std::map<std::string, typename F::Out> results;
  for (const auto& [key, accumulator] : accumulators) results.emplace(key, f.getResult(accumulator));
  return results;
}

/// 60 % of the records have the key "hot".
inline Order hotOrder(int64_t number) {
  const auto mixed = static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15 >> 40;
  return {number, mixed % 10 < 6 ? "hot" : "key-" + std::to_string(mixed % 37), static_cast<int64_t>(mixed % 101) - 20,
          static_cast<double>(mixed % 1000) / 7};
}

}  // namespace weir
