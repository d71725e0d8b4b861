#include "weir/windowing/trigger.h"

#include <algorithm>

#include "weir/base/error.h"

namespace weir {
namespace {

constexpr auto kContinue = TriggerResult::kContinue;
constexpr auto kFire = TriggerResult::kFire;

/// When the continuous triggers fire next.
const ReducingStateDescriptor<int64_t>& fireTime() {
  static const ReducingStateDescriptor<int64_t> descriptor{
      "fire-time", [](const int64_t& a, const int64_t& b) { return std::min(a, b); }, StateNamespace::kTimeWindow};
  return descriptor;
}
/// Java's remainder takes the sign of the number, so before the epoch this is the multiple above.
int64_t multipleTowardsZero(int64_t time, int64_t interval) { return time - time % interval; }

int64_t nextFireTime(int64_t time, int64_t interval, const TimeWindow& window) {
  return std::min(plusLong(time, interval), window.maxTimestamp());
}

TriggerResult purging(TriggerResult result) { return isFire(result) ? TriggerResult::kFireAndPurge : result; }

}  // namespace

void Trigger::onMerge(const TimeWindow&, TriggerContext&) const {
  throw Throwable("java.lang.UnsupportedOperationException", "This trigger does not support merging.");
}

TriggerResult EventTimeTrigger::onElement(ElementRef, int64_t, const TimeWindow& window, TriggerContext& context) const {
  if (window.maxTimestamp() <= context.getCurrentWatermark()) return kFire;
  context.registerEventTimeTimer(window.maxTimestamp());
  return kContinue;
}
TriggerResult EventTimeTrigger::onEventTime(int64_t time, const TimeWindow& window, TriggerContext&) const {
  return time == window.maxTimestamp() ? kFire : kContinue;
}
void EventTimeTrigger::onMerge(const TimeWindow& window, TriggerContext& context) const {
  // Where the watermark is past the end, the element that merged fires; a timer would fire the window again.
  if (window.maxTimestamp() > context.getCurrentWatermark()) context.registerEventTimeTimer(window.maxTimestamp());
}
void EventTimeTrigger::clear(const TimeWindow& window, TriggerContext& context) const {
  context.deleteEventTimeTimer(window.maxTimestamp());
}

TriggerResult ProcessingTimeTrigger::onElement(ElementRef, int64_t, const TimeWindow& window, TriggerContext& context) const {
  context.registerProcessingTimeTimer(window.maxTimestamp());
  return kContinue;
}
void ProcessingTimeTrigger::onMerge(const TimeWindow& window, TriggerContext& context) const {
  if (window.maxTimestamp() > context.getCurrentProcessingTime()) context.registerProcessingTimeTimer(window.maxTimestamp());
}
void ProcessingTimeTrigger::clear(const TimeWindow& window, TriggerContext& context) const {
  context.deleteProcessingTimeTimer(window.maxTimestamp());
}

TriggerResult EndOfStreamTrigger::onElement(ElementRef, int64_t, const TimeWindow& window, TriggerContext& context) const {
  context.registerEventTimeTimer(window.maxTimestamp());
  return kContinue;
}
TriggerResult EndOfStreamTrigger::onEventTime(int64_t time, const TimeWindow& window, TriggerContext&) const {
  return time == window.maxTimestamp() ? TriggerResult::kFireAndPurge : kContinue;
}
void EndOfStreamTrigger::clear(const TimeWindow& window, TriggerContext& context) const {
  context.deleteEventTimeTimer(window.maxTimestamp());
}

TriggerResult CountTrigger::onElement(ElementRef, int64_t, const TimeWindow&, TriggerContext& context) const {
  auto count = context.getPartitionedState(count_);
  count.add(1);
  if (*count.get() < maxCount_) return kContinue;
  count.clear();
  return kFire;
}
void CountTrigger::onMerge(const TimeWindow&, TriggerContext& context) const { context.mergePartitionedState(count_); }
void CountTrigger::clear(const TimeWindow&, TriggerContext& context) const { context.getPartitionedState(count_).clear(); }
std::string CountTrigger::toString() const { return "CountTrigger(" + std::to_string(maxCount_) + ")"; }

TriggerResult ContinuousEventTimeTrigger::onElement(ElementRef, int64_t timestamp, const TimeWindow& window,
                                                    TriggerContext& context) const {
  if (window.maxTimestamp() <= context.getCurrentWatermark()) return kFire;
  context.registerEventTimeTimer(window.maxTimestamp());
  auto fire = context.getPartitionedState(fireTime());
  if (!fire.get()) {
    const int64_t next = nextFireTime(multipleTowardsZero(timestamp, interval_), interval_, window);
    fire.add(next);
    context.registerEventTimeTimer(next);
  }
  return kContinue;
}
TriggerResult ContinuousEventTimeTrigger::onEventTime(int64_t time, const TimeWindow& window, TriggerContext& context) const {
  if (time == window.maxTimestamp()) return kFire;
  auto fire = context.getPartitionedState(fireTime());
  const int64_t* due = fire.get();
  if (!due || *due != time) return kContinue;
  fire.clear();
  const int64_t next = nextFireTime(time, interval_, window);
  fire.add(next);
  context.registerEventTimeTimer(next);
  return kFire;
}
void ContinuousEventTimeTrigger::onMerge(const TimeWindow&, TriggerContext& context) const {
  context.mergePartitionedState(fireTime());
  if (const int64_t* due = context.getPartitionedState(fireTime()).get()) context.registerEventTimeTimer(*due);
}
void ContinuousEventTimeTrigger::clear(const TimeWindow&, TriggerContext& context) const {
  auto fire = context.getPartitionedState(fireTime());
  if (const int64_t* due = fire.get()) {
    context.deleteEventTimeTimer(*due);
    fire.clear();
  }
}
std::string ContinuousEventTimeTrigger::toString() const { return "ContinuousEventTimeTrigger(" + std::to_string(interval_) + ")"; }

TriggerResult ContinuousProcessingTimeTrigger::onElement(ElementRef, int64_t, const TimeWindow& window, TriggerContext& context) const {
  auto fire = context.getPartitionedState(fireTime());
  if (!fire.get()) {
    const int64_t next = nextFireTime(multipleTowardsZero(context.getCurrentProcessingTime(), interval_), interval_, window);
    fire.add(next);
    context.registerProcessingTimeTimer(next);
  }
  return kContinue;
}
TriggerResult ContinuousProcessingTimeTrigger::onProcessingTime(int64_t time, const TimeWindow& window, TriggerContext& context) const {
  auto fire = context.getPartitionedState(fireTime());
  const int64_t* due = fire.get();
  if (!due || *due != time) return kContinue;
  fire.clear();
  const int64_t next = nextFireTime(time, interval_, window);
  if (next <= time) return kFire;  // the end of the window lies behind the clock: it would fire for ever
  fire.add(next);
  context.registerProcessingTimeTimer(next);
  return kFire;
}
void ContinuousProcessingTimeTrigger::onMerge(const TimeWindow&, TriggerContext& context) const {
  context.mergePartitionedState(fireTime());
  if (const int64_t* due = context.getPartitionedState(fireTime()).get()) context.registerProcessingTimeTimer(*due);
}
void ContinuousProcessingTimeTrigger::clear(const TimeWindow&, TriggerContext& context) const {
  auto fire = context.getPartitionedState(fireTime());
  if (const int64_t* due = fire.get()) {
    context.deleteProcessingTimeTimer(*due);
    fire.clear();
  }
}
std::string ContinuousProcessingTimeTrigger::toString() const {
  return "ContinuousProcessingTimeTrigger(" + std::to_string(interval_) + ")";
}

TriggerResult PurgingTrigger::onElement(ElementRef element, int64_t timestamp, const TimeWindow& window, TriggerContext& context) const {
  return purging(nested_->onElement(element, timestamp, window, context));
}
TriggerResult PurgingTrigger::onEventTime(int64_t time, const TimeWindow& window, TriggerContext& context) const {
  return purging(nested_->onEventTime(time, window, context));
}
TriggerResult PurgingTrigger::onProcessingTime(int64_t time, const TimeWindow& window, TriggerContext& context) const {
  return purging(nested_->onProcessingTime(time, window, context));
}

TriggerResult ProcessingTimeoutTrigger::onElement(ElementRef element, int64_t timestamp, const TimeWindow& window,
                                                  TriggerContext& context) const {
  const TriggerResult result = nested_->onElement(element, timestamp, window, context);
  if (isFire(result)) {
    clear(window, context);
    return result;
  }
  auto deadline = context.getPartitionedState(deadline_);
  const int64_t* running = deadline.value();
  if (running && reset_) {
    context.deleteProcessingTimeTimer(*running);
    running = nullptr;
  }
  if (!running) {
    const int64_t next = plusLong(context.getCurrentProcessingTime(), timeout_);
    deadline.update(next);
    context.registerProcessingTimeTimer(next);
  }
  return result;
}
TriggerResult ProcessingTimeoutTrigger::onEventTime(int64_t time, const TimeWindow& window, TriggerContext& context) const {
  const TriggerResult result = nested_->onEventTime(time, window, context);
  if (clear_) clear(window, context);
  return isPurge(result) ? TriggerResult::kFireAndPurge : kFire;
}
TriggerResult ProcessingTimeoutTrigger::onProcessingTime(int64_t time, const TimeWindow& window, TriggerContext& context) const {
  const TriggerResult result = nested_->onProcessingTime(time, window, context);
  if (clear_) clear(window, context);
  return isPurge(result) ? TriggerResult::kFireAndPurge : kFire;
}
void ProcessingTimeoutTrigger::clear(const TimeWindow& window, TriggerContext& context) const {
  auto deadline = context.getPartitionedState(deadline_);
  if (const int64_t* running = deadline.value()) {
    context.deleteProcessingTimeTimer(*running);
    deadline.clear();
  }
  nested_->clear(window, context);
}
std::string ProcessingTimeoutTrigger::toString() const {
  return "TimeoutTrigger(" + nested_->toString() + ", " + std::to_string(timeout_) + ")";
}

}  // namespace weir
