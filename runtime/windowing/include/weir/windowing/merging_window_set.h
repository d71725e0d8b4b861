#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "weir/backend/time_window.h"

namespace weir {

/// What merging means for those that keep something per window.
struct WindowMerge {
  TimeWindow result;                  ///< takes the place of `merged`
  std::vector<TimeWindow> merged;     ///< windows that were there before; maybe `result` among them
  TimeWindow stateWindow;             ///< under which the contents of `result` are kept
  std::vector<TimeWindow> mergedStateWindows;  ///< whose contents go into those of `stateWindow`
};

/// The windows of one key that merge where they touch, and for each the window under which its contents are kept: that of one of the
/// windows that it was merged from, so that contents move only where two windows with contents meet.
///
/// Flink: MergingWindowSet, TimeWindow.mergeWindows. Which of several windows keeps its contents follows, as in Flink, from the order of a
/// Java hash set: elements of merged windows are in the same order as there. Differs: a window that is there already, exactly, keeps its
/// contents (Flink forgets them where they are kept under another window).
class MergingWindowSet {
 public:
  /// Window and state window.
  using Mapping = std::vector<std::pair<TimeWindow, TimeWindow>>;

  /// Starts from what was persisted.
  void load(const Mapping& mapping) {
    mapping_ = mapping;
    changed_ = false;
  }
  const Mapping& mapping() const { return mapping_; }
  /// Since load().
  bool changed() const { return changed_; }

  /// None where the window is not (or no longer) there.
  std::optional<TimeWindow> stateWindow(const TimeWindow& window) const;
  /// Adds a window; returns the one that it is part of now. `merge` is set where windows were merged and something is to be done for it.
  TimeWindow addWindow(const TimeWindow& window, std::optional<WindowMerge>& merge);
  /// The window is over.
  void retireWindow(const TimeWindow& window);

 private:
  Mapping mapping_;
  bool changed_ = false;
};

/// Java's hash of a TimeWindow.
int32_t javaHash(const TimeWindow& window);

}  // namespace weir
