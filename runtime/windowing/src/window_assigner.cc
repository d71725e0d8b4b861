#include "weir/windowing/window_assigner.h"

#include <fmt/core.h>

#include "weir/base/error.h"

namespace weir {
namespace {

Error wrongParameters(const std::string& sentence) { return {ErrorCode::kInvalidArgument, sentence}; }

bool absIsBelow(int64_t offset, int64_t limit) { return offset < limit && offset > -limit; }

/// Everything that is wrong with size and offset of tumbling windows, as Flink puts it.
Result<void> checkTumbling(const char* name, int64_t size, int64_t offset) {
  if (size > 0 && absIsBelow(offset, size)) return {};
  return wrongParameters(fmt::format("{} parameters must satisfy abs(offset) < size (size is {} ms, offset {} ms)", name, size, offset));
}
Result<void> checkSliding(const char* name, int64_t size, int64_t slide, int64_t offset) {
  if (size > 0 && slide > 0 && absIsBelow(offset, slide)) return {};
  return wrongParameters(fmt::format(
      "{} parameters must satisfy abs(offset) < slide and size > 0 (size is {} ms, slide {} ms, offset {} ms)", name, size, slide, offset));
}
Result<void> checkGap(const char* name, int64_t gap) {
  if (gap > 0) return {};
  return wrongParameters(fmt::format("{} parameters must satisfy 0 < size (the gap is {} ms)", name, gap));
}

void requireTimestamp(int64_t timestamp) {
  if (timestamp != kNoTimestamp) return;
  throw Throwable("java.lang.RuntimeException",
                  "Record has Long.MIN_VALUE timestamp (= no timestamp marker). Did you forget to call "
                  "'DataStream.assignTimestampsAndWatermarks(...)'?");
}

void assignTumbling(int64_t time, int64_t size, int64_t offset, std::vector<TimeWindow>& into) {
  const int64_t start = WindowGrid::windowStart(time, offset, size);
  into.push_back({start, plusLong(start, size)});
}
void assignSliding(int64_t time, int64_t size, int64_t slide, int64_t offset, std::vector<TimeWindow>& into) {
  const int64_t behind = minusLong(time, size);
  for (int64_t start = WindowGrid::windowStart(time, offset, slide); start > behind; start = minusLong(start, slide))
    into.push_back({start, plusLong(start, size)});
}

template <class A>
WindowAssignerResult made(A* assigner) {
  return std::shared_ptr<const WindowAssigner>(assigner);
}

}  // namespace

WindowAssignerResult TumblingEventTimeWindows::of(Millis size, Millis offset) {
  WEIR_TRY(checkTumbling("TumblingEventTimeWindows", size.count(), offset.count()));
  return made(new TumblingEventTimeWindows(size.count(), offset.count()));
}
void TumblingEventTimeWindows::assignWindows(ElementRef, int64_t timestamp, int64_t, std::vector<TimeWindow>& into) const {
  requireTimestamp(timestamp);
  assignTumbling(timestamp, size_, offset_, into);
}
std::string TumblingEventTimeWindows::toString() const { return fmt::format("TumblingEventTimeWindows({})", size_); }

WindowAssignerResult TumblingProcessingTimeWindows::of(Millis size, Millis offset) {
  WEIR_TRY(checkTumbling("TumblingProcessingTimeWindows", size.count(), offset.count()));
  return made(new TumblingProcessingTimeWindows(size.count(), offset.count()));
}
void TumblingProcessingTimeWindows::assignWindows(ElementRef, int64_t, int64_t now, std::vector<TimeWindow>& into) const {
  assignTumbling(now, size_, offset_, into);
}
std::string TumblingProcessingTimeWindows::toString() const { return fmt::format("TumblingProcessingTimeWindows({})", size_); }

WindowAssignerResult SlidingEventTimeWindows::of(Millis size, Millis slide, Millis offset) {
  WEIR_TRY(checkSliding("SlidingEventTimeWindows", size.count(), slide.count(), offset.count()));
  return made(new SlidingEventTimeWindows(size.count(), slide.count(), offset.count()));
}
void SlidingEventTimeWindows::assignWindows(ElementRef, int64_t timestamp, int64_t, std::vector<TimeWindow>& into) const {
  requireTimestamp(timestamp);
  assignSliding(timestamp, size_, slide_, offset_, into);
}
std::string SlidingEventTimeWindows::toString() const { return fmt::format("SlidingEventTimeWindows({}, {})", size_, slide_); }

WindowAssignerResult SlidingProcessingTimeWindows::of(Millis size, Millis slide, Millis offset) {
  WEIR_TRY(checkSliding("SlidingProcessingTimeWindows", size.count(), slide.count(), offset.count()));
  return made(new SlidingProcessingTimeWindows(size.count(), slide.count(), offset.count()));
}
void SlidingProcessingTimeWindows::assignWindows(ElementRef, int64_t, int64_t now, std::vector<TimeWindow>& into) const {
  assignSliding(now, size_, slide_, offset_, into);
}
std::string SlidingProcessingTimeWindows::toString() const { return fmt::format("SlidingProcessingTimeWindows({}, {})", size_, slide_); }

WindowAssignerResult EventTimeSessionWindows::withGap(Millis gap) {
  WEIR_TRY(checkGap("EventTimeSessionWindows", gap.count()));
  return made(new EventTimeSessionWindows(gap.count()));
}
void EventTimeSessionWindows::assignWindows(ElementRef, int64_t timestamp, int64_t, std::vector<TimeWindow>& into) const {
  into.push_back({timestamp, plusLong(timestamp, gap_)});
}
std::string EventTimeSessionWindows::toString() const { return fmt::format("EventTimeSessionWindows({})", gap_); }

WindowAssignerResult ProcessingTimeSessionWindows::withGap(Millis gap) {
  WEIR_TRY(checkGap("ProcessingTimeSessionWindows", gap.count()));
  return made(new ProcessingTimeSessionWindows(gap.count()));
}
void ProcessingTimeSessionWindows::assignWindows(ElementRef, int64_t, int64_t now, std::vector<TimeWindow>& into) const {
  into.push_back({now, plusLong(now, gap_)});
}
std::string ProcessingTimeSessionWindows::toString() const { return fmt::format("ProcessingTimeSessionWindows({})", gap_); }

void DynamicSessionWindows::assignWindows(ElementRef element, int64_t timestamp, int64_t now, std::vector<TimeWindow>& into) const {
  const int64_t gap = gap_(element);
  if (gap <= 0) throw Throwable("java.lang.IllegalArgumentException", "Dynamic session time gap must satisfy 0 < gap");
  const int64_t time = isEventTime() ? timestamp : now;
  into.push_back({time, plusLong(time, gap)});
}
TriggerPtr DynamicSessionWindows::getDefaultTrigger() const {
  return isEventTime() ? EventTimeTrigger::create() : ProcessingTimeTrigger::create();
}
std::string DynamicSessionWindows::toString() const {
  return isEventTime() ? "DynamicEventTimeSessionWindows()" : "DynamicProcessingTimeSessionWindows()";
}

}  // namespace weir
