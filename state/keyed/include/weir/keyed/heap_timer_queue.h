#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/backend/timer_queue.h"
#include "weir/keyed/heap_table.h"

namespace weir {

/// A timer queue without its namespace: what the backend does with it.
class AnyHeapTimerQueue {
 public:
  virtual ~AnyHeapTimerQueue() = default;
  virtual const std::string& name() const = 0;
  virtual int64_t numTimers() const = 0;
  /// Takes what is there now: lists of chunks, no timer is copied.
  virtual std::unique_ptr<StateSnapshot> snapshot() const = 0;
  /// Adds what was restored. Requires: an empty queue.
  virtual Result<void> load(const RestoredState& state) = 0;
};

namespace detail {
/// What a timer is besides its key.
template <class N>
struct TimerPlace {
  int64_t timestamp = 0;
  [[no_unique_address]] N space{};
  bool operator==(const TimerPlace&) const = default;
};

/// Files order timestamps as unsigned numbers.
inline int64_t flipSign(int64_t timestamp) { return static_cast<int64_t>(static_cast<uint64_t>(timestamp) ^ uint64_t{1} << 63); }

template <class K, class N>
class HeapTimerSnapshot final : public StateSnapshot {
 public:
  using Column = KeyColumn<K, TimerPlace<N>>;
  HeapTimerSnapshot(std::shared_ptr<const StateMeta> meta, std::shared_ptr<const Column> timers)
      : meta_(std::move(meta)), timers_(std::move(timers)), chunks_(timers_->chunks()), used_(timers_->used()) {}
  const StateMeta& meta() const override { return *meta_; }
  void sort(KeyGroupRange range) override {
    order_.sort(range, used_, Column::kFree, [&](uint32_t entry) { return Column::keyGroup(chunks_, entry); });
  }
  int32_t numEntries(int32_t keyGroup) const override { return static_cast<int32_t>(order_.of(keyGroup).size()); }
  void writeEntries(int32_t keyGroup, DataOutput& out) const override {
    for (const uint32_t entry : order_.of(keyGroup)) {
      const auto& chunk = Column::chunkOf(chunks_, entry);
      out.writeLong(flipSign(chunk.space(entry).timestamp));
      serialize(out, chunk.key(entry));
      serialize(out, chunk.space(entry).space);
    }
  }

 private:
  const std::shared_ptr<const StateMeta> meta_;
  const std::shared_ptr<const Column> timers_;
  const typename Column::ChunkList chunks_;
  const uint32_t used_;
  EntriesByKeyGroup order_;
};
}  // namespace detail

/// Timers of a heap backend: a heap of four children per node over a column of keys, times and namespaces, and an index of hashes that
/// finds a timer by what it is. The column is shared with snapshots chunk by chunk, as that of a HeapTable.
///
/// Flink: HeapPriorityQueueSet, KeyGroupPartitionedPriorityQueue. Differs: one heap for all key groups; of equal times the timer that was
/// added first comes first.
template <class K, class N>
class HeapTimerQueue final : public TimerQueue<K, N>, public AnyHeapTimerQueue {
 public:
  HeapTimerQueue(const HeapContext<K>& context, SnapshotEpochs& epochs, std::string name)
      : context_(context), name_(std::move(name)), meta_(std::make_shared<StateMeta>(metaOf(name_))),
        timers_(std::make_shared<Column>(epochs)) {}

  bool add(int64_t timestamp, const K& key, const N& nameSpace) override {
    const Place place{timestamp, nameSpace};
    const uint32_t tag = tagOf(key, place);
    if (lookUp(key, place, tag) != kNone) return false;
    const int32_t group = assignToKeyGroup(key, context_.maxParallelism);
    context_.checkOwned(group);
    insert(key, place, tag, group);
    return true;
  }
  bool remove(int64_t timestamp, const K& key, const N& nameSpace) override {
    const Place place{timestamp, nameSpace};
    const uint32_t tag = tagOf(key, place);
    const uint32_t entry = lookUp(key, place, tag);
    if (entry == kNone) return false;
    erase(entry, tag);
    return true;
  }
  bool isEmpty() const override { return heap_.empty(); }
  int64_t headTimestamp() const override { return heap_.front().timestamp; }
  bool pollUntil(int64_t time, InternalTimer<K, N>& into) override {
    if (heap_.empty() || heap_.front().timestamp > time) return false;
    const uint32_t entry = heap_.front().entry;
    const auto& chunk = Column::chunkOf(timers_->chunks(), entry);
    into.timestamp = chunk.space(entry).timestamp;
    into.key = chunk.key(entry);
    into.nameSpace = chunk.space(entry).space;
    erase(entry, tagOf(into.key, chunk.space(entry)));
    return true;
  }
  int64_t size() const override { return static_cast<int64_t>(heap_.size()); }
  void visit(const std::function<void(const InternalTimer<K, N>&)>& each) const override {
    for (const Node& node : heap_) {
      const auto& chunk = Column::chunkOf(timers_->chunks(), node.entry);
      each({node.timestamp, chunk.key(node.entry), chunk.space(node.entry).space});
    }
  }

  const std::string& name() const override { return name_; }
  int64_t numTimers() const override { return size(); }
  std::unique_ptr<StateSnapshot> snapshot() const override {
    timers_->releaseRetired();
    return std::make_unique<detail::HeapTimerSnapshot<K, N>>(meta_, timers_);
  }
  Result<void> load(const RestoredState& state) override {
    for (const auto& entry : state.entries) {
      DataInput in(entry.bytes);
      Place place;
      place.timestamp = detail::flipSign(in.readLong());
      K key{};
      if (!Serializer<K>::read(in, key) || !Serializer<N>::read(in, place.space)) return in.error(state.file + ": a timer of " + name_);
      const int32_t group = assignToKeyGroup(key, context_.maxParallelism);
      if (group != entry.keyGroup) {
        return Error{ErrorCode::kCorrupt, fmt::format("{}: the key of a timer of {} is in key group {}, but belongs to {}", state.file,
                                                      name_, entry.keyGroup, group)};
      }
      const uint32_t tag = tagOf(key, place);
      if (lookUp(key, place, tag) != kNone)
        return Error{ErrorCode::kCorrupt, fmt::format("{}: a timer of {} comes twice", state.file, name_)};
      insert(key, place, tag, group);
    }
    return {};
  }

  static StateMeta metaOf(const std::string& name) {
    return {name,
            StateMeta::Kind::kTimerQueue,
            {},
            {{std::string(kValueSerializer), SerializerSnapshot::timer(Serializer<K>::snapshot(), Serializer<N>::snapshot())}}};
  }

 private:
  using Place = detail::TimerPlace<N>;
  using Column = KeyColumn<K, Place>;
  static constexpr uint32_t kNone = HashIndex::kNone;
  static constexpr size_t kChildren = 4;

  struct Node {
    int64_t timestamp;
    uint32_t entry;
    uint32_t added;  ///< a count: who was first
    bool before(const Node& other) const {
      if (timestamp != other.timestamp) return timestamp < other.timestamp;
      return static_cast<int32_t>(added - other.added) < 0;
    }
  };

  static uint32_t tagOf(const K& key, const Place& place) {
    uint64_t hash = combineHash(fastHash(key), static_cast<uint64_t>(place.timestamp));
    if constexpr (std::is_same_v<N, TimeWindow>) hash = combineHash(hash, fastHash(place.space));
    return static_cast<uint32_t>(hash >> 32);
  }
  uint32_t lookUp(const K& key, const Place& place, uint32_t tag) const {
    size_t position = index_.home(tag);
    uint32_t candidate = index_.next(tag, position);
    while (candidate != kNone && !timers_->matches(candidate, key, place)) candidate = index_.next(tag, position);
    return candidate;
  }
  void insert(const K& key, const Place& place, uint32_t tag, int32_t group) {
    const uint32_t entry = timers_->add(key, place, static_cast<uint16_t>(group));
    index_.insert(tag, entry);
    if (entry == positions_.size()) positions_.push_back(0);
    heap_.push_back({place.timestamp, entry, added_++});
    siftUp(heap_.size() - 1);
  }
  void erase(uint32_t entry, uint32_t tag) {
    index_.erase(tag, entry);
    timers_->remove(entry);
    const size_t hole = positions_[entry];
    const Node last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return;
    put(hole, last);
    siftDown(hole);
    siftUp(hole);
  }
  void put(size_t at, const Node& node) {
    heap_[at] = node;
    positions_[node.entry] = static_cast<uint32_t>(at);
  }
  void siftUp(size_t at) {
    const Node node = heap_[at];
    for (size_t parent; at > 0 && node.before(heap_[parent = (at - 1) / kChildren]); at = parent) put(at, heap_[parent]);
    put(at, node);
  }
  void siftDown(size_t at) {
    const Node node = heap_[at];
    for (size_t first; (first = at * kChildren + 1) < heap_.size();) {
      size_t least = first;
      for (size_t child = first + 1; child < std::min(first + kChildren, heap_.size()); ++child)
        if (heap_[child].before(heap_[least])) least = child;
      if (!heap_[least].before(node)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, node);
  }

  const HeapContext<K>& context_;
  const std::string name_;
  const std::shared_ptr<const StateMeta> meta_;
  const std::shared_ptr<Column> timers_;
  HashIndex index_;
  std::vector<Node> heap_;
  std::vector<uint32_t> positions_;  ///< by entry: where it is in the heap
  uint32_t added_ = 0;
};

}  // namespace weir
