#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/backend/keyed_state_backend.h"
#include "weir/keyed/heap_table.h"
#include "weir/keyed/heap_timer_queue.h"

namespace weir {

/// Keyed state in memory. A snapshot takes lists of chunks, so that its synchronous part costs microseconds; what the task writes while the
/// snapshot is written is copied first, a chunk of up to 256 values at a time.
///
/// Flink: HeapKeyedStateBackend. The files have its layout. Threads: the task; jobs may run and end on any thread, also after the backend.
template <Key K>
class HeapKeyedStateBackend final : public KeyedStateBackend<K> {
 public:
  explicit HeapKeyedStateBackend(const KeyedStateBackendParameters& p)
      : context_{p.range, p.maxParallelism, {}, {}, 0, 0}, random_(p.random), clock_(*p.clock) {}

  KeyGroupRange keyGroupRange() const override { return context_.range; }
  int32_t maxParallelism() const override { return context_.maxParallelism; }

  void setCurrentKey(const K& key) override {
    context_.currentKey = key;
    context_.currentHash = fastHash(key);
    ++context_.keyChanges;
  }
  const K& currentKey() const override { return context_.currentKey; }

  std::unique_ptr<KeyedSnapshotJob> prepareSnapshot(int64_t, const CheckpointOptions&) override {
    auto running = context_.epochs.begin();
    std::vector<std::unique_ptr<StateSnapshot>> states;
    for (const auto& [name, table] : tables_) states.push_back(table->snapshot());
    for (const auto& queue : timers_) states.push_back(queue->snapshot());
    for (const auto& state : restored_) states.push_back(snapshotOf(state));
    return std::make_unique<HeapSnapshotJob>(context_.range, key_, Random(random_.next()), std::move(states), std::move(running));
  }

  Result<void> restore(std::span<const KeyedHandle> handles, CheckpointWorkerStorage& storage) override {
    WEIR_CHECK(tables_.empty() && timers_.empty() && restored_.empty());
    WEIR_ASSIGN(restored_, readKeyedState(handles, context_.range, *key_, storage));
    return {};
  }

  int64_t numEntries() const override {
    int64_t n = 0;
    for (const auto& [name, table] : tables_) n += table->numEntries();
    for (const auto& queue : timers_) n += queue->numTimers();
    for (const auto& state : restored_) n += static_cast<int64_t>(state->entries.size());
    return n;
  }

  std::vector<K> keys(const std::string& name) override {
    std::vector<K> all;
    for (auto& [key, window] : keysAndWindows(name))
      // Found by argument, so that keys may bring a comparison of their own; the cast is for the references of a vector of bool.
      if (all.empty() || !sameKey(static_cast<const K&>(all.back()), key)) all.push_back(std::move(key));
    return all;
  }

  std::vector<std::pair<K, TimeWindow>> keysAndWindows(const std::string& name) override {
    struct Entry {
      uint16_t keyGroup;
      std::vector<uint8_t> bytes;
      K key;
      TimeWindow window;
    };
    std::vector<Entry> entries;
    if (AnyHeapTable<K>* table = find(name)) {
      table->visit([&](uint16_t keyGroup, const K& key, const TimeWindow& window) {
        DataOutput bytes;
        serialize(bytes, key);
        entries.push_back({keyGroup, bytes.toVector(), key, window});
      });
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.keyGroup, a.bytes, a.window) < std::tie(b.keyGroup, b.bytes, b.window);
    });
    std::vector<std::pair<K, TimeWindow>> all;
    for (Entry& entry : entries) all.emplace_back(std::move(entry.key), entry.window);
    return all;
  }

 protected:
  Result<KeyedTable<K>*> table(const std::string& name, StateNamespace per, std::shared_ptr<const StateType> type) override {
    if (AnyHeapTable<K>* known = find(name)) {
      if (known->type().type() == type->type() && known->type().kind() == type->kind() && known->per() == per) return known;
      return Error{ErrorCode::kInvalidArgument, fmt::format("keyed state \"{}\" is already used with another type", name)};
    }
    const StateMeta meta =
        per == StateNamespace::kVoid ? HeapTable<K, VoidNamespace>::metaOf(name, *type) : HeapTable<K, TimeWindow>::metaOf(name, *type);
    std::unique_ptr<AnyHeapTable<K>> made;
    if (per == StateNamespace::kVoid)
      made = std::make_unique<HeapTable<K, VoidNamespace>>(context_, name, std::move(type));
    else
      made = std::make_unique<HeapTable<K, TimeWindow>>(context_, name, std::move(type));
    WEIR_TRY(takeRestored(meta, *made));
    tables_.emplace_back(name, std::move(made));
    return tables_.back().second.get();
  }
  const Clock& ttlClock() const override { return clock_; }

  Result<TimerQueue<K, VoidNamespace>*> timers(const std::string& name, VoidNamespace) override { return queue<VoidNamespace>(name); }
  Result<TimerQueue<K, TimeWindow>*> timers(const std::string& name, TimeWindow) override { return queue<TimeWindow>(name); }

 private:
  template <class N>
  Result<TimerQueue<K, N>*> queue(const std::string& name) {
    using Queue = HeapTimerQueue<K, N>;
    for (const auto& known : timers_) {
      if (known->name() != name) continue;
      if (auto* same = dynamic_cast<Queue*>(known.get())) return static_cast<TimerQueue<K, N>*>(same);
      return Error{ErrorCode::kInvalidArgument, fmt::format("timers \"{}\" are already kept per another kind of namespace", name)};
    }
    auto made = std::make_unique<Queue>(context_, context_.epochs, name);
    WEIR_TRY(takeRestored(Queue::metaOf(name), *made));
    TimerQueue<K, N>* queue = made.get();
    timers_.push_back(std::move(made));
    return queue;
  }
  /// What was restored under this name goes into `made`, a table or a queue.
  template <class Made>
  Result<void> takeRestored(const StateMeta& meta, Made& made) {
    const auto restored = std::find_if(restored_.begin(), restored_.end(), [&](const auto& r) { return r->meta.name == meta.name; });
    if (restored == restored_.end()) return {};
    WEIR_TRY(checkCompatible(**restored, meta));
    WEIR_TRY(made.load(**restored));
    restored_.erase(restored);
    return {};
  }
  AnyHeapTable<K>* find(const std::string& name) const {
    for (const auto& [known, table] : tables_)
      if (known == name) return table.get();
    return nullptr;
  }

  HeapContext<K> context_;
  Random random_;
  const Clock& clock_;
  const std::shared_ptr<const SerializerSnapshot> key_ = std::make_shared<SerializerSnapshot>(Serializer<K>::snapshot());
  std::vector<std::pair<std::string, std::unique_ptr<AnyHeapTable<K>>>> tables_;  ///< in the order of registration: that of the files
  std::vector<std::unique_ptr<AnyHeapTimerQueue>> timers_;                        ///< in the same order, behind the tables
  std::vector<std::shared_ptr<RestoredState>> restored_;                          ///< not registered yet
};

/// The factory that the engine hands to an operator keyed by K.
template <Key K>
KeyedStateBackendFactory<K> heapKeyedStateBackend() {
  return [](const KeyedStateBackendParameters& p) { return std::make_unique<HeapKeyedStateBackend<K>>(p); };
}

}  // namespace weir
