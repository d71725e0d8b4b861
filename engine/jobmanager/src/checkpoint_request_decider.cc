#include "weir/jobmanager/checkpoint_request_decider.h"

#include <tuple>

namespace weir {
namespace {

constexpr Millis kLogQueueTimeFrom{100};

}  // namespace

void CheckpointTriggerRequest::fail(CheckpointFailureReason reason) const {
  if (done) done(std::make_shared<const CheckpointException>(reason));
}

bool CheckpointRequestDecider::Before::operator()(const CheckpointTriggerRequest& a, const CheckpointTriggerRequest& b) const {
  const auto rank = [](const CheckpointTriggerRequest& r) {
    return std::tuple(!isSavepoint(r.properties.type), !r.properties.forced, r.periodic, r.requestedAt, r.sequence);
  };
  return rank(a) < rank(b);
}

CheckpointRequestDecider::CheckpointRequestDecider(LogSink& log, const Clock& clock, int32_t maxConcurrent, Nanos minPause,
                                                   std::function<void(Nanos)> rescheduleTrigger, size_t maxQueued)
    : logger_(log, "org.apache.flink.runtime.checkpoint.CheckpointRequestDecider"), clock_(clock), maxConcurrent_(maxConcurrent),
      minPause_(minPause), rescheduleTrigger_(std::move(rescheduleTrigger)), maxQueued_(maxQueued) {}

bool CheckpointRequestDecider::submit(CheckpointTriggerRequest request) {
  if (queue_.size() >= maxQueued_ && !queue_.rbegin()->periodic) {
    request.fail(CheckpointFailureReason::kTooManyCheckpointRequests);
    return false;
  }
  request.sequence = ++sequence_;
  queue_.insert(std::move(request));
  if (queue_.size() > maxQueued_) take(std::prev(queue_.end())).fail(CheckpointFailureReason::kTooManyCheckpointRequests);
  return true;
}

std::optional<CheckpointTriggerRequest> CheckpointRequestDecider::choose(const Situation& now) {
  if (now.triggering || queue_.empty() || now.cleaning > maxConcurrent_) return std::nullopt;
  const auto first = queue_.begin();
  if (now.pending >= maxConcurrent_ && !first->properties.forced) return std::nullopt;
  const Nanos time = clock_.monotonic();
  if (first->periodic && !first->properties.forced && now.lastCompletion) {
    const Nanos wait = *now.lastCompletion + minPause_ - time;
    if (wait > Nanos::zero()) {
      const CheckpointTriggerRequest early = take(first);
      rescheduleTrigger_(wait);
      early.fail(CheckpointFailureReason::kMinimumTimeBetweenCheckpoints);
      return std::nullopt;
    }
  }
  const auto queued = std::chrono::duration_cast<Millis>(time - first->requestedAt);
  if (queued > kLogQueueTimeFrom) logger_.info("checkpoint request time in queue: {}", queued.count());
  return take(first);
}

void CheckpointRequestDecider::abortAll(CheckpointFailureReason reason) {
  Queue aborted;
  aborted.swap(queue_);  // what a callback submits is not meant
  for (const CheckpointTriggerRequest& request : aborted) request.fail(reason);
}

void CheckpointRequestDecider::abortPeriodic(CheckpointFailureReason reason) {
  // Periodic requests are neither savepoints nor forced: they are the tail of the queue.
  while (!queue_.empty() && queue_.rbegin()->periodic) take(std::prev(queue_.end())).fail(reason);
}

CheckpointTriggerRequest CheckpointRequestDecider::take(Queue::iterator which) { return std::move(queue_.extract(which).value()); }

}  // namespace weir
