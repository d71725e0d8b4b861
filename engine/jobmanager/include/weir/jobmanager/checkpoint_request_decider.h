#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/jobmanager/completed_checkpoint.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {

/// How a requested checkpoint ended.
using CheckpointOutcome = std::variant<std::shared_ptr<const CompletedCheckpoint>, std::shared_ptr<const CheckpointException>>;
/// Called once, on the JobMaster's actor.
using CheckpointCallback = std::function<void(const CheckpointOutcome&)>;

/// Somebody wants a checkpoint. Flink: CheckpointTriggerRequest.
struct CheckpointTriggerRequest {
  CheckpointProperties properties;
  bool periodic = false;
  std::string targetDirectory;  ///< of a savepoint
  Nanos requestedAt{};
  uint64_t sequence = 0;    ///< filled by the decider: breaks ties
  CheckpointCallback done;  ///< may be null

  void fail(CheckpointFailureReason reason) const;
  void fail(const std::shared_ptr<const CheckpointException>& why) const {
    if (done) done(why);
  }
};

/// Decides which request runs next, and when none may.
///
/// Flink: CheckpointRequestDecider. Queue order: savepoints, then forced ones, then on-demand before periodic ones, then by time. Its
/// request stays queued while too many checkpoints are pending; a periodic one that comes too early after the last completion fails, and
/// the timer is set anew.
///
/// Threads: the JobMaster's actor. Callbacks of failed requests run inside the calls.
class CheckpointRequestDecider {
 public:
  static constexpr size_t kMaxQueued = 1000;

  /// What it has to know of the coordinator at each decision.
  struct Situation {
    bool triggering = false;
    int32_t pending = 0;
    int32_t cleaning = 0;
    std::optional<Nanos> lastCompletion{};
  };

  /// `rescheduleTrigger(delay)` sets the periodic timer anew.
  CheckpointRequestDecider(LogSink& log, const Clock& clock, int32_t maxConcurrent, Nanos minPause,
                           std::function<void(Nanos)> rescheduleTrigger, size_t maxQueued = kMaxQueued);

  /// Queues it. False: the queue is full of on-demand requests, it has failed.
  bool submit(CheckpointTriggerRequest request);
  std::optional<CheckpointTriggerRequest> choose(const Situation& now);
  void abortAll(CheckpointFailureReason reason);
  void abortPeriodic(CheckpointFailureReason reason);
  size_t queued() const { return queue_.size(); }

 private:
  struct Before {
    bool operator()(const CheckpointTriggerRequest& a, const CheckpointTriggerRequest& b) const;
  };
  using Queue = std::set<CheckpointTriggerRequest, Before>;
  CheckpointTriggerRequest take(Queue::iterator which);

  Logger logger_;
  const Clock& clock_;
  const int32_t maxConcurrent_;
  const Nanos minPause_;
  const std::function<void(Nanos)> rescheduleTrigger_;
  const size_t maxQueued_;
  uint64_t sequence_ = 0;
  Queue queue_;
};

}  // namespace weir
