#pragma once

#include <concurrentqueue/concurrentqueue.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/base/clock.h"
#include "weir/base/mutex.h"

namespace weir {

/// The rooms that a barrier passes, in the order of its way.
enum class BarrierStep : uint8_t {
  kTriggered,       ///< the coordinator asks the sources
  kEmitted,         ///< a task sends its barrier to all outputs
  kEnqueued,        ///< it lies in the queue of a subpartition; `count`: elements before it, `bytes` of data
  kOvertook,        ///< it went to the front of that queue; `count` and `bytes` of what it passed
  kSocketWritten,   ///< it left that queue for the socket of another TaskManager; `bytes` in front of it there
  kSocketFlushed,   ///< its last byte was handed to the network
  kAnnounced,       ///< an input channel tells that an aligned barrier that may time out is in its queue
  kReceived,        ///< the barrier handler takes it from a channel
  kChannelBlocked,  ///< nothing of that channel is read until the alignment ends
  kTimedOut,        ///< an aligned checkpoint turns unaligned
  kAligned,         ///< the last barrier is in; `duration`: since the first
  kSnapshotSync,    ///< the task's own part of the snapshot is done; `duration`
  kSnapshotAsync,   ///< the part that writes is done; `duration`, `bytes` written
  kAcknowledged,    ///< the coordinator has heard of the subtask `of`; `bytes` of its state
  kCompleted,
  kAborted,
};
inline constexpr int kBarrierSteps = static_cast<int>(BarrierStep::kAborted) + 1;
std::string_view barrierStepName(BarrierStep step);
std::optional<BarrierStep> barrierStepOf(std::string_view name);

/// What a step has to tell beyond its time. -1: does not apply.
struct BarrierDetails {
  int32_t gate = -1;  ///< gate of an input, partition of an output
  int32_t channel = -1;
  int64_t count = -1;
  int64_t bytes = -1;
  int64_t durationNanos = -1;
  int32_t of = -1;  ///< the track of the subtask that it is about, where another one tells it

  bool operator==(const BarrierDetails&) const = default;
};

struct BarrierTraceEvent {
  Nanos at{};
  int64_t checkpointId = 0;
  uint32_t track = 0;
  BarrierStep step = BarrierStep::kTriggered;
  BarrierDetails details;

  bool operator==(const BarrierTraceEvent&) const = default;
};

class BarrierTracer;

/// The story of each barrier of a process: every actor that a barrier passes writes into a queue of its own, and whoever drains gets all.
///
/// Costs a pointer that is null where no trace is wanted. Threads: tracer() and drain() from any thread, drain() by one at a time; it
/// outlives its tracers. Flink has no such thing; its span reporters tell of whole checkpoints.
class BarrierTrace : public std::enable_shared_from_this<BarrierTrace> {
 public:
  /// Whose events: a row of the timeline.
  struct Track {
    std::string process, name;
    bool operator==(const Track&) const = default;
  };

  explicit BarrierTrace(const Clock& clock) : clock_(clock) {}
  /// A new track and its writer.
  std::shared_ptr<BarrierTracer> tracer(std::string process, std::string name);
  /// Appends what was recorded since the last call, in order for each track only.
  void drain(std::vector<BarrierTraceEvent>& into);
  /// The newest track of this name; -1: none.
  int32_t trackNamed(const std::string& name) const;
  /// Tracks from number `first` on; numbers count from 0 and never change.
  std::vector<Track> tracksFrom(size_t first) const;

 private:
  friend class BarrierTracer;
  using Queue = moodycamel::ConcurrentQueue<BarrierTraceEvent>;

  const Clock& clock_;
  Queue events_;
  mutable Mutex mutex_;
  std::vector<Track> tracks_;
  std::unordered_map<std::string, int32_t> newest_;  ///< by name; look-ups only
};

/// The writing end of one track.
class BarrierTracer {
 public:
  BarrierTracer(std::shared_ptr<BarrierTrace> trace, uint32_t track) : trace_(std::move(trace)), token_(trace_->events_), track_(track) {}
  /// On the actor that owns the track.
  void record(BarrierStep step, int64_t checkpointId, const BarrierDetails& details = {}) {
    trace_->events_.enqueue(token_, event(step, checkpointId, details));
  }
  /// What another task did: the one whose track has this name.
  void recordOf(const std::string& task, BarrierStep step, int64_t checkpointId, BarrierDetails details = {}) {
    details.of = trace_->trackNamed(task);
    record(step, checkpointId, details);
  }
  /// From another actor that works for the owner.
  void recordElsewhere(BarrierStep step, int64_t checkpointId, const BarrierDetails& details = {}) {
    trace_->events_.enqueue(event(step, checkpointId, details));
  }

 private:
  BarrierTraceEvent event(BarrierStep step, int64_t checkpointId, const BarrierDetails& details) const {
    return {trace_->clock_.monotonic(), checkpointId, track_, step, details};
  }

  const std::shared_ptr<BarrierTrace> trace_;
  const moodycamel::ProducerToken token_;
  const uint32_t track_;
};

}  // namespace weir
