#include "weir/channel/channel_state_dispatcher.h"

#include "weir/base/check.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {
namespace {

std::shared_ptr<const Throwable> subsumed() {
  return std::make_shared<CheckpointException>(CheckpointFailureReason::kCheckpointDeclinedSubsumed);
}

}  // namespace

void ChannelStateDispatcher::dispatch(ChannelStateRequest request) {
  switch (request.kind) {
    case Kind::kRegister: subtasks_[request.writer] = request.subtask; return;
    case Kind::kRelease: return release(request.writer);
    case Kind::kAbort: return abort(request);
    case Kind::kDrop: return drop(request);
    case Kind::kStart: return start(request);
    default: return carryOut(request);
  }
}

std::shared_ptr<const Throwable> ChannelStateDispatcher::whyCancelled(const ChannelStateRequest& request) const {
  if (broken_) return broken_;
  const int64_t id = request.checkpointId;
  if (const auto own = abortedAlone_.find(request.writer); own != abortedAlone_.end() && id <= own->second.checkpointId)
    return id == own->second.checkpointId ? own->second.cause : subsumed();
  if (id == aborted_.checkpointId) {
    if (request.writer == aborted_.writer) return aborted_.cause;
    return std::make_shared<CheckpointException>(CheckpointFailureReason::kChannelStateSharedStreamException, aborted_.cause);
  }
  if (id < aborted_.checkpointId || id < ongoingId_) return subsumed();
  return nullptr;
}

void ChannelStateDispatcher::start(ChannelStateRequest& request) {
  if (const auto why = whyCancelled(request)) {
    request.result->fail(why);
    return;
  }
  const auto subtask = subtasks_.find(request.writer);
  if (subtask == subtasks_.end()) {
    request.result->fail(std::make_shared<Throwable>("java.util.concurrent.CancellationException", "The subtask has ended."));
    return;
  }
  if (request.checkpointId > ongoingId_) {
    if (ongoing_) ongoing_->failAll(subsumed());
    ongoingId_ = request.checkpointId;
    std::set<int32_t> waitsFor;
    for (const auto& [writer, index] : subtasks_) waitsFor.insert(writer);
    ongoing_ = std::make_unique<ChannelStateCheckpointWriter>(ongoingId_, std::move(waitsFor), request.location, storage_, acks_);
  }
  ongoing_->start(request.writer, subtask->second, std::move(request.result));
}

void ChannelStateDispatcher::carryOut(ChannelStateRequest& request) {
  if (whyCancelled(request)) return;
  if (!subtasks_.contains(request.writer)) return;  // it has ended; its partitions may still be read
  const bool known = ongoing_ && ongoing_->checkpointId() == request.checkpointId;
  if (!known || !write(request)) {
    return breakOff(std::make_shared<Throwable>(
        "java.lang.IllegalArgumentException",
        fmt::format("writer not found, or finished before, for in-flight data of checkpoint {} (the newest is {})", request.checkpointId,
                    ongoingId_)));
  }
}

bool ChannelStateDispatcher::write(ChannelStateRequest& request) {
  using Side = ChannelStateCheckpointWriter::Side;
  const ChannelStateCheckpointWriter::Channel channel{request.gateOrPartition, request.channelOrSubpartition};
  switch (request.kind) {
    case Kind::kWriteInput: return ongoing_->write(request.writer, Side::kInput, channel, request.data);
    case Kind::kWriteOutput: return ongoing_->write(request.writer, Side::kOutput, channel, request.data);
    case Kind::kExpectOutput: return ongoing_->expectOutput(request.writer, channel);
    case Kind::kCompleteOutput: return ongoing_->outputArrived(request.writer, channel, request.data);
    case Kind::kFinishInput: return ongoing_->finish(request.writer, Side::kInput);
    case Kind::kFinishOutput: return ongoing_->finish(request.writer, Side::kOutput);
    case Kind::kFailOutput: ongoing_->fail(request.writer, request.cause); return true;
    default: checkFailed(__FILE__, __LINE__, "write", "no request about data");
  }
}

void ChannelStateDispatcher::abort(ChannelStateRequest& request) {
  const int64_t id = request.checkpointId;
  if (acks_ == ChannelStateAcks::kIndependent) {
    if (Aborted& own = abortedAlone_[request.writer]; id > own.checkpointId) own = {id, request.writer, request.cause};
    if (ongoing_ && id >= ongoingId_) ongoing_->fail(request.writer, id == ongoingId_ ? request.cause : subsumed());
  } else {
    if (id > aborted_.checkpointId) aborted_ = {id, request.writer, request.cause};
    if (ongoing_ && id == ongoingId_) ongoing_->fail(request.writer, request.cause);
    else if (ongoing_ && id > ongoingId_) ongoing_->failAll(subsumed());
  }
  if (request.result) drop(request);
}

void ChannelStateDispatcher::drop(const ChannelStateRequest& request) {
  if (request.result->fail(request.cause) || request.result->failure()) return;
  discardChannelState(storage_, request.checkpointId, request.location, request.result->written());
}

void ChannelStateDispatcher::release(int32_t writer) {
  subtasks_.erase(writer);
  if (ongoing_) ongoing_->release(writer);
}

void ChannelStateDispatcher::breakOff(const std::shared_ptr<const Throwable>& cause) {
  if (!broken_) broken_ = cause;
  if (ongoing_) ongoing_->failAll(cause);
  ongoing_.reset();
}

}  // namespace weir
