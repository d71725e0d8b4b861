#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/record.h"
#include "sim/scenario.h"
#include "weir/exchange/key_groups.h"
#include "weir/operators/keyed.h"

namespace weir::sim {

constexpr int32_t kKeys = 17;

// What the operators compute, for the job and for the oracle alike. ----------------------------------------------------------------

inline Rec sourceRecord(int32_t node, int64_t index, int32_t splits) {
  const uint64_t h = mix(static_cast<uint64_t>(node) + 1, static_cast<uint64_t>(index));
  Rec rec;
  rec.source = node;
  rec.split = static_cast<int32_t>(index % splits);
  rec.index = index;
  rec.key = static_cast<int32_t>(h % kKeys);
  rec.value = static_cast<int64_t>(h >> 16 & 0xffff) - 1000;
  rec.payload = payloadOf(h, h >> 40 & 7 ? h >> 44 & 15 : 60 + (h >> 44 & 255));
  rec.uncount();
  rec.seal();
  return rec;
}
/// Every operator leaves its mark. `variant` tells copies and inputs apart.
inline Rec marked(const Rec& in, int32_t node, int64_t variant = 0) {
  Rec out = in;
  out.path = static_cast<int64_t>(mix(static_cast<uint64_t>(in.path), static_cast<uint64_t>(node * 8 + variant)));
  out.uncount();
  out.seal();
  return out;
}
/// The time until which it was held back, or the window that it was in, is in its mark too.
inline Rec heldBack(const Rec& in, int32_t node, int64_t variant, int64_t until) {
  Rec out = marked(in, node, variant);
  out.path = static_cast<int64_t>(mix(static_cast<uint64_t>(out.path), static_cast<uint64_t>(until)));
  out.seal();
  return out;
}
inline Rec rekeyed(const Rec& in, int32_t node) {
  Rec out = marked(in, node);
  out.key = static_cast<int32_t>(mix(static_cast<uint64_t>(in.key), static_cast<uint64_t>(node)) % kKeys);
  out.seal();
  return out;
}
inline bool passes(const Rec& in, int32_t node) { return mix(in.identity(), static_cast<uint64_t>(node)) % 4 != 0; }
inline std::vector<Rec> expanded(const Rec& in, int32_t node) {
  std::vector<Rec> all;
  const uint64_t h = mix(in.identity(), static_cast<uint64_t>(node));
  for (uint64_t copy = 0; copy < h % 4; ++copy) {
    Rec out = marked(in, node, static_cast<int64_t>(copy));
    out.payload = payloadOf(h, h >> 8 & 3 ? h >> 12 & 31 : 100 + (h >> 12 & 511));
    out.seal();
    all.push_back(std::move(out));
  }
  return all;
}

// What a run tells the test. --------------------------------------------------------------------------------------------------------

/// State that an operator ends with.
struct FinalState {
  int64_t count = 0;
  std::map<int32_t, int64_t> entries;
};

/// Outlives the attempts of a run. One thread: everything is simulated.
struct Journal {
  explicit Journal(const Scenario& s) : scenario(s) {}
  const Scenario& scenario;
  size_t incarnation = 0;
  size_t begunBy = 0;  ///< the run that started without a checkpoint: it made the splits of the sources
  std::map<std::pair<int32_t, int32_t>, FinalState> finals;  ///< by node and subtask; the latest report counts
  /// A subtask that has finished leaves no state: where it is started again, it ends without any.
  bool finalsAreWhole = true;
  std::map<int64_t, int64_t> impliedBy;  ///< the completed checkpoint that the abort of another one told the tasks of
  std::vector<std::string> complaints;
  std::function<void(const std::string&)> note;  ///< for the story; empty where nobody asked for it

  void report(int32_t node, int32_t subtask, FinalState state) { finals[{node, subtask}] = std::move(state); }
  void complain(std::string what) {
    if (complaints.size() < 20) complaints.push_back(std::move(what));
  }
  /// User code has come to `spot`.
  void pass(Spot spot) {
    const int64_t call = ++calls_[static_cast<size_t>(spot)];
    for (const Bomb& bomb : scenario.bombs)
      if (bomb.spot == spot && bomb.call == call) throw Throwable("java.lang.RuntimeException", fmt::format("thrown at call {}", call));
  }

 private:
  int64_t calls_[6] = {};
};

/// What all functions of simulated jobs have in common: they look at each record, may fail, and watch what checkpoints tell them.
class Part {
 public:
  Part(std::shared_ptr<Journal> journal, int32_t node) : journal_(std::move(journal)), node_(node) {}

  void open(RuntimeContext& runtime) {
    subtask_ = runtime.indexOfThisSubtask();
    parallelism_ = runtime.numberOfParallelSubtasks();
    maxParallelism_ = runtime.maxNumberOfParallelSubtasks();
    name_ = runtime.taskNameWithSubtasks();
    if (!journal_->finals.empty()) journal_->finalsAreWhole = false;
    journal_->pass(Spot::kOpen);
  }
  void snapshotState(int64_t id) {
    if (id <= snapshot_) complain(fmt::format("snapshot {} after {}", id, snapshot_));
    snapshot_ = id;
    journal_->pass(Spot::kSnapshot);
  }
  void notifyCheckpointComplete(int64_t id) {
    if (id <= completed_) complain(fmt::format("completion of {} after that of {}", id, completed_));
    completed_ = id;
    journal_->pass(Spot::kComplete);
  }
  void notifyCheckpointAborted(int64_t id) {
    const auto implied = journal_->impliedBy.find(id);
    if (implied != journal_->impliedBy.end() && implied->second > 0 && completed_ < implied->second)
      complain(fmt::format("the abort of {} named the completed checkpoint {}, and this part was told of {} only", id, implied->second,
                           completed_));
  }
  void finish() { journal_->pass(Spot::kFinish); }

 protected:
  void look(const Rec& rec) {
    if (rec.checksum != rec.expectedChecksum()) complain("a damaged record: " + rec.text());
    journal_->pass(Spot::kRecord);
  }
  void complain(const std::string& what) { journal_->complain(fmt::format("{} of node {}: {}", name_, node_, what)); }
  void report(FinalState state) { journal_->report(node_, subtask_, std::move(state)); }

  std::shared_ptr<Journal> journal_;
  int32_t node_;
  int32_t subtask_ = 0, parallelism_ = 1, maxParallelism_ = 1;

 private:
  std::string name_;
  int64_t snapshot_ = -1, completed_ = -1;
};

struct MapFunction : Part {
  using Part::Part;
  Rec operator()(const Rec& rec) {
    look(rec);
    return marked(rec, node_);
  }
};
struct RekeyFunction : Part {
  using Part::Part;
  Rec operator()(const Rec& rec) {
    look(rec);
    return rekeyed(rec, node_);
  }
};
struct FilterFunction : Part {
  using Part::Part;
  bool operator()(const Rec& rec) {
    look(rec);
    return passes(rec, node_);
  }
};
/// Behind a broadcast edge: of all copies of a record one goes on.
struct MineFunction : Part {
  using Part::Part;
  bool operator()(const Rec& rec) {
    look(rec);
    return static_cast<int32_t>(mix(rec.identity(), 77) % static_cast<uint64_t>(parallelism_)) == subtask_;
  }
};
struct FlatMapFunction : Part {
  using Part::Part;
  void operator()(const Rec& rec, Collector<Rec>& out) {
    look(rec);
    for (Rec& each : expanded(rec, node_)) out.collect(std::move(each));
  }
};

/// Counts what it sees in operator state: a list that is cut when the job is rescaled, or one that everybody gets.
struct CounterFunction : Part {
  CounterFunction(std::shared_ptr<Journal> journal, int32_t node, bool isUnion) : Part(std::move(journal), node), union_(isUnion) {}

  void initializeState(FunctionInitializationContext& context) {
    counts_ =
        stateOrThrow(union_ ? context.operatorState.unionListState<Count>("counts") : context.operatorState.listState<Count>("counts"));
  }
  void open(RuntimeContext& runtime) {
    Part::open(runtime);
    if (!union_) return;
    int64_t mine = 0;
    for (const auto& [origin, count] : counts_->elements())
      if (origin % parallelism_ == subtask_) mine += count;
    counts_->elements().assign(1, {subtask_, mine});
  }
  void processElement(const Rec& rec, ProcessContext&, Collector<Rec>& out) {
    look(rec);
    if (counts_->elements().empty()) counts_->elements().emplace_back(subtask_, 0);
    ++counts_->elements().back().second;
    out.collect(marked(rec, node_));
  }
  void finish() {
    FinalState final;
    for (const auto& [origin, count] : counts_->elements()) final.count += count;
    report(std::move(final));
    Part::finish();
  }

 private:
  using Count = std::pair<int32_t, int64_t>;
  bool union_;
  OperatorListState<Count>* counts_ = nullptr;
};

using Tally = std::pair<int64_t, int64_t>;  ///< count and sum

/// Checks that it gets its own keys only, and numbers the records of each.
class KeyedPart : public Part {
 public:
  using Part::Part;

 protected:
  Rec counted(const Rec& rec, const Tally& tally, int64_t variant = 0) { return numbered(marked(rec, node_, variant), tally); }
  /// For one that has its mark already.
  Rec numbered(Rec out, const Tally& tally) {
    if (assignKeyToParallelOperator(out.key, parallelism_, maxParallelism_) != subtask_) complain("not its key: " + out.text());
    out.count = tally.first;
    out.sum = tally.second;
    out.seal();
    return out;
  }
};

struct KeyedSumFunction : KeyedPart {
  using KeyedPart::KeyedPart;
  void open(KeyedRuntimeContext<int32_t>& runtime) {
    Part::open(runtime);
    tally_.emplace(runtime.state(ValueStateDescriptor<Tally>{.name = "tally"}));
  }
  void processElement(const Rec& rec, KeyedProcessContext<int32_t>&, Collector<Rec>& out) {
    look(rec);
    Tally& tally = tally_->slot();
    ++tally.first;
    tally.second += rec.value;
    out.collect(counted(rec, tally));
  }

 private:
  std::optional<ValueState<Tally>> tally_;
};

/// Two inputs, one state: a map by input.
struct KeyedConnectFunction : KeyedPart {
  using KeyedPart::KeyedPart;
  void open(KeyedRuntimeContext<int32_t>& runtime) {
    Part::open(runtime);
    tallies_.emplace(runtime.state(MapStateDescriptor<int32_t, Tally>{.name = "tallies"}));
  }
  void processElement1(const Rec& rec, KeyedProcessContext<int32_t>&, Collector<Rec>& out) { process(rec, 1, out); }
  void processElement2(const Rec& rec, KeyedProcessContext<int32_t>&, Collector<Rec>& out) { process(rec, 2, out); }

 private:
  void process(const Rec& rec, int32_t input, Collector<Rec>& out) {
    look(rec);
    Tally& tally = tallies_->slot(input);
    ++tally.first;
    tally.second += rec.value;
    Tally all{0, 0};
    for (const auto& [which, each] : tallies_->entries()) {
      all.first += each.first;
      all.second += each.second;
    }
    out.collect(counted(rec, all, input));
  }
  std::optional<MapState<int32_t, Tally>> tallies_;
};

/// The built-in reduction: `all` becomes `one`, counted.
struct ReduceFunction {
  void operator()(Rec& all, const Rec& one) const {
    Rec next = one;
    next.count = all.count + 1;
    next.sum = all.sum + one.value;
    next.seal();
    all = std::move(next);
  }
};

struct ConnectFunction : Part {
  using Part::Part;
  void processElement1(const Rec& rec, ProcessContext&, Collector<Rec>& out) { process(rec, 1, out); }
  void processElement2(const Rec& rec, ProcessContext&, Collector<Rec>& out) { process(rec, 2, out); }

 private:
  void process(const Rec& rec, int64_t input, Collector<Rec>& out) {
    look(rec);
    out.collect(marked(rec, node_, input));
  }
};

struct BroadcastStateFunction : Part {
  using Part::Part;
  void initializeState(FunctionInitializationContext& context) {
    rules_ = stateOrThrow(context.operatorState.broadcastState<int32_t, int64_t>("rules"));
  }
  void processElement1(const Rec& rec, ProcessContext&, Collector<Rec>& out) {
    look(rec);
    out.collect(marked(rec, node_));
  }
  void processElement2(const Rec& rec, ProcessContext&, Collector<Rec>&) {
    look(rec);
    const auto [at, isNew] = rules_->entries().emplace(rec.key, rec.value);
    if (!isNew) at->second = std::max(at->second, rec.value);
  }
  void finish() {
    report({.count = 0, .entries = rules_->entries()});
    Part::finish();
  }

 private:
  BroadcastState<int32_t, int64_t>* rules_ = nullptr;
};

/// Holds records back and has no state: exact only if what it emits before a barrier leaves before that barrier.
class BundleOperator final : public OneInputOperator<Rec> {
 public:
  BundleOperator(OperatorSetup setup, std::shared_ptr<Journal> journal, int32_t node)
      : OneInputOperator<Rec>(std::move(setup)), journal_(std::move(journal)), node_(node) {}

  void onEventTime(int64_t timestamp) override {
    emitAll();  // else they would be late
    OneInputOperator<Rec>::onEventTime(timestamp);
  }
  void prepareSnapshotPreBarrier(int64_t) override {
    emitAll();
    addedBefore_ = added();
  }
  void finish() override {
    emitAll();
    journal_->pass(Spot::kFinish);
  }

 protected:
  void process(std::span<StreamRecord<Rec>> records) override {
    for (const auto& record : records) {
      journal_->pass(Spot::kRecord);
      bundle_.push_back(record);
      bundle_.back().value = marked(record.value, node_);
    }
  }
  void onSnapshotState(int64_t checkpointId) override {
    if (hasReaders() && added() == addedBefore_)
      journal_->complain(fmt::format("node {} snapshots for checkpoint {} before the barrier has left", node_, checkpointId));
    journal_->pass(Spot::kSnapshot);
  }

 private:
  void emitAll() {
    if (!bundle_.empty()) output<Rec>().collect(bundle_);
    bundle_.clear();
  }
  /// What has been released, because its consumer fails, takes no barrier.
  bool hasReaders() {
    for (const auto& partition : environment().partitions)
      for (int32_t i = 0; i < partition->subpartitionCount(); ++i)
        if (!partition->subpartition(static_cast<uint32_t>(i)).isReleased()) return true;
    return false;
  }
  /// Elements that were queued on the task's outputs so far.
  int64_t added() {
    int64_t sum = 0;
    for (const auto& partition : environment().partitions)
      for (int32_t i = 0; i < partition->subpartitionCount(); ++i)
        sum += partition->subpartition(static_cast<uint32_t>(i)).buffersAdded();
    return sum;
  }

  const std::shared_ptr<Journal> journal_;
  const int32_t node_;
  std::vector<StreamRecord<Rec>> bundle_;
  int64_t addedBefore_ = 0;
};

}  // namespace weir::sim
