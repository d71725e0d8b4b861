#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "weir/backend/keyed_state.h"
#include "weir/base/clock.h"
#include "weir/base/result.h"
#include "weir/windowing/element_ref.h"

namespace weir {

/// What a trigger wants done with its window. Flink: TriggerResult.
enum class TriggerResult { kContinue, kFire, kPurge, kFireAndPurge };
constexpr bool isFire(TriggerResult r) { return r == TriggerResult::kFire || r == TriggerResult::kFireAndPurge; }
constexpr bool isPurge(TriggerResult r) { return r == TriggerResult::kPurge || r == TriggerResult::kFireAndPurge; }

/// The window of one key as a trigger sees it: time, timers, and state of its own. Made by the window operator; a test may fake it.
/// Flink: Trigger.TriggerContext and OnMergeContext.
class TriggerContext {
 public:
  virtual ~TriggerContext() = default;
  virtual int64_t getCurrentWatermark() const = 0;
  virtual int64_t getCurrentProcessingTime() const = 0;
  /// Registering a timer twice, or deleting one that is not there, changes nothing.
  virtual void registerEventTimeTimer(int64_t time) = 0;
  virtual void registerProcessingTimeTimer(int64_t time) = 0;
  virtual void deleteEventTimeTimer(int64_t time) = 0;
  virtual void deleteProcessingTimeTimer(int64_t time) = 0;

  /// State of this key and window. Valid until the call of the trigger returns.
  template <class V>
  ValueState<V> getPartitionedState(const ValueStateDescriptor<V>& d) {
    return ValueState<V>(table<V>(d.name, StateKind::kValue, window()));
  }
  template <class V>
  ReducingState<V> getPartitionedState(const ReducingStateDescriptor<V>& d) {
    return ReducingState<V>(table<V>(d.name, StateKind::kReducing, window()), d.reduce);
  }
  /// In Trigger::onMerge only: reduces what the merged windows have into this one; theirs is gone.
  template <class V>
  void mergePartitionedState(const ReducingStateDescriptor<V>& d) {
    std::optional<V> sum;
    for (const TimeWindow& merged : mergedWindows()) {
      KeyedStateTable& from = table<V>(d.name, StateKind::kReducing, merged);
      const auto* value = static_cast<const V*>(from.find());
      if (!value) continue;
      sum = sum ? d.reduce(*sum, *value) : *value;
      from.remove();
    }
    if (!sum) return;
    bool created;
    V& into = *static_cast<V*>(table<V>(d.name, StateKind::kReducing, window()).findOrCreate(created));
    into = created ? *sum : d.reduce(into, *sum);
  }

 protected:
  virtual const TimeWindow& window() const = 0;
  virtual std::span<const TimeWindow> mergedWindows() const = 0;
  /// Null where no state of this name was asked for yet.
  virtual KeyedStateTable* known(const std::string& name, const std::type_info& type) = 0;
  virtual KeyedStateTable& made(const std::string& name, std::shared_ptr<const StateType> type) = 0;

 private:
  template <class V>
  KeyedStateTable& table(const std::string& name, StateKind kind, const TimeWindow& window) {
    KeyedStateTable* found = known(name, typeid(V));
    if (!found) found = &made(name, std::make_shared<StateTypeOf<V>>(kind));
    found->setCurrentNamespace(window);
    return *found;
  }
};

/// Decides when the contents of a window are handed to the function, and when they are forgotten. Immutable: what it remembers is in the
/// context's state. Shared by all subtasks. Custom ones derive from it and look at records through ElementRef. Flink: Trigger.
class Trigger {
 public:
  virtual ~Trigger() = default;
  virtual TriggerResult onElement(ElementRef element, int64_t timestamp, const TimeWindow& window, TriggerContext& context) const = 0;
  virtual TriggerResult onEventTime(int64_t time, const TimeWindow& window, TriggerContext& context) const = 0;
  virtual TriggerResult onProcessingTime(int64_t time, const TimeWindow& window, TriggerContext& context) const = 0;
  /// Whether onMerge works, as windows that merge ask for.
  virtual bool canMerge() const { return false; }
  /// `window` takes the place of the context's merged windows.
  virtual void onMerge(const TimeWindow& window, TriggerContext& context) const;
  /// The window is over: gives back timers and state.
  virtual void clear(const TimeWindow& window, TriggerContext& context) const = 0;
  virtual std::string toString() const = 0;
};
using TriggerPtr = std::shared_ptr<const Trigger>;

/// Fires when the watermark passes the end of the window, and for every element that comes later. The default of event-time windows.
class EventTimeTrigger final : public Trigger {
 public:
  static TriggerPtr create() { return std::make_shared<EventTimeTrigger>(); }
  TriggerResult onElement(ElementRef, int64_t, const TimeWindow& window, TriggerContext& context) const override;
  TriggerResult onEventTime(int64_t time, const TimeWindow& window, TriggerContext&) const override;
  TriggerResult onProcessingTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  bool canMerge() const override { return true; }
  void onMerge(const TimeWindow& window, TriggerContext& context) const override;
  void clear(const TimeWindow& window, TriggerContext& context) const override;
  std::string toString() const override { return "EventTimeTrigger()"; }
};

/// Fires when the clock passes the end of the window. The default of processing-time windows.
class ProcessingTimeTrigger final : public Trigger {
 public:
  static TriggerPtr create() { return std::make_shared<ProcessingTimeTrigger>(); }
  TriggerResult onElement(ElementRef, int64_t, const TimeWindow& window, TriggerContext& context) const override;
  TriggerResult onEventTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  TriggerResult onProcessingTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kFire; }
  bool canMerge() const override { return true; }
  void onMerge(const TimeWindow& window, TriggerContext& context) const override;
  void clear(const TimeWindow& window, TriggerContext& context) const override;
  std::string toString() const override { return "ProcessingTimeTrigger()"; }
};

/// Never fires. The default of global windows. Flink: GlobalWindows.NeverTrigger.
class NeverTrigger final : public Trigger {
 public:
  static TriggerPtr create() { return std::make_shared<NeverTrigger>(); }
  TriggerResult onElement(ElementRef, int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  TriggerResult onEventTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  TriggerResult onProcessingTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  bool canMerge() const override { return true; }
  void onMerge(const TimeWindow&, TriggerContext&) const override {}
  void clear(const TimeWindow&, TriggerContext&) const override {}
  std::string toString() const override { return "NeverTrigger()"; }
};

/// Fires once, when the stream ends. Flink: GlobalWindows.EndOfStreamTrigger.
class EndOfStreamTrigger final : public Trigger {
 public:
  static TriggerPtr create() { return std::make_shared<EndOfStreamTrigger>(); }
  TriggerResult onElement(ElementRef, int64_t, const TimeWindow& window, TriggerContext& context) const override;
  TriggerResult onEventTime(int64_t time, const TimeWindow& window, TriggerContext&) const override;
  TriggerResult onProcessingTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  bool canMerge() const override { return true; }
  void onMerge(const TimeWindow&, TriggerContext&) const override {}
  void clear(const TimeWindow& window, TriggerContext& context) const override;
  std::string toString() const override { return "EndOfStreamTrigger()"; }
};

/// Fires with every n-th element of a window. The end of the window then fires nothing.
class CountTrigger final : public Trigger {
 public:
  explicit CountTrigger(int64_t maxCount) : maxCount_(maxCount) {}
  static TriggerPtr of(int64_t maxCount) { return std::make_shared<CountTrigger>(maxCount); }
  TriggerResult onElement(ElementRef, int64_t, const TimeWindow&, TriggerContext& context) const override;
  TriggerResult onEventTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  TriggerResult onProcessingTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  bool canMerge() const override { return true; }
  void onMerge(const TimeWindow&, TriggerContext& context) const override;
  void clear(const TimeWindow&, TriggerContext& context) const override;
  std::string toString() const override;

 private:
  int64_t maxCount_;
  ReducingStateDescriptor<int64_t> count_{"count", [](const int64_t& a, const int64_t& b) { return plusLong(a, b); },
                                          StateNamespace::kTimeWindow};
};

/// Fires at every multiple of the interval that the watermark passes, and at the end of the window.
class ContinuousEventTimeTrigger final : public Trigger {
 public:
  explicit ContinuousEventTimeTrigger(Millis interval) : interval_(interval.count()) {}
  static TriggerPtr of(Millis interval) { return std::make_shared<ContinuousEventTimeTrigger>(interval); }
  TriggerResult onElement(ElementRef, int64_t timestamp, const TimeWindow& window, TriggerContext& context) const override;
  TriggerResult onEventTime(int64_t time, const TimeWindow& window, TriggerContext& context) const override;
  TriggerResult onProcessingTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  bool canMerge() const override { return true; }
  void onMerge(const TimeWindow&, TriggerContext& context) const override;
  void clear(const TimeWindow&, TriggerContext& context) const override;
  std::string toString() const override;

 private:
  int64_t interval_;
};

/// Fires at every multiple of the interval that the clock passes while the window is there. Its end fires nothing in event time.
class ContinuousProcessingTimeTrigger final : public Trigger {
 public:
  explicit ContinuousProcessingTimeTrigger(Millis interval) : interval_(interval.count()) {}
  static TriggerPtr of(Millis interval) { return std::make_shared<ContinuousProcessingTimeTrigger>(interval); }
  TriggerResult onElement(ElementRef, int64_t, const TimeWindow& window, TriggerContext& context) const override;
  TriggerResult onEventTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  TriggerResult onProcessingTime(int64_t time, const TimeWindow& window, TriggerContext& context) const override;
  bool canMerge() const override { return true; }
  void onMerge(const TimeWindow&, TriggerContext& context) const override;
  void clear(const TimeWindow&, TriggerContext& context) const override;
  std::string toString() const override;

 private:
  int64_t interval_;
};

/// Another trigger that forgets the contents whenever it fires.
class PurgingTrigger final : public Trigger {
 public:
  explicit PurgingTrigger(TriggerPtr nested) : nested_(std::move(nested)) {}
  static TriggerPtr of(TriggerPtr nested) { return std::make_shared<PurgingTrigger>(std::move(nested)); }
  TriggerResult onElement(ElementRef element, int64_t timestamp, const TimeWindow& window, TriggerContext& context) const override;
  TriggerResult onEventTime(int64_t time, const TimeWindow& window, TriggerContext& context) const override;
  TriggerResult onProcessingTime(int64_t time, const TimeWindow& window, TriggerContext& context) const override;
  bool canMerge() const override { return nested_->canMerge(); }
  void onMerge(const TimeWindow& window, TriggerContext& context) const override { nested_->onMerge(window, context); }
  void clear(const TimeWindow& window, TriggerContext& context) const override { nested_->clear(window, context); }
  std::string toString() const override { return "PurgingTrigger(" + nested_->toString() + ")"; }

 private:
  TriggerPtr nested_;
};

/// Another trigger that also fires when so much time has gone by on the clock since the first element (or, with `resetTimerOnNewRecord`,
/// the latest one). `shouldClearOnTimeout`: the nested trigger starts anew then.
class ProcessingTimeoutTrigger final : public Trigger {
 public:
  ProcessingTimeoutTrigger(TriggerPtr nested, Millis timeout, bool resetTimerOnNewRecord, bool shouldClearOnTimeout)
      : nested_(std::move(nested)), timeout_(timeout.count()), reset_(resetTimerOnNewRecord), clear_(shouldClearOnTimeout) {}
  static TriggerPtr of(TriggerPtr nested, Millis timeout, bool resetTimerOnNewRecord = false, bool shouldClearOnTimeout = true) {
    return std::make_shared<ProcessingTimeoutTrigger>(std::move(nested), timeout, resetTimerOnNewRecord, shouldClearOnTimeout);
  }
  TriggerResult onElement(ElementRef element, int64_t timestamp, const TimeWindow& window, TriggerContext& context) const override;
  TriggerResult onEventTime(int64_t time, const TimeWindow& window, TriggerContext& context) const override;
  TriggerResult onProcessingTime(int64_t time, const TimeWindow& window, TriggerContext& context) const override;
  void clear(const TimeWindow& window, TriggerContext& context) const override;
  std::string toString() const override;

 private:
  TriggerPtr nested_;
  int64_t timeout_;
  bool reset_, clear_;
  ValueStateDescriptor<int64_t> deadline_{"timeout", 0, StateNamespace::kTimeWindow};
};

/// Fires when an element differs from the one at the last firing by more than `threshold`. `delta(const T& old, const T& fresh) -> double`.
template <class T, class Delta>
class DeltaTrigger final : public Trigger {
 public:
  DeltaTrigger(double threshold, Delta delta) : threshold_(threshold), delta_(std::move(delta)) {}
  TriggerResult onElement(ElementRef element, int64_t, const TimeWindow&, TriggerContext& context) const override {
    const T& fresh = element.as<T>();
    auto last = context.getPartitionedState(last_);
    if (const T* before = last.value()) {
      if (!(std::invoke(delta_, *before, fresh) > threshold_)) return TriggerResult::kContinue;
      last.update(fresh);
      return TriggerResult::kFire;
    }
    last.update(fresh);
    return TriggerResult::kContinue;
  }
  TriggerResult onEventTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  TriggerResult onProcessingTime(int64_t, const TimeWindow&, TriggerContext&) const override { return TriggerResult::kContinue; }
  void clear(const TimeWindow&, TriggerContext& context) const override { context.getPartitionedState(last_).clear(); }
  std::string toString() const override { return "DeltaTrigger(" + std::to_string(threshold_) + ")"; }

 private:
  double threshold_;
  Delta delta_;
  ValueStateDescriptor<T> last_{"last-element", {}, StateNamespace::kTimeWindow};
};
template <class T, class Delta>
TriggerPtr deltaTrigger(double threshold, Delta delta) {
  return std::make_shared<DeltaTrigger<T, Delta>>(threshold, std::move(delta));
}

}  // namespace weir
