#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/backend/state_type.h"
#include "weir/backend/time_window.h"

namespace weir {

/// One named state of a keyed backend, erased over key and value: the value of the current key (and window). Owned by the backend; used by
/// the task alone. Values stay where they are until the next call on the backend.
class KeyedStateTable {
 public:
  virtual ~KeyedStateTable() = default;
  /// Null where there is none.
  virtual const void* find() = 0;
  /// Made with the state's initial value where there is none. It counts as written: a running snapshot keeps the old one.
  virtual void* findOrCreate(bool& created) = 0;
  virtual void remove() = 0;
  /// State per window only.
  virtual void setCurrentNamespace(const TimeWindow& window) = 0;
  /// Keys (and windows) with a value.
  virtual int64_t numEntries() const = 0;
};

namespace detail {
/// What all handles share: a pointer, so that a handle is copied freely. Valid as long as its backend; one made by default is for being
/// assigned to in open().
class KeyedStateHandle {
 public:
  KeyedStateHandle() = default;
  /// Requires: a state per window.
  void setCurrentNamespace(const TimeWindow& window) { table_->setCurrentNamespace(window); }
  /// Forgets the value of the current key.
  void clear() { table_->remove(); }

 protected:
  explicit KeyedStateHandle(KeyedStateTable& table) : table_(&table) {}
  template <class T>
  const T* found() const {
    return static_cast<const T*>(table_->find());
  }
  template <class T>
  T& made(bool& created) {
    return *static_cast<T*>(table_->findOrCreate(created));
  }
  template <class T>
  T& made() {
    bool created;
    return made<T>(created);
  }

 private:
  KeyedStateTable* table_ = nullptr;
};
}  // namespace detail

/// Name and value type of a state. `initial`: what slot() starts from.
template <Serializable V>
struct ValueStateDescriptor {
  std::string name;
  V initial{};
  StateNamespace per = StateNamespace::kVoid;
};
/// One value per key. Flink: ValueState.
template <Serializable V>
class ValueState : public detail::KeyedStateHandle {
 public:
  ValueState() = default;
  explicit ValueState(KeyedStateTable& table) : KeyedStateHandle(table) {}
  /// Null where there is none.
  const V* value() const { return found<V>(); }
  void update(V value) { made<V>() = std::move(value); }
  /// The value to be changed in place.
  V& slot() { return made<V>(); }
};

template <Serializable V>
struct ListStateDescriptor {
  std::string name;
  StateNamespace per = StateNamespace::kVoid;
};
/// Flink: ListState.
template <Serializable V>
class ListState : public detail::KeyedStateHandle {
 public:
  using Stored = CopyOnWrite<std::vector<V>>;
  ListState() = default;
  explicit ListState(KeyedStateTable& table) : KeyedStateHandle(table) {}
  /// Null where there is none.
  const std::vector<V>* get() const {
    const Stored* stored = found<Stored>();
    return stored ? &stored->get() : nullptr;
  }
  void add(V element) { made<Stored>().mutate().push_back(std::move(element)); }
  /// An empty list is no list.
  void update(std::vector<V> elements) {
    if (elements.empty())
      clear();
    else
      made<Stored>().mutate() = std::move(elements);
  }
};

template <Serializable UK, Serializable UV>
struct MapStateDescriptor {
  std::string name;
  StateNamespace per = StateNamespace::kVoid;
};
/// A map per key, in the order of its user keys. Flink: MapState.
template <Serializable UK, Serializable UV>
class MapState : public detail::KeyedStateHandle {
 public:
  using Stored = CopyOnWrite<std::map<UK, UV>>;
  MapState() = default;
  explicit MapState(KeyedStateTable& table) : KeyedStateHandle(table) {}
  const std::map<UK, UV>& entries() const {
    static const std::map<UK, UV> nothing;
    const Stored* stored = found<Stored>();
    return stored ? stored->get() : nothing;
  }
  const UV* get(const UK& key) const {
    auto& all = entries();
    auto at = all.find(key);
    return at == all.end() ? nullptr : &at->second;
  }
  bool contains(const UK& key) const { return get(key) != nullptr; }
  bool isEmpty() const { return entries().empty(); }
  void put(UK key, UV value) { made<Stored>().mutate().insert_or_assign(std::move(key), std::move(value)); }
  /// The value to be changed in place, made where there is none.
  UV& slot(const UK& key) { return made<Stored>().mutate()[key]; }
  /// The last entry takes the map with it.
  void remove(const UK& key) {
    if (!contains(key)) return;
    if (entries().size() == 1)
      clear();
    else
      made<Stored>().mutate().erase(key);
  }
};

template <Serializable V>
struct ReducingStateDescriptor {
  std::string name;
  std::function<V(const V&, const V&)> reduce;
  StateNamespace per = StateNamespace::kVoid;
};
/// The reduction of all that was added. Flink: ReducingState.
template <Serializable V>
class ReducingState : public detail::KeyedStateHandle {
 public:
  ReducingState() = default;
  ReducingState(KeyedStateTable& table, std::function<V(const V&, const V&)> reduce)
      : KeyedStateHandle(table), reduce_(std::move(reduce)) {}
  const V* get() const { return found<V>(); }
  void add(const V& value) {
    bool created;
    V& sum = made<V>(created);
    sum = created ? value : reduce_(sum, value);
  }

 private:
  std::function<V(const V&, const V&)> reduce_;
};

/// An aggregate over an accumulator; `In` and `Out` are not stored. Flink: AggregateFunction.
template <class In, Serializable Acc, class Out>
struct AggregatingStateDescriptor {
  std::string name;
  Acc initial{};
  std::function<void(Acc&, const In&)> add;
  std::function<Out(const Acc&)> result;
  StateNamespace per = StateNamespace::kVoid;
};
/// Flink: AggregatingState.
template <class In, Serializable Acc, class Out>
class AggregatingState : public detail::KeyedStateHandle {
 public:
  AggregatingState() = default;
  AggregatingState(KeyedStateTable& table, const AggregatingStateDescriptor<In, Acc, Out>& d)
      : KeyedStateHandle(table), add_(d.add), result_(d.result) {}
  std::optional<Out> get() const {
    const Acc* accumulator = found<Acc>();
    return accumulator ? std::optional<Out>(result_(*accumulator)) : std::nullopt;
  }
  void add(const In& value) { add_(made<Acc>(), value); }
  const Acc* accumulator() const { return found<Acc>(); }

 private:
  std::function<void(Acc&, const In&)> add_;
  std::function<Out(const Acc&)> result_;
};

}  // namespace weir
