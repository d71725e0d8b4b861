#include "weir/task/task_input.h"

#include <algorithm>

#include "weir/base/check.h"
#include "weir/record/event_serializer.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {

TaskInput::TaskInput(OperatorChain& chain, TaskEnvironment& environment, ExecutionContext& context)
    : chain_(chain), context_(context), trace_(environment.trace.get()) {
  std::vector<SingleInputGate*> single;
  std::vector<int> channelsOfInput;
  for (size_t g = 0; g < environment.gates.size(); ++g) {
    const int gate = static_cast<int>(g), count = environment.gates[g]->numberOfChannels(), headInput = chain.headInputOf(gate);
    gates_.push_back({chain.createReader(gate), nullptr, static_cast<int>(channels_.size()), count, count, count, headInput});
    if (channelsOfInput.size() <= static_cast<size_t>(headInput)) channelsOfInput.resize(static_cast<size_t>(headInput) + 1);
    for (int c = 0; c < count; ++c)
      channels_.push_back({gate, channelsOfInput[static_cast<size_t>(headInput)]++,
                           RecordDeserializer(fmt::format("channel {} of gate {} of {}", c, g, environment.taskName()))});
    if (openGatesOfInput_.size() <= static_cast<size_t>(headInput)) openGatesOfInput_.resize(static_cast<size_t>(headInput) + 1);
    ++openGatesOfInput_[static_cast<size_t>(headInput)];
    single.push_back(environment.gates[g].get());
  }
  for (const int channels : channelsOfInput) valves_.emplace_back(channels);
  openChannels_ = openDataChannels_ = static_cast<int>(channels_.size());
  demultiplex(environment);
  if (single.size() == 1) {
    gate_ = single.front();
  } else {
    union_ = std::make_unique<UnionInputGate>(single);
    gate_ = union_.get();
  }
  priorityAvailable_ = &gate_->priorityAvailable();
}

void TaskInput::demultiplex(const TaskEnvironment& environment) {
  if (!environment.restore) return;
  const auto& rescaling = environment.restore->inputRescaling;
  for (size_t g = 0; g < gates_.size() && g < rescaling.size(); ++g) {
    if (rescaling[g].isIdentity()) continue;
    Gate& gate = gates_[g];
    if (!rescaling[g].ambiguous.empty()) gate.filteringReader = chain_.createFilteringReader(static_cast<int>(g));
    for (int c = 0; c < gate.channels; ++c) {
      Channel& channel = channels_[static_cast<size_t>(gate.firstChannel + c)];
      channel.recovering = std::make_unique<VirtualChannels>(rescaling[g], c, channel.deserializer.channel());
    }
  }
}

InputStatus TaskInput::emitNext(size_t limit) {
  if (current_ >= 0) return readCurrent(limit);
  auto polled = gate_->pollNext();
  if (!polled) return gate_->isFinished() ? InputStatus::kEndOfInput : InputStatus::kNothingAvailable;
  Channel& channel = channels_[static_cast<size_t>(polled->channelIndex)];
  if (!polled->isBuffer()) {
    auto event = EventSerializer::decode(polled->buffer.bytes());
    if (event.has_error()) throw Throwable("java.io.IOException", event.error().in(channel.deserializer.channel()).message);
    return onEvent(polled->channelIndex, *event);
  }
  handler_->addProcessedBytes(polled->buffer.size());
  beginBuffer(channel, std::move(polled->buffer));
  current_ = polled->channelIndex;
  return readCurrent(limit);
}

void TaskInput::processPriorityEvents() {
  while (auto polled = gate_->pollPriority()) {
    const std::string& channel = channels_[static_cast<size_t>(polled->channelIndex)].deserializer.channel();
    auto event = EventSerializer::decode(polled->buffer.bytes());
    if (event.has_error()) throw Throwable("java.io.IOException", event.error().in(channel).message);
    (void)onEvent(polled->channelIndex, *event);
  }
  if (gate_->isFinished()) gate_->priorityAvailable().reset();  // nobody resets it any more
}

void TaskInput::replay(RecoveredInput recovered) {
  WEIR_CHECK(!isReading(), "recovered input comes in the middle of a buffer");
  current_ = gates_[static_cast<size_t>(recovered.gate)].firstChannel + recovered.channel;
  Channel& channel = channels_[static_cast<size_t>(current_)];
  if (channel.recovering) channel.recovering->select(recovered.oldSubtask, recovered.oldSender);
  beginBuffer(channel, std::move(recovered.buffer));
}

void TaskInput::beginBuffer(Channel& channel, Buffer buffer) {
  channel.buffer = std::move(buffer);
  RecordDeserializer& deserializer = channel.recovering ? channel.recovering->selected() : channel.deserializer;
  deserializer.setNextBuffer(channel.buffer.bytes());
}

InputStatus TaskInput::readCurrent(size_t limit) {
  Channel& channel = channels_[static_cast<size_t>(current_)];
  ControlElement control;
  bool hasControl = false;
  size_t records = 0;
  Gate& gate = gates_[static_cast<size_t>(channel.gate)];
  RecordDeserializer& deserializer = channel.recovering ? channel.recovering->selected() : channel.deserializer;
  ElementReader& reader = channel.recovering && channel.recovering->isAmbiguous() ? *gate.filteringReader : *gate.reader;
  const bool more = reader.read(deserializer, limit, control, hasControl, records);
  if (!more) {
    channel.buffer.reset();
    current_ = -1;
  }
  context_.bill(static_cast<int64_t>(records));
  if (hasControl) onControl(channel, control);
  return InputStatus::kMoreAvailable;
}

void TaskInput::onControl(Channel& channel, const ControlElement& element) {
  if (chain_.isFinishedOnRestore()) return;  // it ends its outputs, and their event time, by itself
  const int headInput = gates_[static_cast<size_t>(channel.gate)].headInput;
  StatusWatermarkValve& valve = valves_[static_cast<size_t>(headInput)];
  if (const auto* watermark = std::get_if<Watermark>(&element)) {
    const auto merged = channel.recovering ? channel.recovering->inputWatermark(watermark->timestamp) : watermark->timestamp;
    if (merged) emit(headInput, valve.inputWatermark(channel.valveChannel, *merged));
  } else if (const auto* status = std::get_if<WatermarkStatus>(&element)) {
    const WatermarkStatus merged = channel.recovering ? channel.recovering->inputStatus(*status) : *status;
    emit(headInput, valve.inputStatus(channel.valveChannel, merged));
  } else if (std::holds_alternative<LatencyMarker>(element)) {
    // One that was in flight for another subtask has measured the failure, not the way.
    if (!channel.recovering) chain_.headInput(headInput).emitControl(element);
  } else {
    throw Throwable("java.lang.IllegalStateException", toString(element) + " came on " + channel.deserializer.channel());
  }
}

void TaskInput::emit(int headInput, const MergedWatermark& merged) {
  OutputBase& head = chain_.headInput(headInput);
  if (merged.status && !merged.status->idle) head.emitControl(*merged.status);
  if (merged.watermark) head.emitControl(Watermark{*merged.watermark});
  if (merged.status && merged.status->idle) head.emitControl(*merged.status);
}

InputStatus TaskInput::onEvent(int channel, const RuntimeEvent& event) {
  if (const auto* barrier = std::get_if<CheckpointBarrier>(&event)) {
    if (trace_) traceReceived(*barrier, channel);
    handler_->processBarrier(*barrier, channel, false);
  } else if (const auto* announcement = std::get_if<EventAnnouncement>(&event)) {
    if (trace_) {
      const InputChannelInfo info = gate_->channel(channel).info();
      trace_->record(BarrierStep::kAnnounced, announcement->announced.id, {.gate = info.gate, .channel = info.channel});
    }
    handler_->processBarrierAnnouncement(announcement->announced, channel, announcement->sequenceNumber);
  } else if (const auto* marker = std::get_if<CancelCheckpointMarker>(&event)) {
    handler_->processCancellationBarrier(marker->checkpointId, channel);
  } else if (std::holds_alternative<EndOfData>(event)) {
    return onEndOfData(channel);
  } else if (const auto* descriptor = std::get_if<SubtaskConnectionDescriptor>(&event)) {
    // Senders put it in front of recovered output also where nothing has changed.
    if (const auto& recovering = channels_[static_cast<size_t>(channel)].recovering)
      recovering->select(descriptor->inputSubtaskIndex, descriptor->outputSubtaskIndex);
  } else if (std::holds_alternative<EndOfChannelState>(event)) {
    onEndOfRecovery(channel);
  } else if (std::holds_alternative<EndOfPartition>(event)) {
    channels_[static_cast<size_t>(channel)].ended = true;
    --openChannels_;
    handler_->processEndOfPartition(channel);
  } else {
    throw Throwable("java.io.IOException",
                    "unexpected event " + toString(event) + " on " + channels_[static_cast<size_t>(channel)].deserializer.channel());
  }
  return InputStatus::kMoreAvailable;
}

void TaskInput::traceReceived(const CheckpointBarrier& barrier, int channel) {
  const int gate = channels_[static_cast<size_t>(channel)].gate;
  const BarrierDetails details{.gate = gate, .channel = channel - gates_[static_cast<size_t>(gate)].firstChannel};
  trace_->record(BarrierStep::kReceived, barrier.id, details);
  if (barrier.options.needsAlignment()) trace_->record(BarrierStep::kChannelBlocked, barrier.id, details);
}

InputStatus TaskInput::onEndOfData(int channel) {
  Channel& state = channels_[static_cast<size_t>(channel)];
  WEIR_CHECK(!state.endOfData, "{} ended its data twice", state.deserializer.channel());
  state.endOfData = true;
  Gate& gate = gates_[static_cast<size_t>(state.gate)];
  gate_->channel(channel).acknowledgeAllRecordsProcessed();
  --openDataChannels_;
  if (--gate.openData == 0 && --openGatesOfInput_[static_cast<size_t>(gate.headInput)] == 0) chain_.endHeadInput(gate.headInput);
  return openDataChannels_ == 0 ? InputStatus::kEndOfData : InputStatus::kMoreAvailable;
}

void TaskInput::onEndOfRecovery(int channel) {
  // Every channel of the gate waits for the last one: only then is all recovered data of the gate in front of all new data.
  Channel& state = channels_[static_cast<size_t>(channel)];
  WEIR_CHECK(!state.recovered, "{} ended its recovery twice", state.deserializer.channel());
  state.recovered = true;
  if (state.recovering) {
    state.recovering->finish();
    state.recovering.reset();
  }
  Gate& gate = gates_[static_cast<size_t>(state.gate)];
  // Its sender is a new one, perhaps of other splits, whatever watermark and status were in flight.
  emit(gate.headInput, valves_[static_cast<size_t>(gate.headInput)].restart(state.valveChannel));
  if (--gate.recovering > 0) return;
  for (int c = 0; c < gate.channels; ++c) gate_->channel(gate.firstChannel + c).resumeConsumption();
}

void TaskInput::resumeConsumption(int channel) {
  if (!channels_[static_cast<size_t>(channel)].ended) gate_->channel(channel).resumeConsumption();
}

void TaskInput::persistUnread(ChannelStateWriter& writer, int64_t checkpointId) {
  for (int32_t c = 0; c < static_cast<int32_t>(channels_.size()); ++c) {
    const Channel& channel = channels_[static_cast<size_t>(c)];
    if (channel.ended) continue;
    const auto unread = channel.deserializer.getUnconsumedBuffer();
    std::vector<Buffer> data;
    // The deserializer goes on collecting, so the beginning is copied; the rest lies in the buffer and is shared.
    if (!unread.partial.empty()) data.push_back(Buffer::copyOf(unread.partial, DataType::DATA_BUFFER));
    if (!unread.rest.empty())
      data.push_back(channel.buffer.slice(static_cast<uint32_t>(unread.rest.data() - channel.buffer.data()),
                                          static_cast<uint32_t>(unread.rest.size())));
    if (!data.empty()) writer.addInputData(checkpointId, gate_->channel(c).info(), std::move(data));
  }
}

void TaskInput::checkpointStarted(const CheckpointBarrier& barrier) {
  // What is on its way belongs to channels of before the rescale: a channel of now cannot store whose it is.
  const bool demultiplexes = std::any_of(channels_.begin(), channels_.end(), [](const Channel& c) { return c.recovering != nullptr; });
  if (demultiplexes) throw CheckpointException(CheckpointFailureReason::kCheckpointDeclinedTaskNotReady);
  for (int32_t c = 0; c < static_cast<int32_t>(channels_.size()); ++c)
    if (!channels_[static_cast<size_t>(c)].ended) gate_->channel(c).checkpointStarted(barrier);
}

void TaskInput::checkpointStopped(int64_t checkpointId) {
  for (int32_t c = 0; c < static_cast<int32_t>(channels_.size()); ++c)
    if (!channels_[static_cast<size_t>(c)].ended) gate_->channel(c).checkpointStopped(checkpointId);
}

void TaskInput::convertToPriorityEvent(int channel, int32_t sequenceNumber) {
  if (!channels_[static_cast<size_t>(channel)].ended) gate_->channel(channel).convertToPriorityEvent(sequenceNumber);
}

bool TaskInput::triggerOnOpenChannels(const CheckpointBarrier& barrier) {
  bool any = false;
  for (size_t c = 0; c < channels_.size(); ++c) {
    if (channels_[c].ended) continue;
    any = true;
    handler_->processBarrier(barrier, static_cast<int>(c), true);
  }
  return any;
}

}  // namespace weir
