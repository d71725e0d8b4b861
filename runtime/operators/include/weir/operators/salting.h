#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weir/aggregate/accumulator_table.h"
#include "weir/aggregate/heavy_hitters.h"
#include "weir/operators/partitioning.h"
#include "weir/operators/stateless.h"

namespace weir {

/// A record on its way to the first of two stages. The salt has a field of its own: no text has to be taken apart again, and no key can be
/// mistaken for a salted one.
template <class T>
struct Salted {
  int32_t salt = 0;
  T value{};
  WEIR_FIELDS(salt, value)
  bool operator==(const Salted&) const = default;
};

/// Finds hot keys while the job runs.
struct HotKeyDetection {
  double share = 0.01;     ///< of the records of a subtask, above which a key is hot
  size_t capacity = 256;   ///< keys that are watched; more than 1 / share
  int64_t memory = 65536;  ///< records after which what was seen counts half
  int64_t warmUp = 1024;   ///< records before any key counts as hot
};

/// Which records get a salt, and how many salts there are.
template <class K>
struct SaltOptions {
  int32_t salts = 64;
  /// Only these keys are salted; empty: see `detect`.
  std::vector<K> hotKeys{};
  /// Only keys that turn out to be hot are salted; none, and no hotKeys: all keys.
  std::optional<HotKeyDetection> detect{};
  /// A detected key gets as many of the salts as its share of the records: half of the records, half of the salts, at least two.
  bool adaptive = false;
};

/// Puts a salt into each record, from a counter of records that is part of the state: a source that is read again gets the salts that it
/// had. Cold keys get salt 0. The number is mixed before it is cut down, so that no rhythm of the stream can meet that of the salts.
///
/// Which salt a record has never shows in a result; it only says where the record is counted. Flink has no such operator.
template <class T, class KeyFn>
class SaltOperator final : public OneInputOperator<T> {
 public:
  using Key = KeyOf<T, KeyFn>;
  SaltOperator(OperatorSetup setup, KeyFn keyFn, SaltOptions<Key> options)
      : OneInputOperator<T>(std::move(setup)), keys_(std::move(keyFn)), options_(std::move(options)) {
    for (const Key& key : options_.hotKeys) listed_.get(key, [] { return true; });
    if (listed_.empty() && options_.detect) seen_.emplace(options_.detect->capacity, options_.detect->memory);
  }

 protected:
  void onInitializeState(bool) override {
    auto* state = stateOrThrow(this->operatorState().template listState<int64_t>("salt-counter"));
    counter_ = &state->elements();
    // Another parallelism has dealt the counters out anew; any place to go on from will do.
    counter_->resize(1);
  }
  void process(std::span<StreamRecord<T>> records) override {
    const auto keys = keys_.of(records);
    salted_.resize(records.size());
    for (size_t i = 0; i < records.size(); ++i) {
      salted_[i].value.salt = saltFor(saltsOf(*keys[i]));
      salted_[i].timestamp = records[i].timestamp;
      salted_[i].hasTimestamp = records[i].hasTimestamp;
    }
    for (size_t i = 0; i < records.size(); ++i) salted_[i].value.value = std::move(records[i].value);  // the keys may lie in there
    OperatorMetrics::add(this->metrics().numRecordsOut, salted_.size());
    this->template output<Salted<T>>().collect(salted_);
  }

 private:
  int32_t saltsOf(const Key& key) {
    if (!listed_.empty()) return listed_.contains(key) ? options_.salts : 1;
    if (!seen_) return options_.salts;
    const auto& entry = seen_->add(key);
    if (seen_->total() < options_.detect->warmUp || seen_->surely(entry) < options_.detect->share) return 1;
    if (!options_.adaptive) return options_.salts;
    return std::clamp(static_cast<int32_t>(std::lround(seen_->surely(entry) * options_.salts)), std::min(2, options_.salts),
                      options_.salts);
  }
  int32_t saltFor(int32_t salts) {
    if (salts <= 1) return 0;
    auto number = static_cast<uint64_t>((*counter_)[0]++) * 0x9e3779b97f4a7c15;
    number = (number ^ number >> 32) * 0xd6e8feb86659fd93;
    return static_cast<int32_t>(static_cast<unsigned __int128>(number ^ number >> 32) * static_cast<uint64_t>(salts) >> 64);
  }

  BatchKeys<T, KeyFn> keys_;
  SaltOptions<Key> options_;
  AccumulatorTable<Key, bool> listed_;
  std::optional<HeavyHitters<Key>> seen_;
  std::vector<int64_t>* counter_ = nullptr;  ///< one number, in the operator's state
  std::vector<StreamRecord<Salted<T>>> salted_;
};

/// Partitions salted records by the key group of (salt, key), hashed as Flink hashes a Tuple2<Integer, K>; with salt 0 that is the key's
/// own.
template <class T, class KeyFn>
class SaltedEdge final : public EdgePartitioner {
 public:
  explicit SaltedEdge(KeyFn keyFn) : keyFn_(std::move(keyFn)) {}
  PartitionerKind kind() const override { return PartitionerKind::kHash; }
  std::unique_ptr<OutputBase> createOutput(const Target& target) const override {
    return std::make_unique<RecordWriterOutput<Salted<T>, Selector>>(
        target.writer, Selector(keyFn_, static_cast<int32_t>(target.writer.channels()), target.consumerMaxParallelism), target.random);
  }
  std::unique_ptr<OutputBase> createFilter(OutputBase& into, const Receiver& self) const override {
    return std::make_unique<FilteringOutput<Salted<T>, Selector>>(static_cast<Output<Salted<T>>&>(into),
                                                                  Selector(keyFn_, self.parallelism, self.maxParallelism),
                                                                  static_cast<uint32_t>(self.subtask));
  }

 private:
  class Selector {
   public:
    static constexpr bool kIsBroadcast = false;
    Selector(KeyFn keyFn, int32_t channels, int32_t maxParallelism) : keyFn_(std::move(keyFn)), assigner_(channels, maxParallelism) {}
    uint32_t select(const Salted<T>& record) {
      const auto hash = 31 * static_cast<uint32_t>(record.salt) + static_cast<uint32_t>(javaHash(std::invoke(keyFn_, record.value)));
      return static_cast<uint32_t>(assigner_.subtaskOfHash(static_cast<int32_t>(hash)));
    }

   private:
    KeyFn keyFn_;
    KeyGroupAssigner assigner_;
  };
  KeyFn keyFn_;
};

}  // namespace weir
