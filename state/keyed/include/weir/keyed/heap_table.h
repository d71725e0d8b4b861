#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/backend/keyed_state_backend.h"
#include "weir/base/error.h"
#include "weir/exchange/java_hash.h"
#include "weir/exchange/key_groups.h"
#include "weir/backend/hash_index.h"
#include "weir/keyed/cleanup_turns.h"
#include "weir/keyed/heap_snapshot.h"
#include "weir/keyed/key_column.h"
#include "weir/keyed/value_column.h"

namespace weir {

/// What all tables of a heap backend share.
template <class K>
struct HeapContext {
  KeyGroupRange range;
  int32_t maxParallelism;
  SnapshotEpochs epochs;
  K currentKey{};
  uint64_t currentHash = 0;
  uint64_t keyChanges = 0;  ///< how often currentKey was set, from 1 on: 0 means never

  /// Throws where a key of this group is none of this backend's.
  void checkOwned(int32_t group) const {
    if (range.contains(group)) [[likely]]
      return;
    throw Throwable(
        "java.lang.IllegalArgumentException",
        fmt::format("Key group {} is not in KeyGroupRange{{startKeyGroup={}, endKeyGroup={}}}. The key of this record is not the "
                    "one that it was sent here by: a key selector must give the same key for the same record.",
                    group, range.first, range.last));
  }
};

/// A table by its key type.
template <class K>
class AnyHeapTable : public KeyedTable<K> {
 public:
  virtual const StateType& type() const = 0;
  virtual StateNamespace per() const = 0;
  /// Takes what is there now: lists of chunks, no value is copied.
  virtual std::unique_ptr<StateSnapshot> snapshot() const = 0;
  /// Adds what was restored. Requires: an empty table.
  virtual Result<void> load(const RestoredState& state) = 0;
  virtual void visit(const std::function<void(uint16_t keyGroup, const K& key, const TimeWindow& window)>& each) const = 0;
};

namespace detail {
template <class K, class N>
using KeyColumnPtr = std::shared_ptr<KeyColumn<K, N>>;

/// The entries of a HeapTable as they were.
template <class K, class N>
class HeapTableSnapshot final : public StateSnapshot {
 public:
  HeapTableSnapshot(std::shared_ptr<const StateMeta> meta, KeyColumnPtr<K, N> keys, std::shared_ptr<ValueColumn> values)
      : meta_(std::move(meta)), keys_(std::move(keys)), values_(std::move(values)), keyChunks_(keys_->chunks()),
        valueChunks_(values_->chunks()), used_(keys_->used()) {}
  const StateMeta& meta() const override { return *meta_; }

  void sort(KeyGroupRange range) override {
    order_.sort(range, used_, KeyColumn<K, N>::kFree, [&](uint32_t entry) { return KeyColumn<K, N>::keyGroup(keyChunks_, entry); });
  }
  int32_t numEntries(int32_t keyGroup) const override { return static_cast<int32_t>(order_.of(keyGroup).size()); }
  void writeEntries(int32_t keyGroup, DataOutput& out) const override {
    for (const uint32_t entry : order_.of(keyGroup)) {
      const auto& chunk = KeyColumn<K, N>::chunkOf(keyChunks_, entry);
      serialize(out, chunk.space(entry));
      serialize(out, chunk.key(entry));
      values_->type().write(values_->at(valueChunks_, entry), out);
    }
  }

 private:
  const std::shared_ptr<const StateMeta> meta_;
  const std::shared_ptr<const KeyColumn<K, N>> keys_;
  const std::shared_ptr<const ValueColumn> values_;
  const typename KeyColumn<K, N>::ChunkList keyChunks_;
  const ValueColumn::ChunkList valueChunks_;
  const uint32_t used_;
  EntriesByKeyGroup order_;
};
}  // namespace detail

/// One state of a heap backend: an index of hashes over a column of keys and a column of values. N: VoidNamespace or TimeWindow.
///
/// Flink: CopyOnWriteStateTable. Differs: one table for all key groups (a snapshot sorts by key group, on its worker), chunks instead of
/// entries are copied on write, and a batch of keys is looked up in three steps that overlap their cache misses.
template <class K, class N>
class HeapTable final : public AnyHeapTable<K> {
 public:
  HeapTable(HeapContext<K>& context, std::string name, std::shared_ptr<const StateType> type)
      : context_(context), name_(std::move(name)), meta_(std::make_shared<StateMeta>(metaOf(name_, *type))),
        keys_(std::make_shared<KeyColumn<K, N>>(context.epochs)), values_(std::make_shared<ValueColumn>(std::move(type), context.epochs)) {}

  const StateType& type() const override { return values_->type(); }
  StateNamespace per() const override { return kWindowed ? StateNamespace::kTimeWindow : StateNamespace::kVoid; }
  int64_t numEntries() const override { return static_cast<int64_t>(index_.size()); }

  void setCurrentNamespace(const TimeWindow& window) override {
    if constexpr (kWindowed) {
      space_ = window;
      foundAt_ = 0;
    } else {
      WEIR_CHECK(false, "state {} is not per window", name_);
    }
  }

  const void* find() override {
    const uint32_t entry = findCurrent();
    return entry == kNone ? nullptr : values_->read(entry);
  }

  void* findOrCreate(bool& created) override {
    const uint32_t entry = findCurrent();
    created = entry == kNone;
    if (!created) return values_->write(entry);
    void* value = create(context_.currentKey, space_, tagOf(context_.currentHash, space_));
    foundEntry_ = lastCreated_;
    return value;
  }

  void remove() override {
    const uint32_t entry = findCurrent();
    if (entry == kNone) return;
    erase(entry, tagOf(context_.currentHash, space_));
    foundEntry_ = kNone;
  }

  void keepTurns() override {
    if (turns_) return;
    turns_.emplace(context_.range);
    for (uint32_t entry = 0; entry < keys_->used(); ++entry) {
      const uint16_t group = KeyColumn<K, N>::keyGroup(keys_->chunks(), entry);
      if (group != KeyColumn<K, N>::kFree) turns_->add(entry, group, turnHashOf(entry));
    }
  }

  void cleanUpSome(const KeyedStateTable::Expired& expired) override {
    WEIR_CHECK(turns_.has_value());
    for (const uint32_t entry : turns_->next()) {
      if (!expired(values_->read(entry), [&] { return values_->write(entry); })) continue;
      erase(entry, tagOf(fastHash(keys_->key(entry)), KeyColumn<K, N>::chunkOf(keys_->chunks(), entry).space(entry)));
      foundAt_ = 0;
    }
  }

  void slots(std::span<const K* const> keys, const TimeWindow* windows, void** out, bool* created) override {
    WEIR_CHECK_EQ(kWindowed, windows != nullptr);
    const size_t n = keys.size();
    WEIR_CHECK_LE(n, kBatch);
    // Copies, so that storing into `out` does not make the compiler fetch them again.
    const auto* const keyColumn = keys_.get();
    auto* const valueColumn = values_.get();
    std::array<uint32_t, kBatch> tags;
    std::array<uint32_t, kBatch> candidates;
    std::array<size_t, kBatch> positions;
    for (size_t i = 0; i < n; ++i) {
      tags[i] = tagOf(fastHash(*keys[i]), spaceOf(windows, i));
      index_.prefetch(tags[i]);
    }
    for (size_t i = 0; i < n; ++i) {
      positions[i] = index_.home(tags[i]);
      candidates[i] = index_.next(tags[i], positions[i]);
      if (candidates[i] == kNone) continue;
      keyColumn->prefetch(candidates[i]);
      valueColumn->prefetch(candidates[i]);
    }
    // Until the first creation the candidates hold; a creation may move the index, and a key may come again behind it.
    size_t i = 0;
    for (; i < n; ++i) {
      const uint32_t entry = confirm(candidates[i], tags[i], positions[i], *keys[i], spaceOf(windows, i));
      if (entry == kNone) break;
      out[i] = valueColumn->write(entry);
      if (created) created[i] = false;
    }
    for (; i < n; ++i) {
      const uint32_t entry = lookUp(*keys[i], spaceOf(windows, i), tags[i]);
      if (created) created[i] = entry == kNone;
      out[i] = entry == kNone ? create(*keys[i], spaceOf(windows, i), tags[i]) : values_->write(entry);
    }
    foundAt_ = 0;
  }

  std::unique_ptr<StateSnapshot> snapshot() const override {
    keys_->releaseRetired();
    values_->releaseRetired();
    return std::make_unique<detail::HeapTableSnapshot<K, N>>(meta_, keys_, values_);
  }

  Result<void> load(const RestoredState& state) override {
    for (const auto& entry : state.entries) {
      DataInput in(entry.bytes);
      N space{};
      K key{};
      if (!Serializer<N>::read(in, space) || !Serializer<K>::read(in, key)) return in.error(state.file + ": a key of state " + name_);
      if (assignToKeyGroup(key, context_.maxParallelism) != entry.keyGroup) {
        return Error{ErrorCode::kCorrupt, fmt::format("{}: a key of state {} is in key group {}, but belongs to {}", state.file, name_,
                                                      entry.keyGroup, assignToKeyGroup(key, context_.maxParallelism))};
      }
      const uint32_t tag = tagOf(fastHash(key), space);
      if (lookUp(key, space, tag) != kNone)
        return Error{ErrorCode::kCorrupt, fmt::format("{}: a key of state {} comes twice", state.file, name_)};
      void* value = create(key, space, tag);
      if (!type().read(in, value)) return in.error(state.file + ": a value of state " + name_);
    }
    return {};
  }

  void visit(const std::function<void(uint16_t, const K&, const TimeWindow&)>& each) const override {
    for (uint32_t entry = 0; entry < keys_->used(); ++entry) {
      const auto& chunk = KeyColumn<K, N>::chunkOf(keys_->chunks(), entry);
      const uint16_t group = KeyColumn<K, N>::keyGroup(keys_->chunks(), entry);
      if (group == KeyColumn<K, N>::kFree) continue;
      if constexpr (kWindowed)
        each(group, chunk.key(entry), chunk.space(entry));
      else
        each(group, chunk.key(entry), TimeWindow{});
    }
  }

  static StateMeta metaOf(const std::string& name, const StateType& type) {
    return {name,
            StateMeta::Kind::kKeyValue,
            {{std::string(kKeyedStateTypeOption), std::string(toString(type.kind()))}},
            {{std::string(kValueSerializer), type.snapshot()}, {std::string(kNamespaceSerializer), Serializer<N>::snapshot()}}};
  }

 private:
  static constexpr bool kWindowed = std::is_same_v<N, TimeWindow>;
  static constexpr uint32_t kNone = HashIndex::kNone;
  static constexpr size_t kBatch = 64;
  static constexpr int32_t kHashOfVoidNamespace = 99;  ///< Java's

  static uint32_t tagOf(uint64_t keyHash, const N& space) {
    if constexpr (kWindowed)
      return static_cast<uint32_t>(combineHash(keyHash, fastHash(space)) >> 32);
    else
      return static_cast<void>(space), static_cast<uint32_t>(keyHash >> 32);
  }
  static const N& spaceOf(const TimeWindow* windows, size_t i) {
    if constexpr (kWindowed) {
      return windows[i];
    } else {
      static constexpr N kNothing{};
      return static_cast<void>(windows), static_cast<void>(i), kNothing;
    }
  }

  /// The first of the entries from `candidate` on that has this key.
  uint32_t confirm(uint32_t candidate, uint32_t tag, size_t& position, const K& key, const N& space) const {
    while (candidate != kNone && !keys_->matches(candidate, key, space)) candidate = index_.next(tag, position);
    return candidate;
  }
  uint32_t lookUp(const K& key, const N& space, uint32_t tag) const {
    size_t position = index_.home(tag);
    return confirm(index_.next(tag, position), tag, position, key, space);
  }
  /// The entry of the current key; reading and then writing a value looks it up once.
  uint32_t findCurrent() {
    WEIR_CHECK(context_.keyChanges > 0, "state {} is used before a key was set", name_);
    if (foundAt_ != context_.keyChanges) {
      foundEntry_ = lookUp(context_.currentKey, space_, tagOf(context_.currentHash, space_));
      foundAt_ = context_.keyChanges;
    }
    return foundEntry_;
  }
  void erase(uint32_t entry, uint32_t tag) {
    if (turns_) turns_->remove(entry, KeyColumn<K, N>::keyGroup(keys_->chunks(), entry), turnHashOf(entry));
    index_.erase(tag, entry);
    values_->destroy(entry);
    keys_->remove(entry);
  }
  /// Java's hash of key and namespace; of windows another one, since their order is of no consequence.
  int32_t turnHashOf(uint32_t entry) const {
    const auto& chunk = KeyColumn<K, N>::chunkOf(keys_->chunks(), entry);
    if constexpr (kWindowed)
      return javaHash(chunk.key(entry)) ^ static_cast<int32_t>(fastHash(chunk.space(entry)));
    else
      return javaHash(chunk.key(entry)) ^ kHashOfVoidNamespace;
  }
  [[gnu::noinline]] void* create(const K& key, const N& space, uint32_t tag) {
    const int32_t group = assignToKeyGroup(key, context_.maxParallelism);
    context_.checkOwned(group);
    lastCreated_ = keys_->add(key, space, static_cast<uint16_t>(group));
    index_.insert(tag, lastCreated_);
    if (turns_) turns_->add(lastCreated_, group, turnHashOf(lastCreated_));
    return values_->construct(lastCreated_);
  }

  HeapContext<K>& context_;
  const std::string name_;
  const std::shared_ptr<const StateMeta> meta_;
  HashIndex index_;
  const std::shared_ptr<KeyColumn<K, N>> keys_;
  const std::shared_ptr<ValueColumn> values_;
  N space_{};
  uint64_t foundAt_ = 0;  ///< the key change at which foundEntry_ was right; 0: never
  uint32_t foundEntry_ = kNone;
  uint32_t lastCreated_ = kNone;
  std::optional<CleanupTurns> turns_;  ///< of a state with time to live
};

}  // namespace weir
