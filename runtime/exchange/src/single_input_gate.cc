#include "weir/exchange/single_input_gate.h"

#include <algorithm>

#include "weir/record/event_serializer.h"

namespace weir {

void SingleInputGate::setInputChannels(std::vector<std::unique_ptr<InputChannel>> channels) {
  WEIR_CHECK(!queue_ && !channels.empty(), "gate {} of {}: channels are set once and are not none", gateIndex_, owningTask_);
  channels_ = std::move(channels);
  states_.resize(channels_.size());
  ready_.resize(channels_.size());
  queue_ = std::make_shared<ReadyQueue>(static_cast<uint32_t>(channels_.size()));
}

Result<void> SingleInputGate::setup(ExecutionContext& context, std::shared_ptr<LocalBufferPool> pool) {
  WEIR_CHECK(!pool_, "gate {} of {} is set up once", gateIndex_, owningTask_);
  pool_ = std::move(pool);
  return pool_->reserveFirstSegment(context);
}

std::optional<Millis> SingleInputGate::requestPartitions() {
  std::optional<Millis> pause;
  for (uint32_t i = 0; i < channels_.size(); ++i) {
    InputChannel& channel = *channels_[i];
    if (channel.isReleased() || channel.requestSubpartition({queue_, i})) continue;
    const std::optional<Millis> backoff = channel.increaseBackoff();
    if (!backoff)
      throw Throwable("org.apache.flink.runtime.io.network.partition.PartitionNotFoundException",
                      fmt::format("Partition {}@{} not found.", channel.descriptor().partition.partition.toString(),
                                  channel.descriptor().partition.producer.toString()));
    pause = pause ? std::min(*pause, *backoff) : *backoff;
  }
  return pause;
}

void SingleInputGate::enqueue(uint32_t channel, bool priority) {
  if (!states_[channel].endOfPartition) ready_.add(channel, priority);
}

bool SingleInputGate::takeReported() {
  queue_->drain(reported_, reportedPriority_);
  for (const ReadyQueue::Priority& report : reportedPriority_) {
    const ChannelState& state = states_[report.channel];
    // Not newer than what was polled from it last: the event was taken on the way of an ordinary poll. Numbers wrap around.
    const bool stale = state.sawPriority && static_cast<int32_t>(static_cast<uint32_t>(report.sequenceNumber) -
                                                                 static_cast<uint32_t>(state.lastPrioritySequence)) <= 0;
    if (report.forced || !stale) enqueue(report.channel, true);
  }
  for (const uint32_t channel : reported_) enqueue(channel, false);
  reported_.clear();
  reportedPriority_.clear();
  for (uint32_t i = 0; i < PipelinedSubpartition::kPrefetchAhead; ++i)
    ready_.lookAhead(i, [&](uint32_t soon) { channels_[soon]->prefetch(); });
  return !ready_.empty();
}

bool SingleInputGate::refresh() {
  if (queue_->looksNonEmpty()) takeReported();
  return !ready_.empty();
}

bool SingleInputGate::findReady(bool priorityOnly) {
  if (queue_->looksNonEmpty()) takeReported();
  const auto found = [&] { return priorityOnly ? ready_.hasPriority() : !ready_.empty(); };
  if (found()) return true;
  // Reset first, then look once more under the lock: whoever reports after that sets the signal again.
  Signal& signal = priorityOnly ? priorityAvailable() : available();
  if (!ownsSignals_ || !signal.isSet()) return false;
  signal.reset();
  takeReported();
  return found();
}

std::optional<BufferOrEvent> SingleInputGate::poll(bool priorityOnly) {
  std::optional<BufferOrEvent> out;
  if (finished_ || closed_) return out;
  while (findReady(priorityOnly)) {
    const uint32_t index = ready_.popFront();
    ready_.lookAhead(PipelinedSubpartition::kPrefetchAhead - 1, [&](uint32_t soon) { channels_[soon]->prefetch(); });
    ChannelState& state = states_[index];
    InputChannel& channel = *channels_[index];
    std::optional<BufferAndBacklog> next = channel.getNextBuffer();
    if (!next) continue;

    const DataType type = next->buffer.dataType();
    if (next->nextDataType != DataType::NONE) enqueue(index, hasPriority(next->nextDataType));
    if (hasPriority(type)) {
      state.sawPriority = true;
      state.lastPrioritySequence = next->sequenceNumber;
    } else {
      WEIR_CHECK(!priorityOnly, "a poll for priority events found {}", toString(type));
    }
    if (type == DataType::END_OF_DATA) onEndOfData(index, next->buffer);
    else if (type == DataType::END_OF_PARTITION) onEndOfPartition(index);

    out.emplace(std::move(next->buffer), channel.info(), static_cast<int32_t>(index), next->sequenceNumber, looksReady(),
                ready_.hasPriority());
    break;
  }
  if (debloating_) [[unlikely]] measure(out, priorityOnly);
  return out;
}

void SingleInputGate::measure(const std::optional<BufferOrEvent>& polled, bool priorityOnly) {
  if (polled) debloating_->throughput.received(polled->buffer.size());
  else if (!priorityOnly) debloating_->throughput.pause();
}

void SingleInputGate::onEndOfData(uint32_t channel, const Buffer& event) {
  WEIR_CHECK(!states_[channel].endOfData, "channel {} of gate {} of {} ends its data twice", channel, gateIndex_, owningTask_);
  states_[channel].endOfData = true;
  ++endOfDataCount_;
  const auto decoded = EventSerializer::decode(event.bytes());
  WEIR_CHECK(decoded.has_value() && std::holds_alternative<EndOfData>(*decoded), "an event of type END_OF_DATA that is something else");
  allDrain_ = allDrain_ && std::get<EndOfData>(*decoded).mode == StopMode::DRAIN;
}

void SingleInputGate::onEndOfPartition(uint32_t channel) {
  ChannelState& state = states_[channel];
  WEIR_CHECK(!state.endOfPartition, "channel {} of gate {} of {} ends twice", channel, gateIndex_, owningTask_);
  WEIR_CHECK(!ready_.contains(channel), "channel {} of gate {} of {} has more after its end", channel, gateIndex_, owningTask_);
  state.endOfPartition = true;
  finished_ = ++endOfPartitionCount_ == numberOfChannels();
  channels_[channel]->releaseAllResources();
  if (!finished_) return;
  available().set();
}

EndOfDataStatus SingleInputGate::hasReceivedEndOfData() const {
  if (endOfDataCount_ < numberOfChannels()) return EndOfDataStatus::kNotEndOfData;
  return allDrain_ ? EndOfDataStatus::kDrained : EndOfDataStatus::kStopped;
}

void SingleInputGate::joinUnion(std::shared_ptr<GateSignals> signals) {
  queue_->shareSignals(std::move(signals));
  ownsSignals_ = false;
}

void SingleInputGate::close() {
  if (closed_) return;
  closed_ = true;
  if (queue_) queue_->close();
  ready_.clear();
  for (const auto& channel : channels_) channel->releaseAllResources();
  if (pool_) pool_->lazyDestroy();
}

void SingleInputGate::enableDebloating(const BufferDebloatSettings& settings, const Clock& clock) {
  debloating_.reset(new Debloating{ThroughputCalculator(clock), BufferDebloater(settings)});
  debloatedSize_.store(settings.startingSize, std::memory_order_relaxed);
}

void SingleInputGate::triggerDebloating() {
  if (finished_ || closed_ || !debloating_) return;
  BufferDebloater& debloater = debloating_->debloater;
  const std::optional<int32_t> size = debloater.recalculate(debloating_->throughput.calculate(), buffersInUse());
  estimatedMillis_.store(debloater.estimatedTimeToConsume().count(), std::memory_order_relaxed);
  if (!size) return;
  debloatedSize_.store(*size, std::memory_order_relaxed);
  announceBufferSize(*size);
}

int32_t SingleInputGate::queueLength() const {
  int32_t sum = 0;
  for (const auto& channel : channels_) sum += channel->queueLength();
  return sum;
}

int64_t SingleInputGate::queuedBytes() const {
  int64_t sum = 0;
  for (const auto& channel : channels_) sum += channel->queuedBytes();
  return sum;
}

int32_t SingleInputGate::buffersInUse() const {
  int32_t sum = 0;
  for (const auto& channel : channels_) sum += channel->buffersInUse();
  return sum;
}

}  // namespace weir
