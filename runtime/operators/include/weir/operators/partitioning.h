#pragma once

#include <functional>
#include <utility>

#include "weir/exchange/partitioner.h"
#include "weir/operators/keyed.h"
#include "weir/task/chain_spec.h"

namespace weir {

/// The end of a chain that writes to the network: the selector is inlined into the emitting loop. Flink: RecordWriterOutput.
template <class T, class Selector>
class RecordWriterOutput final : public Output<T> {
 public:
  RecordWriterOutput(RecordWriter& writer, Selector selector, Random& random)
      : writer_(writer), selector_(std::move(selector)), random_(random) {}

  void collect(std::span<StreamRecord<T>> records) override {
    for (auto& record : records) emitRecord(writer_, selector_, record);
  }
  void emitControl(const ControlElement& element) override {
    if (std::holds_alternative<LatencyMarker>(element))
      randomEmit(writer_, random_, element);
    else
      broadcastElement(writer_, selector_, element);
  }

 private:
  RecordWriter& writer_;
  Selector selector_;
  Random& random_;
};

/// Keeps the records that a selector sends to one subtask. Flink: RecordFilter of a virtual channel.
template <class T, class Selector>
class FilteringOutput final : public Output<T> {
 public:
  FilteringOutput(Output<T>& into, Selector selector, uint32_t own) : into_(into), selector_(std::move(selector)), own_(own) {}

  void collect(std::span<StreamRecord<T>> records) override {
    size_t kept = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      if (selector_.select(records[i].value) != own_) continue;
      if (kept != i) std::swap(records[kept], records[i]);
      ++kept;
    }
    if (kept > 0) into_.collect(records.first(kept));
  }
  void emitControl(const ControlElement& element) override { into_.emitControl(element); }

 private:
  Output<T>& into_;
  Selector selector_;
  const uint32_t own_;
};

/// The partitioners that look at no key.
template <class T>
class UnkeyedEdge final : public EdgePartitioner {
 public:
  explicit UnkeyedEdge(PartitionerKind kind) : kind_(kind) {}
  PartitionerKind kind() const override { return kind_; }

  std::unique_ptr<OutputBase> createOutput(const Target& target) const override {
    const uint32_t channels = target.writer.channels();
    switch (kind_) {
      case PartitionerKind::kForward: return make(target, ForwardPartitioner{});
      case PartitionerKind::kRescale: return make(target, RescalePartitioner(channels));
      case PartitionerKind::kRebalance: return make(target, RebalancePartitioner(channels, target.random));
      case PartitionerKind::kShuffle: return make(target, ShufflePartitioner(channels, Random(target.random.next())));
      case PartitionerKind::kGlobal: return make(target, GlobalPartitioner{});
      case PartitionerKind::kBroadcast: return make(target, BroadcastPartitioner{});
      case PartitionerKind::kHash:
      case PartitionerKind::kCustom: break;
    }
    checkFailed(__FILE__, __LINE__, "createOutput", "this partitioner needs a key");
  }

  std::unique_ptr<OutputBase> createFilter(OutputBase&, const Receiver&) const override {
    checkFailed(__FILE__, __LINE__, "createFilter", "what this partitioner does with a record does not follow from it");
  }

 private:
  template <class Selector>
  static std::unique_ptr<OutputBase> make(const Target& target, Selector selector) {
    return std::make_unique<RecordWriterOutput<T, Selector>>(target.writer, std::move(selector), target.random);
  }
  PartitionerKind kind_;
};

/// Calls a key selector (callable or member pointer) as the partitioners expect it.
template <class T, class KeyFn>
struct KeySelector {
  KeyFn keyFn;
  decltype(auto) operator()(const T& value) const { return std::invoke(keyFn, value); }
};

/// keyBy: by key group.
template <class T, class KeyFn>
class KeyedEdge final : public EdgePartitioner {
 public:
  explicit KeyedEdge(KeyFn keyFn) : keyFn_(std::move(keyFn)) {}
  PartitionerKind kind() const override { return PartitionerKind::kHash; }
  std::unique_ptr<OutputBase> createOutput(const Target& target) const override {
    using Selector = HashPartitioner<KeySelector<T, KeyFn>>;
    return std::make_unique<RecordWriterOutput<T, Selector>>(
        target.writer, Selector({keyFn_}, static_cast<int32_t>(target.writer.channels()), target.consumerMaxParallelism), target.random);
  }
  std::unique_ptr<OutputBase> createFilter(OutputBase& into, const Receiver& self) const override {
    using Selector = HashPartitioner<KeySelector<T, KeyFn>>;
    return std::make_unique<FilteringOutput<T, Selector>>(static_cast<Output<T>&>(into),
                                                          Selector({keyFn_}, self.parallelism, self.maxParallelism),
                                                          static_cast<uint32_t>(self.subtask));
  }

 private:
  KeyFn keyFn_;
};

/// partitionCustom: `choose(key, channels)`.
template <class T, class KeyFn, class Choose>
class CustomEdge final : public EdgePartitioner {
 public:
  CustomEdge(KeyFn keyFn, Choose choose) : keyFn_(std::move(keyFn)), choose_(std::move(choose)) {}
  PartitionerKind kind() const override { return PartitionerKind::kCustom; }
  std::unique_ptr<OutputBase> createOutput(const Target& target) const override {
    using Selector = CustomPartitioner<KeySelector<T, KeyFn>, Choose>;
    return std::make_unique<RecordWriterOutput<T, Selector>>(
        target.writer, Selector({keyFn_}, choose_, static_cast<int32_t>(target.writer.channels())), target.random);
  }
  std::unique_ptr<OutputBase> createFilter(OutputBase& into, const Receiver& self) const override {
    using Selector = CustomPartitioner<KeySelector<T, KeyFn>, Choose>;
    return std::make_unique<FilteringOutput<T, Selector>>(static_cast<Output<T>&>(into), Selector({keyFn_}, choose_, self.parallelism),
                                                          static_cast<uint32_t>(self.subtask));
  }

 private:
  KeyFn keyFn_;
  Choose choose_;
};

}  // namespace weir
