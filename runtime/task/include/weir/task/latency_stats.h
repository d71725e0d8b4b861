#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/record/stream_element.h"

namespace weir {

/// What a latency is told apart by: nothing, the source, or each subtask of it. Flink: LatencyStats.Granularity.
enum class LatencyPer { kSingle, kOperator, kSubtask };

struct LatencySettings {
  Millis interval{0};  ///< of each source subtask; 0: no markers
  LatencyPer per = LatencyPer::kOperator;
  int historySize = 128;  ///< values that are kept
};

/// How long records take from the sources to one operator, in milliseconds, without the time in user functions on the way: the last values
/// of each source. Written by the task, read by anyone. Flink: LatencyStats.
class LatencyStats {
 public:
  struct Reading {
    OperatorID source;  ///< zero where sources are not told apart
    int32_t subtask;    ///< -1 where subtasks are not
    int64_t count;      ///< of all markers so far
    std::vector<int64_t> last;
  };

  void report(const LatencyMarker& marker, int64_t now, const LatencySettings& settings) {
    const OperatorID source = settings.per == LatencyPer::kSingle ? OperatorID{} : marker.operatorId;
    const int32_t subtask = settings.per == LatencyPer::kSubtask ? marker.subtaskIndex : -1;
    Lock lock(mutex_);
    History& history = histories_[{source, subtask}];
    const auto place = static_cast<size_t>(history.count++ % settings.historySize);
    if (place == history.last.size()) history.last.push_back(0);
    history.last[place] = now - marker.markedTime;
  }
  std::vector<Reading> read() const {
    Lock lock(mutex_);
    std::vector<Reading> all;
    for (const auto& [who, history] : histories_) all.push_back({who.first, who.second, history.count, history.last});
    return all;
  }

 private:
  struct History {
    int64_t count = 0;
    std::vector<int64_t> last;
  };
  mutable Mutex mutex_;
  std::map<std::pair<OperatorID, int32_t>, History> histories_;
};

}  // namespace weir
