#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/backend/time_window.h"
#include "weir/record/stream_element.h"
#include "weir/windowing/trigger.h"

namespace weir {

/// Event-time windows of one size on a grid, where all windows of an element follow from its timestamp: what the fast path of the window
/// operator works with. A tumbling window slides by its size.
struct WindowGrid {
  int64_t size, slide, offset;

  /// The start of the last window that begins at or before `timestamp`. Flink: TimeWindow.getWindowStartWithOffset.
  static int64_t windowStart(int64_t timestamp, int64_t offset, int64_t slide) {
    const int64_t remainder = minusLong(timestamp, offset) % slide;
    return minusLong(timestamp, remainder < 0 ? remainder + slide : remainder);
  }
  /// The same for timestamps that come in order, mostly: a division only where the window changes.
  class Cursor {
   public:
    explicit Cursor(const WindowGrid& grid) : offset_(grid.offset), slide_(grid.slide) {}
    int64_t startOf(int64_t timestamp) {
      if (__builtin_expect(static_cast<uint64_t>(timestamp) - static_cast<uint64_t>(start_) >= static_cast<uint64_t>(slide_) || !valid_,
                           0)) {
        start_ = windowStart(timestamp, offset_, slide_);
        valid_ = true;
      }
      return start_;
    }

   private:
    int64_t offset_, slide_, start_ = 0;
    bool valid_ = false;
  };
};

/// Says to which windows an element belongs. Immutable, shared by all subtasks. Custom ones derive from it. Flink: WindowAssigner.
class WindowAssigner {
 public:
  virtual ~WindowAssigner() = default;
  /// Appends the windows. `timestamp`: of the element, Long.MIN_VALUE where it has none.
  virtual void assignWindows(ElementRef element, int64_t timestamp, int64_t currentProcessingTime, std::vector<TimeWindow>& into) const = 0;
  virtual bool isEventTime() const = 0;
  /// Windows that touch become one. Flink: MergingWindowAssigner.
  virtual bool isMerging() const { return false; }
  virtual TriggerPtr getDefaultTrigger() const = 0;
  virtual std::string toString() const = 0;
  virtual std::optional<WindowGrid> grid() const { return std::nullopt; }

 protected:
  WindowAssigner() = default;
};
/// An assigner, or what is wrong with its parameters.
using WindowAssignerResult = Result<std::shared_ptr<const WindowAssigner>>;

class TumblingEventTimeWindows final : public WindowAssigner {
 public:
  static WindowAssignerResult of(Millis size, Millis offset = Millis(0));
  void assignWindows(ElementRef, int64_t timestamp, int64_t, std::vector<TimeWindow>& into) const override;
  bool isEventTime() const override { return true; }
  TriggerPtr getDefaultTrigger() const override { return EventTimeTrigger::create(); }
  std::string toString() const override;
  std::optional<WindowGrid> grid() const override { return WindowGrid{size_, size_, offset_}; }

 private:
  TumblingEventTimeWindows(int64_t size, int64_t offset) : size_(size), offset_(offset) {}
  int64_t size_, offset_;
};

class TumblingProcessingTimeWindows final : public WindowAssigner {
 public:
  static WindowAssignerResult of(Millis size, Millis offset = Millis(0));
  void assignWindows(ElementRef, int64_t, int64_t currentProcessingTime, std::vector<TimeWindow>& into) const override;
  bool isEventTime() const override { return false; }
  TriggerPtr getDefaultTrigger() const override { return ProcessingTimeTrigger::create(); }
  std::string toString() const override;

 private:
  TumblingProcessingTimeWindows(int64_t size, int64_t offset) : size_(size), offset_(offset) {}
  int64_t size_, offset_;
};

class SlidingEventTimeWindows final : public WindowAssigner {
 public:
  static WindowAssignerResult of(Millis size, Millis slide, Millis offset = Millis(0));
  void assignWindows(ElementRef, int64_t timestamp, int64_t, std::vector<TimeWindow>& into) const override;
  bool isEventTime() const override { return true; }
  TriggerPtr getDefaultTrigger() const override { return EventTimeTrigger::create(); }
  std::string toString() const override;
  std::optional<WindowGrid> grid() const override { return WindowGrid{size_, slide_, offset_}; }

 private:
  SlidingEventTimeWindows(int64_t size, int64_t slide, int64_t offset) : size_(size), slide_(slide), offset_(offset) {}
  int64_t size_, slide_, offset_;
};

class SlidingProcessingTimeWindows final : public WindowAssigner {
 public:
  static WindowAssignerResult of(Millis size, Millis slide, Millis offset = Millis(0));
  void assignWindows(ElementRef, int64_t, int64_t currentProcessingTime, std::vector<TimeWindow>& into) const override;
  bool isEventTime() const override { return false; }
  TriggerPtr getDefaultTrigger() const override { return ProcessingTimeTrigger::create(); }
  std::string toString() const override;

 private:
  SlidingProcessingTimeWindows(int64_t size, int64_t slide, int64_t offset) : size_(size), slide_(slide), offset_(offset) {}
  int64_t size_, slide_, offset_;
};

/// A window grows as long as its elements are at most the gap apart.
class EventTimeSessionWindows final : public WindowAssigner {
 public:
  static WindowAssignerResult withGap(Millis gap);
  void assignWindows(ElementRef, int64_t timestamp, int64_t, std::vector<TimeWindow>& into) const override;
  bool isEventTime() const override { return true; }
  bool isMerging() const override { return true; }
  TriggerPtr getDefaultTrigger() const override { return EventTimeTrigger::create(); }
  std::string toString() const override;

 private:
  explicit EventTimeSessionWindows(int64_t gap) : gap_(gap) {}
  int64_t gap_;
};

class ProcessingTimeSessionWindows final : public WindowAssigner {
 public:
  static WindowAssignerResult withGap(Millis gap);
  void assignWindows(ElementRef, int64_t, int64_t currentProcessingTime, std::vector<TimeWindow>& into) const override;
  bool isEventTime() const override { return false; }
  bool isMerging() const override { return true; }
  TriggerPtr getDefaultTrigger() const override { return ProcessingTimeTrigger::create(); }
  std::string toString() const override;

 private:
  explicit ProcessingTimeSessionWindows(int64_t gap) : gap_(gap) {}
  int64_t gap_;
};

enum class TimeKind { kEventTime, kProcessingTime };

/// Sessions whose gap each element brings along: `gap(const T&) -> Millis`, above zero. Flink: DynamicEventTimeSessionWindows,
/// DynamicProcessingTimeSessionWindows.
class DynamicSessionWindows final : public WindowAssigner {
 public:
  template <class T, class Gap>
  static WindowAssignerResult withDynamicGap(Gap gap, TimeKind kind = TimeKind::kEventTime) {
    return std::shared_ptr<const WindowAssigner>(new DynamicSessionWindows(
        [gap = std::move(gap)](ElementRef element) -> int64_t { return Millis(gap(element.as<T>())).count(); }, kind));
  }
  void assignWindows(ElementRef element, int64_t timestamp, int64_t currentProcessingTime, std::vector<TimeWindow>& into) const override;
  bool isEventTime() const override { return kind_ == TimeKind::kEventTime; }
  bool isMerging() const override { return true; }
  TriggerPtr getDefaultTrigger() const override;
  std::string toString() const override;

 private:
  DynamicSessionWindows(std::function<int64_t(ElementRef)> gap, TimeKind kind) : gap_(std::move(gap)), kind_(kind) {}
  std::function<int64_t(ElementRef)> gap_;
  TimeKind kind_;
};

/// One window for ever. Fires only with a trigger of its own, or at the end of the stream.
class GlobalWindows final : public WindowAssigner {
 public:
  static WindowAssignerResult create() { return std::shared_ptr<const WindowAssigner>(new GlobalWindows(NeverTrigger::create())); }
  static WindowAssignerResult createWithEndOfStreamTrigger() {
    return std::shared_ptr<const WindowAssigner>(new GlobalWindows(EndOfStreamTrigger::create()));
  }
  void assignWindows(ElementRef, int64_t, int64_t, std::vector<TimeWindow>& into) const override { into.push_back(kGlobalWindow); }
  bool isEventTime() const override { return false; }
  TriggerPtr getDefaultTrigger() const override { return defaultTrigger_; }
  std::string toString() const override { return "GlobalWindows()"; }

 private:
  explicit GlobalWindows(TriggerPtr defaultTrigger) : defaultTrigger_(std::move(defaultTrigger)) {}
  TriggerPtr defaultTrigger_;
};

}  // namespace weir
