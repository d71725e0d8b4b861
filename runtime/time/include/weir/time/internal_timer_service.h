#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "weir/backend/keyed_state_backend.h"
#include "weir/record/stream_element.h"
#include "weir/time/processing_time_service.h"

namespace weir {

/// Who is called when a timer is due; the backend's current key is that of the timer. Flink: Triggerable.
template <class K, class N>
class Triggerable {
 public:
  virtual void onEventTime(const InternalTimer<K, N>& timer) = 0;
  virtual void onProcessingTime(const InternalTimer<K, N>& timer) = 0;

 protected:
  ~Triggerable() = default;
};

/// Asked between two timers whether something waits that must not wait for all of them.
class Interruption {
 public:
  virtual bool isRequested() const = 0;

 protected:
  ~Interruption() = default;
};

/// A timer service without its types: what an operator does with it when a watermark comes.
class AnyTimerService {
 public:
  virtual ~AnyTimerService() = default;
  /// Fires what is due up to `time`, in order. False: interrupted in between; to be called again with the same time. Without an
  /// interruption (null) it always ends.
  virtual bool advanceWatermark(int64_t time, const Interruption* interruption) = 0;
  virtual int64_t numEventTimeTimers() const = 0;
  virtual int64_t numProcessingTimeTimers() const = 0;
};

/// Timers of one operator under one name, per key and namespace (nothing, or a window), in event and in processing time.
///
/// Flink: InternalTimerServiceImpl. A timer is a (time, key, namespace): setting it twice is setting it once. Event-time timers fire in the
/// order of time when the watermark reaches them, also those that are set while others fire; one that lies behind the watermark fires with
/// the next one. A processing-time timer fires when the clock has passed it. The timers are part of the backend's snapshots; the watermark
/// is not: after a restore it begins at Long.MIN_VALUE again. Used by the task alone.
template <class K, class N>
class InternalTimerService final : public AnyTimerService {
 public:
  using Timer = InternalTimer<K, N>;

  /// All outlive it. Overdue processing-time timers of a restored queue fire as soon as the task runs.
  InternalTimerService(KeyedStateBackend<K>& backend, TimerQueue<K, N>& processingTime, TimerQueue<K, N>& eventTime,
                       ProcessingTimeService& clock, Triggerable<K, N>& target)
      : backend_(backend), processingTime_(processingTime), eventTime_(eventTime), clock_(clock), target_(target) {
    if (!processingTime_.isEmpty()) schedule(processingTime_.headTimestamp());
  }
  ~InternalTimerService() override { clock_.cancelTimer(scheduled_); }
  InternalTimerService(const InternalTimerService&) = delete;
  InternalTimerService& operator=(const InternalTimerService&) = delete;

  int64_t currentProcessingTime() const { return clock_.currentProcessingTime(); }
  /// Long.MIN_VALUE before the first one.
  int64_t currentWatermark() const { return watermark_; }

  /// For the backend's current key.
  void registerEventTimeTimer(const N& nameSpace, int64_t time) { registerEventTimeTimer(backend_.currentKey(), nameSpace, time); }
  void deleteEventTimeTimer(const N& nameSpace, int64_t time) { deleteEventTimeTimer(backend_.currentKey(), nameSpace, time); }
  void registerProcessingTimeTimer(const N& nameSpace, int64_t time) {
    registerProcessingTimeTimer(backend_.currentKey(), nameSpace, time);
  }
  void deleteProcessingTimeTimer(const N& nameSpace, int64_t time) { deleteProcessingTimeTimer(backend_.currentKey(), nameSpace, time); }

  /// For operators that work in batches and set no current key.
  void registerEventTimeTimer(const K& key, const N& nameSpace, int64_t time) { eventTime_.add(time, key, nameSpace); }
  void deleteEventTimeTimer(const K& key, const N& nameSpace, int64_t time) { eventTime_.remove(time, key, nameSpace); }
  void registerProcessingTimeTimer(const K& key, const N& nameSpace, int64_t time) {
    const bool first = processingTime_.isEmpty() || time < processingTime_.headTimestamp();
    if (!processingTime_.add(time, key, nameSpace) || !first) return;
    clock_.cancelTimer(std::exchange(scheduled_, 0));
    schedule(time);
  }
  void deleteProcessingTimeTimer(const K& key, const N& nameSpace, int64_t time) { processingTime_.remove(time, key, nameSpace); }

  bool advanceWatermark(int64_t time, const Interruption* interruption = nullptr) override {
    watermark_ = time;
    while (eventTime_.pollUntil(time, fired_)) {
      backend_.setCurrentKey(fired_.key);
      target_.onEventTime(fired_);
      if (interruption && interruption->isRequested() && !eventTime_.isEmpty() && eventTime_.headTimestamp() <= time) return false;
    }
    return true;
  }
  int64_t numEventTimeTimers() const override { return eventTime_.size(); }
  int64_t numProcessingTimeTimers() const override { return processingTime_.size(); }

 private:
  void schedule(int64_t time) {
    scheduled_ = clock_.registerTimer(time, [this](int64_t due) { onProcessingTime(due); });
  }
  void onProcessingTime(int64_t due) {
    scheduled_ = 0;
    while (processingTime_.pollUntil(due, fired_)) {
      backend_.setCurrentKey(fired_.key);
      target_.onProcessingTime(fired_);
    }
    if (scheduled_ == 0 && !processingTime_.isEmpty()) schedule(processingTime_.headTimestamp());
  }

  KeyedStateBackend<K>& backend_;
  TimerQueue<K, N>& processingTime_;
  TimerQueue<K, N>& eventTime_;
  ProcessingTimeService& clock_;
  Triggerable<K, N>& target_;
  int64_t watermark_ = kNoTimestamp;
  ProcessingTimeService::TimerId scheduled_ = 0;  ///< for the first processing-time timer; 0: none
  Timer fired_;                                   ///< used again, so that a key keeps its memory
};

/// The names under which a backend keeps the timers of a service: those of Flink's state files.
inline std::string processingTimeTimersName(const std::string& service) { return "_timer_state/processing_" + service; }
inline std::string eventTimeTimersName(const std::string& service) { return "_timer_state/event_" + service; }

}  // namespace weir
