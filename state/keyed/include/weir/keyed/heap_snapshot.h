#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/backend/keyed_state_backend.h"
#include "weir/checkpoint/state_meta.h"
#include "weir/keyed/snapshot_epochs.h"

namespace weir {

/// One state in a running snapshot: immutable, read by a snapshot worker.
class StateSnapshot {
 public:
  virtual ~StateSnapshot() = default;
  virtual const StateMeta& meta() const = 0;
  /// Once, before the two below: orders the entries by key group.
  virtual void sort(KeyGroupRange range) = 0;
  virtual int32_t numEntries(int32_t keyGroup) const = 0;
  /// Namespace, key and value of each.
  virtual void writeEntries(int32_t keyGroup, DataOutput& out) const = 0;
};

/// The entry numbers of one state ordered by key group: what a snapshot needs before it writes.
class EntriesByKeyGroup {
 public:
  /// Of the entries below `used`; groupOf(entry) is its key group, or `free` where there is none.
  template <class GroupOf>
  void sort(KeyGroupRange range, uint32_t used, uint16_t free, GroupOf groupOf) {
    first_ = range.first;
    starts_.assign(static_cast<size_t>(range.size()) + 1, 0);
    auto each = [&](auto&& visit) {
      for (uint32_t entry = 0; entry < used; ++entry) {
        const uint16_t group = groupOf(entry);
        if (group != free) visit(static_cast<size_t>(group - first_), entry);
      }
    };
    each([&](size_t group, uint32_t) { ++starts_[group + 1]; });
    for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
    order_.resize(starts_.back());
    std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
    each([&](size_t group, uint32_t entry) { order_[next[group]++] = entry; });
  }
  std::span<const uint32_t> of(int32_t keyGroup) const {
    const auto group = static_cast<size_t>(keyGroup - first_);
    return std::span(order_).subspan(starts_[group], starts_[group + 1] - starts_[group]);
  }

 private:
  int32_t first_ = 0;
  std::vector<uint32_t> starts_, order_;
};

/// A state as it was restored, in bytes: until somebody registers it, and to be written again if nobody does. Immutable once read.
struct RestoredState {
  struct Entry {
    int32_t keyGroup;
    std::span<const uint8_t> bytes;  ///< namespace, key, value
  };
  StateMeta meta;
  std::vector<Entry> entries;  ///< in the order of the file
  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory;
  std::string file;  ///< the first one, for messages
};

/// Reads the parts of handles that lie in `range`: all their states, as bytes. `key`: the serializer of the operator's keys.
Result<std::vector<std::shared_ptr<RestoredState>>> readKeyedState(std::span<const KeyedHandle> handles, KeyGroupRange range,
                                                                   const SerializerSnapshot& key, CheckpointWorkerStorage& storage);

/// An error where a state was restored that `wanted` cannot read.
Result<void> checkCompatible(const RestoredState& restored, const StateMeta& wanted);

std::unique_ptr<StateSnapshot> snapshotOf(std::shared_ptr<const RestoredState> state);

/// Writes states in the layout of Flink's heap backend: a head, then for each key group of the range all states. Flink:
/// HeapSnapshotStrategy.
class HeapSnapshotJob final : public KeyedSnapshotJob {
 public:
  HeapSnapshotJob(KeyGroupRange range, std::shared_ptr<const SerializerSnapshot> key, Random random,
                  std::vector<std::unique_ptr<StateSnapshot>> states, std::shared_ptr<SnapshotEpochs::Running> running)
      : range_(range), key_(std::move(key)), random_(random), states_(std::move(states)), running_(std::move(running)) {}
  ~HeapSnapshotJob() override { running_->done.store(true, std::memory_order_release); }
  Result<std::optional<KeyedHandle>> write(CheckpointStreamFactory& factory) override;

 private:
  const KeyGroupRange range_;
  const std::shared_ptr<const SerializerSnapshot> key_;
  Random random_;  ///< for the handle's id
  const std::vector<std::unique_ptr<StateSnapshot>> states_;
  const std::shared_ptr<SnapshotEpochs::Running> running_;
};

}  // namespace weir
