#include "weir/windowing/merging_window_set.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir {
namespace {

/// The order in which a java.util.HashSet goes through windows that were added in this order: by bucket.
void sortAsHashSet(std::vector<TimeWindow>& windows) {
  uint32_t capacity = 16;
  while (windows.size() > capacity / 4 * 3) capacity *= 2;
  const auto bucket = [&](const TimeWindow& w) {
    const auto hash = static_cast<uint32_t>(javaHash(w));
    return (hash ^ (hash >> 16)) & (capacity - 1);
  };
  std::stable_sort(windows.begin(), windows.end(), [&](const TimeWindow& a, const TimeWindow& b) { return bucket(a) < bucket(b); });
}

auto find(MergingWindowSet::Mapping& mapping, const TimeWindow& window) {
  return std::find_if(mapping.begin(), mapping.end(), [&](const auto& entry) { return entry.first == window; });
}

}  // namespace

int32_t javaHash(const TimeWindow& window) {
  uint64_t in = static_cast<uint64_t>(window.start) + static_cast<uint64_t>(window.end);
  in = (in ^ (in >> 30)) * 0xbf58476d1ce4e5b9u;
  in = (in ^ (in >> 27)) * 0x94d049bb133111ebu;
  return static_cast<int32_t>(in ^ (in >> 31));
}

std::optional<TimeWindow> MergingWindowSet::stateWindow(const TimeWindow& window) const {
  for (const auto& [known, state] : mapping_)
    if (known == window) return state;
  return std::nullopt;
}

TimeWindow MergingWindowSet::addWindow(const TimeWindow& window, std::optional<WindowMerge>& merge) {
  merge.reset();
  if (find(mapping_, window) != mapping_.end()) return window;

  // Windows that are there do not touch each other: all that meet do so through the new one.
  TimeWindow result = window;
  std::vector<TimeWindow> together{window};
  for (const auto& [known, state] : mapping_) {
    if (!known.intersects(window)) continue;
    together.push_back(known);
    result = result.cover(known);
  }
  if (together.size() == 1) {
    mapping_.emplace_back(window, window);
    changed_ = true;
    return window;
  }

  WindowMerge made;
  std::stable_sort(together.begin(), together.end(), [&](const TimeWindow& a, const TimeWindow& b) {
    return a.start != b.start ? a.start < b.start : a != window && b == window;
  });
  sortAsHashSet(together);
  std::erase(together, window);
  made.result = result;
  made.merged = std::move(together);
  made.stateWindow = find(mapping_, made.merged.front())->second;
  for (const TimeWindow& merged : made.merged) {
    const auto entry = find(mapping_, merged);
    if (entry->second != made.stateWindow) made.mergedStateWindows.push_back(entry->second);
    mapping_.erase(entry);
  }
  mapping_.emplace_back(result, made.stateWindow);
  // An element inside of a window changes nothing.
  if (made.merged.size() == 1 && made.merged.front() == result) return result;
  changed_ = true;
  merge = std::move(made);
  return result;
}

void MergingWindowSet::retireWindow(const TimeWindow& window) {
  const auto entry = find(mapping_, window);
  WEIR_CHECK(entry != mapping_.end(), "window [{}, {}) is not in the in-flight window set", window.start, window.end);
  mapping_.erase(entry);
  changed_ = true;
}

}  // namespace weir
