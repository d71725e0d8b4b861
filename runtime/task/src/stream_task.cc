#include "weir/task/stream_task.h"

#include "weir/barrier/checkpoint_barrier_tracker.h"
#include "weir/barrier/single_checkpoint_barrier_handler.h"
#include "weir/base/check.h"

namespace weir {

StreamTask::StreamTask(const TaskFactory& factory, TaskEnvironment& environment, ExecutionContext& context, TaskTimes& times,
                       Mailbox& mailbox)
    : environment_(environment), context_(context), times_(times), mailbox_(mailbox),
      log_(environment.world.log, "org.apache.flink.streaming.runtime.tasks.StreamTask"), processingTime_(context.clock(), times),
      alignment_(environment.reportWatermark),
      chain_(factory, equip(environment), context),
      recovery_(environment, context, chain_), timers_(context.clock()), checkpoints_(environment, context, chain_, timers_) {
  if (environment.gates.empty()) return;
  input_ = std::make_unique<TaskInput>(chain_, environment, context);
  checkpoints_.setInput(input_.get());
  const Logger log(environment.world.log, "org.apache.flink.streaming.runtime.io.checkpointing.SingleCheckpointBarrierHandler");
  const int channels = input_->numberOfChannels();
  const bool afterFinish = environment.settings.checkpointsAfterTasksFinish;
  CheckpointableTask& self = *this;
  if (environment.settings.exactlyOnce)
    input_->setBarrierHandler(std::make_unique<SingleCheckpointBarrierHandler>(
        SingleCheckpointBarrierHandler::Options{channels, afterFinish}, self, context.clock(), log, environment.taskName()));
  else
    input_->setBarrierHandler(std::make_unique<CheckpointBarrierTracker>(CheckpointBarrierTracker::Options{channels, afterFinish}, self,
                                                                         context.clock(), log, environment.taskName()));
}

StreamTask::~StreamTask() = default;

/// What operators find in their environment when they are made.
TaskEnvironment& StreamTask::equip(TaskEnvironment& environment) {
  environment.processingTime = &processingTime_;
  if (environment.gates.empty() && environment.reportWatermark) environment.alignment = &alignment_;
  if (environment.settings.interruptibleTimers && environment.channelStateWriter) environment.interruption = &interruption_;
  return environment;
}

bool StreamTask::TimerInterruption::isRequested() const {
  return task_.mailbox_.looksNonEmpty() || (task_.input_ && task_.input_->looksLikePriority()) || !task_.outputsAvailable();
}

void StreamTask::restore() {
  recovery_.replayOutputs();
  chain_.broadcastEvent(EndOfChannelState{});
  chain_.initializeState();
  chain_.open();
}

void StreamTask::replayInputs() {
  if (!input_) return;
  while (auto recovered = recovery_.nextInput()) {
    input_->replay(std::move(*recovered));
    while (input_->isReading()) {
      finishWatermark();
      if (outputsAvailable()) input_->emitNext(batchLimit());
      else waitForOutputs();
    }
  }
}

void StreamTask::scheduleDebloating() {
  // It runs as long as the task does, so it must not keep a simulated run going.
  timers_.schedule(*environment_.debloatPeriod, [this] {
    for (const auto& gate : environment_.gates) gate->triggerDebloating();
    scheduleDebloating();
  }, Deadline::Kind::kHousekeeping);
}

void StreamTask::scheduleLatencyMarker(int64_t at) {
  processingTime_.registerTimer(at, [this](int64_t) {
    static_cast<SourceOperatorBase&>(chain_.head()).emitLatencyMarker();
    scheduleLatencyMarker(processingTime_.currentProcessingTime() + environment_.settings.latency.interval.count());
  }, Deadline::Kind::kHousekeeping);
}

void StreamTask::invoke() {
  times_.start(context_.clock());
  context_.setWaitObserver(&times_);
  if (input_ && environment_.debloatPeriod) scheduleDebloating();
  const bool measures = environment_.settings.latency.interval > Millis::zero();
  if (!input_ && measures && !chain_.isFinishedOnRestore()) scheduleLatencyMarker(processingTime_.currentProcessingTime());
  while (!endOfInput_) {
    handleEvents();
    if (!outputsAvailable()) {
      waitForOutputs();
    } else if (chain_.hasPendingWatermark()) {
      chain_.continueWatermark();
    } else if (input_) {
      processInput();
    } else {
      processSource();
    }
  }
  waitForTheEnd();
}

void StreamTask::runMails() {
  while (auto mail = mailbox_.tryTake()) mail->run();
}

void StreamTask::handleEvents() {
  context_.checkCancelled();  // one that never waits, such as a source into a partition that was released, would not hear of it
  if (input_ && input_->looksLikePriority()) input_->processPriorityEvents();
  if (mailbox_.looksNonEmpty()) runMails();
  timers_.runDue();
  runProcessingTimers();
}

void StreamTask::finishWatermark() {
  while (chain_.hasPendingWatermark()) {
    handleEvents();
    if (outputsAvailable()) chain_.continueWatermark();
    else waitForOutputs();
  }
}

bool StreamTask::outputsAvailable() const {
  for (const auto& partition : environment_.partitions)
    if (!partition->isAvailable()) return false;
  return true;
}

/// Where a barrier may overtake, close to back pressure one record: a batch that runs out of buffers in its middle would hold it up.
size_t StreamTask::batchLimit() const {
  if (!environment_.channelStateWriter) return chain_.batchSize();
  for (const auto& partition : environment_.partitions)
    if (!partition->looksRoomy()) return 1;
  return chain_.batchSize();
}

void StreamTask::waitForOutputs() {
  waitSignals_.clear();
  for (const auto& partition : environment_.partitions) {
    Signal& available = partition->available();
    available.reset();
    if (!partition->isAvailable()) waitSignals_.push_back(&available);
  }
  if (waitSignals_.empty()) return;
  waitSignals_.push_back(&mailbox_.available());
  if (input_) waitSignals_.push_back(&input_->gate().priorityAvailable());
  // Not for timers of operators: they wait for the outputs too.
  context_.wait(WaitReason::kOutput, waitSignals_, timers_.deadline());
}

void StreamTask::processSource() {
  if (alignment_.isPaused()) {
    context_.wait(WaitReason::kInputOrMail, {&mailbox_.available()}, deadline());
    return;
  }
  auto& source = static_cast<SourceOperatorBase&>(chain_.head());
  const SourceStatus status = chain_.isFinishedOnRestore() ? SourceStatus::end() : source.emitNext(batchLimit());
  context_.bill(static_cast<int64_t>(status.records));
  switch (status.kind) {
    case SourceStatus::Kind::kMoreAvailable: break;
    case SourceStatus::Kind::kNothingUntil: {
      context_.wait(WaitReason::kInputOrMail, {&mailbox_.available()}, earlierOf(deadline(), status.until));
      break;
    }
    case SourceStatus::Kind::kEndOfInput:
      endData();
      endOfInput_ = true;
      break;
  }
}

void StreamTask::processInput() {
  switch (input_->emitNext(batchLimit())) {
    case InputStatus::kMoreAvailable: break;
    case InputStatus::kNothingAvailable:
      context_.wait(WaitReason::kInputOrMail, {&input_->available(), &mailbox_.available()}, deadline());
      break;
    case InputStatus::kEndOfData: endData(); break;
    case InputStatus::kEndOfInput: endOfInput_ = true; break;
  }
}

void StreamTask::endData() {
  // Those with an input got the end of event time through it.
  if (!input_ || chain_.isFinishedOnRestore()) chain_.endEventTime();
  finishWatermark();
  chain_.finish();
  processingTime_.quiesce();
  endOfData_ = true;
  for (const auto& partition : environment_.partitions) partition->notifyEndOfData(StopMode::DRAIN);
}

bool StreamTask::allRecordsAcknowledged() const {
  for (const auto& partition : environment_.partitions)
    if (!partition->isAllDataProcessed()) return false;
  return true;
}

void StreamTask::waitForTheEnd() {
  // Consumers must have read everything, and one checkpoint must cover the end: only its completion commits what sinks hold back.
  const bool finalCheckpoint = environment_.settings.checkpointingEnabled && environment_.settings.checkpointsAfterTasksFinish;
  const auto mustWait = [&] {
    return !allRecordsAcknowledged() || (finalCheckpoint && !finalCheckpointCompleted_) || checkpoints_.hasRunningParts();
  };
  while (mustWait()) {
    runMails();
    timers_.runDue();
    checkpoints_.partReported().reset();
    waitSignals_.assign({&mailbox_.available(), &checkpoints_.partReported()});
    for (const auto& partition : environment_.partitions) {
      Signal& acknowledged = partition->allDataProcessed();
      acknowledged.reset();
      if (!partition->isAllDataProcessed()) waitSignals_.push_back(&acknowledged);
    }
    if (mustWait()) context_.wait(WaitReason::kInputOrMail, waitSignals_, timers_.deadline());
  }
}

void StreamTask::drainMails() {
  ended_ = true;
  for (Mail& mail : mailbox_.closeAndTake()) mail.run();
}

void StreamTask::close() {
  checkpoints_.close();
  try {
    chain_.close();
  } catch (...) {
    log_.error("Closing {} failed.\n{}", environment_.taskName(), Throwable::from(std::current_exception())->trace());
  }
  context_.setWaitObserver(nullptr);
}

void StreamTask::triggerCheckpoint(const CheckpointMetaData& checkpoint, const CheckpointOptions& options) {
  if (ended_) {
    environment_.responder.declineCheckpoint(
        environment_.attempt, checkpoint.checkpointId,
        std::make_shared<CheckpointException>("Task name with subtask : " + environment_.taskNameWithSubtask(),
                                              CheckpointFailureReason::kCheckpointDeclinedTaskNotReady));
    return;
  }
  if (input_ && input_->triggerOnOpenChannels({checkpoint.checkpointId, checkpoint.timestampMs, options})) return;
  checkpoints_.initInputsCheckpoint(checkpoint.checkpointId, options);
  CheckpointMetrics metrics;
  metrics.checkpointStartDelayNanos = 1'000'000 * std::max<int64_t>(0, context_.clock().epochMillis() - checkpoint.timestampMs);
  performCheckpoint(checkpoint, options, metrics);
}

void StreamTask::triggerCheckpointOnBarrier(const CheckpointMetaData& checkpoint, const CheckpointOptions& options,
                                            const CheckpointMetrics& metrics) {
  performCheckpoint(checkpoint, options, metrics);
}

void StreamTask::abortCheckpointOnBarrier(int64_t checkpointId, const CheckpointException& why) {
  checkpoints_.abortCheckpointOnBarrier(checkpointId, why);
}

void StreamTask::setAlignmentTimer(int64_t checkpointId, Millis delay) {
  cancelAlignmentTimer();
  alignmentTimer_ = timers_.schedule(delay, [this, checkpointId] {
    CheckpointBarrierHandler& handler = input_->barrierHandler();
    const bool missing = handler.isCheckpointPending() && handler.latestCheckpointId() == checkpointId;
    if (environment_.trace && missing) environment_.trace->record(BarrierStep::kTimedOut, checkpointId);
    handler.onAlignmentTimeout(checkpointId);
  });
}

void StreamTask::performCheckpoint(const CheckpointMetaData& checkpoint, const CheckpointOptions& options, CheckpointMetrics metrics) {
  const int64_t id = checkpoint.checkpointId;
  log_.debug("Starting checkpoint {} {} on task {}", id, toString(options.type, options.format), environment_.taskName());
  if (endOfData_ && !finalCheckpointMinId_) finalCheckpointMinId_ = id;
  try {
    checkpoints_.checkpointState(checkpoint, options, metrics, endOfData_);
  } catch (const TaskCancelled&) {
    throw;
  } catch (...) {
    throw Throwable("java.io.IOException",
                    "Could not perform checkpoint " + std::to_string(id) + " for operator " + environment_.taskName() + ".",
                    Throwable::from(std::current_exception()));
  }
}

void StreamTask::notifyCheckpointComplete(int64_t checkpointId) {
  checkpoints_.notifyCheckpointComplete(checkpointId);
  if (finalCheckpointMinId_ && checkpoints_.latestCompletedId() >= *finalCheckpointMinId_) finalCheckpointCompleted_ = true;
}

void StreamTask::notifyCheckpointAborted(int64_t checkpointId, int64_t latestCompletedId) {
  checkpoints_.notifyCheckpointAborted(checkpointId, latestCompletedId);
  if (finalCheckpointMinId_ && checkpoints_.latestCompletedId() >= *finalCheckpointMinId_) finalCheckpointCompleted_ = true;
}

}  // namespace weir
