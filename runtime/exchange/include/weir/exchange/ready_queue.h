#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/signal.h"

namespace weir {

/// What a reader waits on. The gates of a union share one.
struct GateSignals {
  Signal available;          ///< some channel may have something
  Signal priorityAvailable;  ///< ... with priority
};

/// Which of a reader's channels have something to read: filled by the writers of many partitions, emptied by one reader.
///
/// Flink: the notifyChannelNonEmpty half of SingleInputGate's queue (and of PartitionRequestQueue's available readers). Split off because
/// it is all that a writer touches of a reader: it is shared, so that a late notification finds something alive, and takes one lock per
/// batch of channels. Threads: add, addPriority, close - any; the rest - the reader. Signals are set after unlocking. Invariants: each
/// channel at most once among the data notifications; after close() nothing is taken any more.
class ReadyQueue {
 public:
  struct Priority {
    uint32_t channel;
    int32_t sequenceNumber;
    bool forced;  ///< a barrier was converted in place: never stale
  };

  /// `onNonEmpty`, if given, is called after the signals, by whoever notifies, each time the queue stops being empty.
  explicit ReadyQueue(uint32_t channels, std::shared_ptr<GateSignals> signals = std::make_shared<GateSignals>(),
                      std::function<void()> onNonEmpty = nullptr);

  /// One channel more, for readers that come and go; its number. By the reader.
  uint32_t addChannel();
  void add(std::span<const uint32_t> channels);
  void add(uint32_t channel) { add({&channel, 1}); }
  void addPriority(std::span<const Priority> events);
  void addPriority(uint32_t channel, int32_t sequenceNumber, bool forced = false) {
    const Priority event{channel, sequenceNumber, forced};
    addPriority({&event, 1});
  }

  /// A relaxed look. False only if nothing was added before the signal was last set and seen.
  bool looksNonEmpty() const { return size_.load(std::memory_order_relaxed) != 0; }
  /// Appends everything to the two lists, in the order of the notifications, and forgets it.
  void drain(std::vector<uint32_t>& data, std::vector<Priority>& priority);
  GateSignals& signals() { return *signals_; }
  /// Before anybody notifies.
  void shareSignals(std::shared_ptr<GateSignals> signals) { signals_ = std::move(signals); }
  void close();

 private:
  Mutex mutex_;
  std::vector<uint32_t> data_;
  std::vector<Priority> priority_;
  std::vector<uint8_t> queued_;  ///< by channel: is in data_
  bool closed_ = false;
  std::atomic<uint32_t> size_{0};
  std::shared_ptr<GateSignals> signals_;
  const std::function<void()> onNonEmpty_;
};

/// Where a subpartition reports to. Empty: nobody reads it.
struct ReaderSlot {
  std::shared_ptr<ReadyQueue> queue;
  uint32_t channel = 0;
};

/// Notifications collected under the locks of subpartitions and delivered after them: one lock and one wake-up for a run of channels of the
/// same reader. Collect under the lock, call settle() after it, deliver() (or the destructor) at the end. Used by one actor, on its stack.
class NotificationBatch {
 public:
  NotificationBatch() {}
  NotificationBatch(const NotificationBatch&) = delete;
  NotificationBatch& operator=(const NotificationBatch&) = delete;
  ~NotificationBatch() { deliver(); }

  /// Only notes it down. At most one call between two settle().
  void data(const ReaderSlot& reader) {
    if (reader.queue == queue_ && count_ < kRun) channels_[count_++] = reader.channel;
    else next_ = reader;
  }
  void priority(const ReaderSlot& reader, int32_t sequenceNumber, bool forced = false) {
    const ReadyQueue::Priority event{reader.channel, sequenceNumber, forced};
    if (reader.queue == urgentQueue_ && urgentCount_ < kRun) {
      urgent_[urgentCount_++] = event;
      return;
    }
    nextUrgent_ = reader.queue;
    nextUrgentEvent_ = event;
  }
  void settle() {
    if (next_.queue || nextUrgent_) [[unlikely]] settleSlow();
  }
  void deliver();

 private:
  /// So that the first reader of a broadcast to thousands of channels starts before its last channel is written.
  static constexpr uint32_t kRun = 64;
  void settleSlow();
  void deliverUrgent();

  std::shared_ptr<ReadyQueue> queue_;
  uint32_t count_ = 0;
  std::array<uint32_t, kRun> channels_;  // uninitialized on purpose: count_ says how many are valid
  ReaderSlot next_;

  // The same for priority events, which are told first.
  std::shared_ptr<ReadyQueue> urgentQueue_, nextUrgent_;
  uint32_t urgentCount_ = 0;
  std::array<ReadyQueue::Priority, kRun> urgent_;  // uninitialized, as channels_
  ReadyQueue::Priority nextUrgentEvent_{};
};

}  // namespace weir
