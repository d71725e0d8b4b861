#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/operator_harness.h"
#include "weir/keyed/heap_keyed_state_backend.h"
#include "weir/windowing/window_operator.h"

namespace weir::testing {

/// (key, value).
using Event = std::pair<std::string, int64_t>;
using EventKey = std::string Event::*;
inline constexpr EventKey kEventKey = &Event::first;

inline StreamRecord<Event> at(int64_t timestamp, std::string key, int64_t value) { return {Event{std::move(key), value}, timestamp}; }

inline std::string toText(const TimeWindow& window) {
  return window == kGlobalWindow ? "global" : fmt::format("[{},{})", window.start, window.end);
}

/// Prints key, elements and window: "a 1 2 [0,1000)".
struct Show {
  using Context = ProcessWindowContext<std::string>;
  void operator()(const std::string& key, Context& context, std::span<const Event> elements, Collector<std::string>& out) const {
    std::string text = key;
    for (const Event& element : elements) text += fmt::format(" {}", element.second);
    out.collect(text + " " + toText(context.window()));
  }
};

inline const auto kSum = [](Event& all, const Event& one) { all.second += one.second; };
using ListOfEvents = ListContents<Event, Show, std::string>;
using SumOfEvents = ReduceContents<Event, std::remove_const_t<decltype(kSum)>, Show, std::string>;
using EvictedEvents = EvictingContents<ListOfEvents>;

/// The assigner, with its default trigger unless another is given.
inline WindowSettings windows(const WindowAssignerResult& assigner, TriggerPtr trigger = nullptr, int64_t allowedLateness = 0) {
  return {assigner.value(), std::move(trigger), allowedLateness, {}};
}
inline WindowSettings lateToSide(WindowSettings settings) {
  settings.lateTag = "late";
  return settings;
}
inline WindowAssignerResult tumbling(int64_t size, int64_t offset = 0) {
  return TumblingEventTimeWindows::of(Millis(size), Millis(offset));
}
inline WindowAssignerResult sliding(int64_t size, int64_t slide) { return SlidingEventTimeWindows::of(Millis(size), Millis(slide)); }
inline WindowAssignerResult sessions(int64_t gap) { return EventTimeSessionWindows::withGap(Millis(gap)); }

/// One attempt of a window operator over events, with what it emits as text.
template <class Contents = ListOfEvents>
class WindowHarness {
 public:
  using Operator = WindowOperator<EventKey, Contents>;

  WindowHarness(OperatorMachine& machine, WindowSettings settings, Contents contents = defaultContents(), HarnessOptions options = {})
      : harness_(
            machine,
            [this, settings, contents](OperatorSetup setup) {
              setup.sideOutputs["late"] = &late_;
              return std::make_unique<Operator>(std::move(setup), kEventKey, settings, contents, heapKeyedStateBackend<std::string>());
            },
            options) {}

  void start() { harness_.start(); }
  void restore(const OperatorSubtaskState& state) { harness_.restore(state); }
  void add(int64_t timestamp, const std::string& key, int64_t value) { harness_.processRecords(std::vector{at(timestamp, key, value)}); }
  void add(std::vector<StreamRecord<Event>> records) { harness_.processRecords(std::move(records)); }
  void watermark(int64_t timestamp) { harness_.watermark(timestamp); }
  void clock(int64_t now) { harness_.time().advanceTo(now); }
  OperatorSubtaskState snapshot() { return harness_.snapshot(++checkpoints_); }

  /// Results and watermarks since the last call: "a 1 2 [0,1000)@999", "Watermark @ 999".
  std::vector<std::string> take() { return harness_.takeElements(); }
  /// The same without watermarks.
  std::vector<std::string> results() {
    auto all = take();
    std::erase_if(all, [](const std::string& text) { return text.starts_with("Watermark"); });
    return all;
  }
  std::vector<std::string> late() {
    std::vector<std::string> all;
    for (const auto& event : std::exchange(late_.values, {})) all.push_back(fmt::format("{} {}", event.first, event.second));
    return all;
  }
  int64_t dropped() { return harness_.op().metrics().numLateRecordsDropped; }
  int64_t fired() { return harness_.op().metrics().numWindowsFired; }

 private:
  static Contents defaultContents() {
    if constexpr (std::is_same_v<Contents, SumOfEvents>)
      return SumOfEvents(kSum, Show{});
    else
      return ListOfEvents(Show{});
  }
  KeepingOutput<Event> late_;
  OperatorHarness<Event, std::string> harness_;
  int64_t checkpoints_ = 0;
};

}  // namespace weir::testing
