#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/backend/state_ttl.h"
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

  /// Says of a stored value whether nothing of it is alive; takes out what of it is not. `mutate` gives the value to be changed.
  using Expired = std::function<bool(const void* value, const std::function<void*()>& mutate)>;
  /// From now on cleanUpSome() finds entries in turn.
  virtual void keepTurns() = 0;
  /// Looks at the next few entries and removes those that have expired: what is never read again must not stay for ever. Requires:
  /// keepTurns(). Flink: TtlIncrementalCleanup.
  virtual void cleanUpSome(const Expired& expired) = 0;
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
  void clear() const { table_->remove(); }

 protected:
  KeyedStateHandle(KeyedStateTable& table, Ttl ttl) : table_(&table), ttl_(ttl) {}
  template <class T>
  const T* found() const {
    return static_cast<const T*>(table_->find());
  }
  template <class T>
  T& made(bool& created) const {
    return *static_cast<T*>(table_->findOrCreate(created));
  }
  template <class T>
  T& made() const {
    bool created;
    return made<T>(created);
  }
  const Ttl& ttl() const { return ttl_; }
  void cleanUp(const KeyedStateTable::Expired& expired) const { table_->cleanUpSome(expired); }

 private:
  KeyedStateTable* table_ = nullptr;
  Ttl ttl_;
};

/// One value per key, that may have a time to live: what ValueState, ReducingState and AggregatingState are made of.
template <Serializable V>
class OneValue : public KeyedStateHandle {
 protected:
  OneValue() = default;
  OneValue(KeyedStateTable& table, Ttl ttl) : KeyedStateHandle(table, ttl) {}
  /// Null where there is none, or none any more.
  const V* current() const {
    if (!ttl()) return found<V>();
    cleanUpSome();
    const auto* stored = found<TtlValue<V>>();
    if (!stored) return nullptr;
    if (ttl().isExpired(stored->lastAccess)) {
      expired_ = ttl().returnsExpired() ? std::make_shared<const V>(stored->value) : nullptr;
      clear();
      return expired_.get();
    }
    if (!ttl().updatesOnRead()) return &stored->value;
    TtlValue<V>& touched = made<TtlValue<V>>();
    touched.lastAccess = ttl().now();
    return &touched.value;
  }
  /// To be written. `created`: there was none, or it had expired.
  V& writable(bool& created) {
    if (!ttl()) return made<V>(created);
    cleanUpSome();
    TtlValue<V>* stored = &made<TtlValue<V>>(created);
    if (!created && ttl().isExpired(stored->lastAccess)) {
      clear();
      stored = &made<TtlValue<V>>(created);
    }
    stored->lastAccess = ttl().now();
    return stored->value;
  }
  V& writable() {
    bool created;
    return writable(created);
  }

 private:
  void cleanUpSome() const {
    cleanUp([this](const void* value, const auto&) { return ttl().isExpired(static_cast<const TtlValue<V>*>(value)->lastAccess); });
  }
  mutable std::shared_ptr<const V> expired_;  ///< the last one that was given although it had expired
};
}  // namespace detail

/// Name and value type of a state. `initial`: what slot() starts from.
template <Serializable V>
struct ValueStateDescriptor {
  std::string name;
  V initial{};
  StateNamespace per = StateNamespace::kVoid;
  std::optional<StateTtlConfig> ttl{};
};
/// One value per key. Flink: ValueState.
template <Serializable V>
class ValueState : public detail::OneValue<V> {
 public:
  ValueState() = default;
  explicit ValueState(KeyedStateTable& table, detail::Ttl ttl = {}) : detail::OneValue<V>(table, ttl) {}
  /// Null where there is none.
  const V* value() const { return this->current(); }
  void update(V value) { this->writable() = std::move(value); }
  /// The value to be changed in place.
  V& slot() { return this->writable(); }
};

template <Serializable V>
struct ListStateDescriptor {
  std::string name;
  StateNamespace per = StateNamespace::kVoid;
  std::optional<StateTtlConfig> ttl{};
};
/// Flink: ListState; with a time to live, each element has its own.
template <Serializable V>
class ListState : public detail::KeyedStateHandle {
 public:
  using Stored = CopyOnWrite<std::vector<V>>;
  using StoredWithTtl = CopyOnWrite<std::vector<TtlValue<V>>>;
  ListState() = default;
  explicit ListState(KeyedStateTable& table, detail::Ttl ttl = {}) : KeyedStateHandle(table, ttl) {}
  /// Null where there is none.
  const std::vector<V>* get() const {
    if (ttl()) return alive();
    const Stored* stored = found<Stored>();
    return stored ? &stored->get() : nullptr;
  }
  void add(V element) {
    if (!ttl()) {
      made<Stored>().mutate().push_back(std::move(element));
      return;
    }
    cleanUpSome();
    made<StoredWithTtl>().mutate().push_back({ttl().now(), std::move(element)});
  }
  /// An empty list is no list.
  void update(std::vector<V> elements) {
    if (elements.empty()) return clear();
    if (!ttl()) {
      made<Stored>().mutate() = std::move(elements);
      return;
    }
    cleanUpSome();
    auto& stored = made<StoredWithTtl>().mutate();
    stored.clear();
    for (V& element : elements) stored.push_back({ttl().now(), std::move(element)});
  }

 private:
  void cleanUpSome() const {
    cleanUp([this](const void* value, const auto& mutate) {
      const auto isExpired = [this](const TtlValue<V>& element) { return ttl().isExpired(element.lastAccess); };
      const auto& elements = static_cast<const StoredWithTtl*>(value)->get();
      const auto expired = std::count_if(elements.begin(), elements.end(), isExpired);
      if (expired == static_cast<std::ptrdiff_t>(elements.size())) return true;
      if (expired > 0) std::erase_if(static_cast<StoredWithTtl*>(mutate())->mutate(), isExpired);
      return false;
    });
  }
  const std::vector<V>* alive() const {
    cleanUpSome();
    const StoredWithTtl* stored = found<StoredWithTtl>();
    if (!stored) return nullptr;
    alive_.clear();
    size_t expired = 0;
    for (const auto& element : stored->get()) {
      const bool over = ttl().isExpired(element.lastAccess);
      expired += over;
      if (!over || ttl().returnsExpired()) alive_.push_back(element.value);
    }
    if (expired == stored->get().size())
      clear();
    else if (ttl().updatesOnRead())
      for (auto& element : made<StoredWithTtl>().mutate()) touch(element);
    return alive_.empty() ? nullptr : &alive_;
  }
  void touch(TtlValue<V>& element) const {
    if (!ttl().isExpired(element.lastAccess)) element.lastAccess = ttl().now();
  }
  mutable std::vector<V> alive_;  ///< what the last get() gave, of a state with a time to live
};

template <Serializable UK, Serializable UV>
struct MapStateDescriptor {
  std::string name;
  StateNamespace per = StateNamespace::kVoid;
  std::optional<StateTtlConfig> ttl{};
};
/// A map per key, in the order of its user keys. Flink: MapState; with a time to live, each entry has its own.
template <Serializable UK, Serializable UV>
class MapState : public detail::KeyedStateHandle {
 public:
  using Stored = CopyOnWrite<std::map<UK, UV>>;
  using StoredWithTtl = CopyOnWrite<std::map<UK, TtlValue<UV>>>;
  MapState() = default;
  explicit MapState(KeyedStateTable& table, detail::Ttl ttl = {}) : KeyedStateHandle(table, ttl) {}
  const std::map<UK, UV>& entries() const {
    static const std::map<UK, UV> nothing;
    if (ttl()) return alive();
    const Stored* stored = found<Stored>();
    return stored ? stored->get() : nothing;
  }
  const UV* get(const UK& key) const {
    if (ttl()) return aliveAt(key);
    auto& all = entries();
    auto at = all.find(key);
    return at == all.end() ? nullptr : &at->second;
  }
  bool contains(const UK& key) const { return get(key) != nullptr; }
  /// With a time to live: whether nothing is stored, not even what has expired.
  bool isEmpty() const {
    if (!ttl()) return entries().empty();
    cleanUpSome();
    return found<StoredWithTtl>() == nullptr;
  }
  void put(UK key, UV value) {
    if (!ttl()) {
      made<Stored>().mutate().insert_or_assign(std::move(key), std::move(value));
      return;
    }
    cleanUpSome();
    made<StoredWithTtl>().mutate().insert_or_assign(std::move(key), TtlValue<UV>{ttl().now(), std::move(value)});
  }
  /// The value to be changed in place, made where there is none.
  UV& slot(const UK& key) {
    if (!ttl()) return made<Stored>().mutate()[key];
    cleanUpSome();
    auto& map = made<StoredWithTtl>().mutate();
    auto at = map.find(key);
    if (at == map.end() || ttl().isExpired(at->second.lastAccess)) at = map.insert_or_assign(key, TtlValue<UV>{}).first;
    at->second.lastAccess = ttl().now();
    return at->second.value;
  }
  /// The last entry takes the map with it.
  void remove(const UK& key) {
    if (!ttl()) return removeFrom<Stored>(key);
    cleanUpSome();
    removeFrom<StoredWithTtl>(key);
  }

 private:
  void cleanUpSome() const {
    cleanUp([this](const void* value, const auto& mutate) {
      const auto isExpired = [this](const auto& entry) { return ttl().isExpired(entry.second.lastAccess); };
      const auto& entries = static_cast<const StoredWithTtl*>(value)->get();
      const auto expired = std::count_if(entries.begin(), entries.end(), isExpired);
      if (expired == static_cast<std::ptrdiff_t>(entries.size())) return true;
      if (expired > 0) std::erase_if(static_cast<StoredWithTtl*>(mutate())->mutate(), isExpired);
      return false;
    });
  }
  template <class S>
  void removeFrom(const UK& key) const {
    const S* stored = found<S>();
    if (!stored || !stored->get().contains(key)) return;
    if (stored->get().size() == 1)
      clear();
    else
      made<S>().mutate().erase(key);
  }
  const UV* aliveAt(const UK& key) const {
    cleanUpSome();
    const StoredWithTtl* stored = found<StoredWithTtl>();
    if (!stored) return nullptr;
    const auto at = stored->get().find(key);
    if (at == stored->get().end()) return nullptr;
    if (ttl().isExpired(at->second.lastAccess)) {
      alive_.clear();
      if (ttl().returnsExpired()) alive_.emplace(key, at->second.value);
      removeFrom<StoredWithTtl>(key);
      return alive_.empty() ? nullptr : &alive_.begin()->second;
    }
    if (!ttl().updatesOnRead()) return &at->second.value;
    TtlValue<UV>& touched = made<StoredWithTtl>().mutate().at(key);
    touched.lastAccess = ttl().now();
    return &touched.value;
  }
  const std::map<UK, UV>& alive() const {
    cleanUpSome();
    alive_.clear();
    const StoredWithTtl* stored = found<StoredWithTtl>();
    if (!stored) return alive_;
    std::vector<UK> expired;
    for (const auto& [key, element] : stored->get()) {
      const bool over = ttl().isExpired(element.lastAccess);
      if (over) expired.push_back(key);
      if (!over || ttl().returnsExpired()) alive_.emplace(key, element.value);
    }
    for (const UK& key : expired) removeFrom<StoredWithTtl>(key);
    if (ttl().updatesOnRead() && found<StoredWithTtl>())
      for (auto& [key, element] : made<StoredWithTtl>().mutate()) element.lastAccess = ttl().now();
    return alive_;
  }
  mutable std::map<UK, UV> alive_;  ///< what the last read gave, of a state with a time to live
};

template <Serializable V>
struct ReducingStateDescriptor {
  std::string name;
  std::function<V(const V&, const V&)> reduce;
  StateNamespace per = StateNamespace::kVoid;
  std::optional<StateTtlConfig> ttl{};
};
/// The reduction of all that was added. Flink: ReducingState.
template <Serializable V>
class ReducingState : public detail::OneValue<V> {
 public:
  ReducingState() = default;
  ReducingState(KeyedStateTable& table, std::function<V(const V&, const V&)> reduce, detail::Ttl ttl = {})
      : detail::OneValue<V>(table, ttl), reduce_(std::move(reduce)) {}
  const V* get() const { return this->current(); }
  void add(const V& value) {
    bool created;
    V& sum = this->writable(created);
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
  std::optional<StateTtlConfig> ttl{};
};
/// Flink: AggregatingState.
template <class In, Serializable Acc, class Out>
class AggregatingState : public detail::OneValue<Acc> {
 public:
  AggregatingState() = default;
  AggregatingState(KeyedStateTable& table, const AggregatingStateDescriptor<In, Acc, Out>& d, detail::Ttl ttl = {})
      : detail::OneValue<Acc>(table, ttl), add_(d.add), result_(d.result) {}
  std::optional<Out> get() const {
    const Acc* accumulator = this->current();
    return accumulator ? std::optional<Out>(result_(*accumulator)) : std::nullopt;
  }
  void add(const In& value) { add_(this->writable(), value); }
  const Acc* accumulator() const { return this->current(); }

 private:
  std::function<void(Acc&, const In&)> add_;
  std::function<Out(const Acc&)> result_;
};

}  // namespace weir
