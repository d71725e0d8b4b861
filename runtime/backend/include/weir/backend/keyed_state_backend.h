#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/backend/keyed_state.h"
#include "weir/backend/timer_queue.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/random.h"
#include "weir/base/result.h"
#include "weir/snapshot/checkpoint_options.h"
#include "weir/snapshot/checkpoint_storage.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// The keyed state of one operator as it was when prepareSnapshot() ran, to be written by a snapshot worker while the task goes on.
/// Owned by whoever runs it; may outlive its backend. Destroying it ends the snapshot. Flink: the async part, SnapshotResultSupplier.
class KeyedSnapshotJob {
 public:
  virtual ~KeyedSnapshotJob() = default;
  /// Once; blocks on files. Nothing where no state was registered. A failure leaves no file behind.
  virtual Result<std::optional<KeyedHandle>> write(CheckpointStreamFactory& factory) = 0;
};

/// A keyed backend without its key type: what a task does with it. Used by the task alone. Flink: CheckpointableKeyedStateBackend.
class AnyKeyedStateBackend {
 public:
  virtual ~AnyKeyedStateBackend() = default;
  virtual KeyGroupRange keyGroupRange() const = 0;
  virtual int32_t maxParallelism() const = 0;
  /// The synchronous part: microseconds. Requires: no batch of slots in use.
  virtual std::unique_ptr<KeyedSnapshotJob> prepareSnapshot(int64_t checkpointId, const CheckpointOptions& options) = 0;
  /// Reads what lies in this backend's key groups; others are skipped. Once, before anything else; blocks on files. States may be
  /// registered later; those that never are stay as they were and go into every snapshot. Errors name the file.
  virtual Result<void> restore(std::span<const KeyedHandle> handles, CheckpointWorkerStorage& storage) = 0;
  /// Values of all states, also of those not registered yet.
  virtual int64_t numEntries() const = 0;
};

/// One state by its key type: access for batches.
template <class K>
class KeyedTable : public KeyedStateTable {
 public:
  /// For each key the place of its value, made where there is none. `windows`: null for state without namespace, else one per key.
  /// `out` is valid until the next call on the backend. All of them count as written. Equal keys get the same place. `created`, unless
  /// null: whether the value was made by this call; of equal keys only the first one's was.
  virtual void slots(std::span<const K* const> keys, const TimeWindow* windows, void** out, bool* created) = 0;
};

/// Values of many keys in one call, for operators that work in batches. Copyable; valid as long as its backend.
template <class K, class V>
class ValueSlots {
 public:
  static constexpr size_t kMaxBatch = 64;
  explicit ValueSlots(KeyedTable<K>& table) : table_(&table) {}
  /// At most kMaxBatch keys; `out` has room for as many. See KeyedTable::slots.
  void get(std::span<const K* const> keys, V** out, bool* created = nullptr) { get(keys, nullptr, out, created); }
  void get(std::span<const K* const> keys, const TimeWindow* windows, V** out, bool* created = nullptr) {
    WEIR_CHECK_LE(keys.size(), kMaxBatch);
    table_->slots(keys, windows, reinterpret_cast<void**>(out), created);
  }

 private:
  KeyedTable<K>* table_;
};

/// State per key, of the key groups of one subtask. The values are found through handles by name; asking again for the same name gives the
/// same state. A name that is already used with another type, or that was restored with another serializer, is an error.
///
/// Flink: AbstractKeyedStateBackend. Differs: no listeners; batches (valueSlots). Used by the task alone.
template <class K>
class KeyedStateBackend : public AnyKeyedStateBackend {
 public:
  /// Requires: the key belongs to keyGroupRange() (checked when its first value is made).
  virtual void setCurrentKey(const K& key) = 0;
  virtual const K& currentKey() const = 0;
  /// The keys with a value in state `name`, each once, in the order of key group and serialized key: the same in every run.
  virtual std::vector<K> keys(const std::string& name) = 0;
  /// Keys and windows of a state per window, in the same order.
  virtual std::vector<std::pair<K, TimeWindow>> keysAndWindows(const std::string& name) = 0;

  template <class V>
  Result<ValueState<V>> state(const ValueStateDescriptor<V>& d) {
    WEIR_ASSIGN(KeyedTable<K> * t, d.ttl ? ttlTable(d, StateKind::kValue, d.initial) : valueTable(d));
    return ValueState<V>(*t, ttlOf(d));
  }
  template <class V>
  Result<ValueSlots<K, V>> valueSlots(const ValueStateDescriptor<V>& d) {
    WEIR_ASSIGN(KeyedTable<K> * t, valueTable(d));
    return ValueSlots<K, V>(*t);
  }
  template <class V>
  Result<ListState<V>> state(const ListStateDescriptor<V>& d) {
    WEIR_ASSIGN(KeyedTable<K> * t, (collectionTable<ListState<V>>(d, StateKind::kList)));
    return ListState<V>(*t, ttlOf(d));
  }
  template <class UK, class UV>
  Result<MapState<UK, UV>> state(const MapStateDescriptor<UK, UV>& d) {
    WEIR_ASSIGN(KeyedTable<K> * t, (collectionTable<MapState<UK, UV>>(d, StateKind::kMap)));
    return MapState<UK, UV>(*t, ttlOf(d));
  }
  template <class V>
  Result<ReducingState<V>> state(const ReducingStateDescriptor<V>& d) {
    WEIR_ASSIGN(KeyedTable<K> * t, d.ttl ? ttlTable(d, StateKind::kReducing, V{})
                                         : table(d.name, d.per, std::make_shared<StateTypeOf<V>>(StateKind::kReducing)));
    return ReducingState<V>(*t, d.reduce, ttlOf(d));
  }
  template <class In, class Acc, class Out>
  Result<AggregatingState<In, Acc, Out>> state(const AggregatingStateDescriptor<In, Acc, Out>& d) {
    WEIR_ASSIGN(KeyedTable<K> * t, d.ttl ? ttlTable(d, StateKind::kAggregating, d.initial) : accumulatorTable(d));
    return AggregatingState<In, Acc, Out>(*t, d, ttlOf(d));
  }
  /// The accumulators, to be changed in place.
  template <class In, class Acc, class Out>
  Result<ValueSlots<K, Acc>> accumulatorSlots(const AggregatingStateDescriptor<In, Acc, Out>& d) {
    WEIR_ASSIGN(KeyedTable<K> * t, accumulatorTable(d));
    return ValueSlots<K, Acc>(*t);
  }
  /// Timers per key, N: VoidNamespace or TimeWindow. Flink: create(stateName, ...) of PriorityQueueSetFactory.
  template <class N>
  Result<TimerQueue<K, N>*> timerQueue(const std::string& name) {
    return timers(name, N{});
  }
  /// A state by its stored type, for operators that know how a kind of state is stored.
  Result<KeyedTable<K>*> storedTable(const std::string& name, StateNamespace per, std::shared_ptr<const StateType> type) {
    return table(name, per, std::move(type));
  }

 protected:
  virtual Result<TimerQueue<K, VoidNamespace>*> timers(const std::string& name, VoidNamespace) = 0;
  virtual Result<TimerQueue<K, TimeWindow>*> timers(const std::string& name, TimeWindow) = 0;
  /// The state of that name, made or taken over from what was restored.
  virtual Result<KeyedTable<K>*> table(const std::string& name, StateNamespace per, std::shared_ptr<const StateType> type) = 0;
  /// What time to live is measured with.
  virtual const Clock& ttlClock() const = 0;

 private:
  template <class Descriptor>
  detail::Ttl ttlOf(const Descriptor& d) const {
    return d.ttl ? detail::Ttl(*d.ttl, ttlClock()) : detail::Ttl();
  }
  template <class Descriptor, class V>
  Result<KeyedTable<K>*> ttlTable(const Descriptor& d, StateKind kind, V initial) {
    return inTurns(table(d.name, d.per, std::make_shared<StateTypeOf<TtlValue<V>>>(kind, TtlValue<V>{0, std::move(initial)})));
  }
  static Result<KeyedTable<K>*> inTurns(Result<KeyedTable<K>*> table) {
    if (!table.has_error()) (*table)->keepTurns();
    return table;
  }
  template <class Handle, class Descriptor>
  Result<KeyedTable<K>*> collectionTable(const Descriptor& d, StateKind kind) {
    if (d.ttl) return inTurns(table(d.name, d.per, std::make_shared<StateTypeOf<typename Handle::StoredWithTtl>>(kind)));
    return table(d.name, d.per, std::make_shared<StateTypeOf<typename Handle::Stored>>(kind));
  }
  template <class V>
  Result<KeyedTable<K>*> valueTable(const ValueStateDescriptor<V>& d) {
    return table(d.name, d.per, std::make_shared<StateTypeOf<V>>(StateKind::kValue, d.initial));
  }
  template <class In, class Acc, class Out>
  Result<KeyedTable<K>*> accumulatorTable(const AggregatingStateDescriptor<In, Acc, Out>& d) {
    return table(d.name, d.per, std::make_shared<StateTypeOf<Acc>>(StateKind::kAggregating, d.initial));
  }
};

struct KeyedStateBackendParameters {
  KeyGroupRange range;
  int32_t maxParallelism = 128;
  Random random{0};  ///< for handle ids
  const Clock* clock = &SystemClock::instance();  ///< of the time to live
};
/// Makes the backend of an operator: `state/keyed` has one per kind of backend and key type; the engine hands it to the task.
template <class K>
using KeyedStateBackendFactory = std::function<std::unique_ptr<KeyedStateBackend<K>>(const KeyedStateBackendParameters&)>;

}  // namespace weir
