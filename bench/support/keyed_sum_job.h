#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "limits/keys.hpp"
#include "support/job.h"
#include "weir/operators/sinks.h"

namespace weir::bench {

/// What the limit calls a record.
struct KeyValue {
  std::string key;
  int64_t value = 0;
  WEIR_FIELDS(key, value)
};

/// The records that the source emits, over and over, and what their running sums add up to.
class KeyedInput {
 public:
  KeyedInput() {
    if (keys.empty()) make_keys(10'000, 1);
    for (const std::string& key : keys) values_.push_back({key, 1});
  }
  static int64_t period() { return static_cast<int64_t>(order.size()); }
  const KeyValue& at(int64_t index) const { return values_[order[static_cast<size_t>(index) & (order.size() - 1)]]; }
  /// Of `rounds` times the whole input: a key that comes n times emits 1 + 2 + ... + n.
  int64_t sumOfSums(int64_t rounds) const {
    std::vector<int64_t> count(values_.size(), 0);
    for (uint32_t index : order) count[index] += rounds;
    int64_t sum = 0;
    for (int64_t n : count) sum += n * (n + 1) / 2;
    return sum;
  }

 private:
  std::vector<KeyValue> values_;
};

/// A sink that forgets everything but the number and the sum of what it saw, and when.
class Discard {
 public:
  struct Seen {
    alignas(128) int64_t records = 0;
    int64_t sum = 0;
    uint64_t first = 0, last = 0;
    Signal complete{"complete"};
  };
  Discard(std::shared_ptr<Seen> seen, int64_t expected) : seen_(std::move(seen)), expected_(expected) {}
  std::unique_ptr<StreamOperator> operator()(OperatorSetup setup) const {
    return std::make_unique<BatchSinkOperator<KeyValue, Discard>>(std::move(setup), *this);
  }
  void invoke(std::span<StreamRecord<KeyValue>> records) {
    if (seen_->records == 0) seen_->first = now_ns();
    for (const auto& record : records) seen_->sum += record.value.value;
    seen_->records += static_cast<int64_t>(records.size());
    if (seen_->records < expected_) return;
    seen_->last = now_ns();
    seen_->complete.set();
  }

 private:
  std::shared_ptr<Seen> seen_;
  int64_t expected_;
};

enum class Shape { kTwoTasks, kTwoTaskManagers, kChained };

/// Runs `rounds` times the input through a running sum; M records/s from the first to the last record that the sink sees. Ends the process
/// if the sums are wrong.
inline double runKeyedSum(Jobs& jobs, const std::shared_ptr<const KeyedInput>& input, Shape shape, int64_t rounds,
                          const std::string& checkpointInterval, const std::function<void(StreamExecutionEnvironment&)>& also = nullptr) {
  const int64_t count = rounds * KeyedInput::period();
  auto seen = std::make_shared<Discard::Seen>();
  StreamExecutionEnvironment env;
  env.setParallelism(1);
  if (!checkpointInterval.empty()) env.configure("execution.checkpointing.interval", checkpointInterval);
  if (also) also(env);
  auto source = env.fromGenerator(count, [input](int64_t index) -> const KeyValue& { return input->at(index); });
  auto keyed = shape == Shape::kChained ? reinterpretAsKeyedStream(source, &KeyValue::key) : source.keyBy(&KeyValue::key);
  auto sums = keyed.sum(&KeyValue::value);
  if (shape == Shape::kTwoTaskManagers) sums.slotSharingGroup("sums");  // a slot of its own
  sums.sinkTo("Discard", Batching::kBatches, Discard(seen, count));
  jobs.run(env, [&](ExecutionContext& context, MiniCluster&, JobMaster& master) {
    context.wait(WaitReason::kInputOrMail, {&seen->complete, &master.done()});
  });
  if (seen->records != count || seen->sum != input->sumOfSums(rounds)) Jobs::exitWith("the sums are wrong");
  return static_cast<double>(count) / static_cast<double>(seen->last - seen->first) * 1e3;
}

}  // namespace weir::bench
