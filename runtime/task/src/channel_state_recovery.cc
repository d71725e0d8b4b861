#include "weir/task/channel_state_recovery.h"

#include <algorithm>

#include "weir/record/event_serializer.h"
#include "weir/task/restore_failure.h"

namespace weir {
namespace {

constexpr const char* kWhat = "The in-flight data of the checkpoint";
/// How much recovered input is read at once.
constexpr size_t kReadAheadBytes = size_t{1} << 20;

const InFlightRescaling* rescalingOf(const std::vector<InFlightRescaling>& all, int32_t index) {
  if (static_cast<size_t>(index) >= all.size() || all[static_cast<size_t>(index)].isIdentity()) return nullptr;
  return &all[static_cast<size_t>(index)];
}

/// The channels of now that an old one goes to.
std::vector<int32_t> channelsOf(const InFlightRescaling* rescaling, int32_t oldChannel, int32_t channels) {
  if (!rescaling) return oldChannel < channels ? std::vector<int32_t>{oldChannel} : std::vector<int32_t>{};
  std::vector<int32_t> to;
  for (size_t c = 0; c < rescaling->oldChannels.size(); ++c) {
    const auto& from = rescaling->oldChannels[c];
    if (std::find(from.begin(), from.end(), oldChannel) != from.end()) to.push_back(static_cast<int32_t>(c));
  }
  return to;
}

[[noreturn]] void throwMisfit(const std::string& what, const ChannelStateEntry& entry) {
  throwRestoreFailure(kWhat, {ErrorCode::kInvalidArgument,
                              fmt::format("{} {} of subtask {} does not fit this task: has the topology changed?", what,
                                          entry.channelOrSubpartition, entry.oldSubtask)});
}

}  // namespace

ChannelStateRecovery::ChannelStateRecovery(TaskEnvironment& environment, ExecutionContext& context, const OperatorChain& chain)
    : environment_(environment), context_(context), chain_(chain) {}

ChannelStateRecovery::~ChannelStateRecovery() = default;

const std::vector<ChannelStateHandle>& ChannelStateRecovery::handlesOf(ChannelStateKind kind) const {
  static const std::vector<ChannelStateHandle> kNone;
  if (!environment_.restore) return kNone;
  const bool inputs = kind == ChannelStateKind::kInput;
  const OperatorID& owner = inputs ? chain_.operators().front()->id() : chain_.operators().back()->id();
  const auto found = environment_.restore->operators.find(owner);
  if (found == environment_.restore->operators.end()) return kNone;
  return inputs ? found->second.inputChannels : found->second.outputChannels;
}

std::unique_ptr<ChannelStateReader> ChannelStateRecovery::open(ChannelStateKind kind) {
  const auto& handles = handlesOf(kind);
  if (handles.empty()) return nullptr;
  Result<std::unique_ptr<ChannelStateReader>> reader = std::unique_ptr<ChannelStateReader>();
  context_.blocking([&] { reader = environment_.openChannelState(kind, handles); });
  if (reader.has_error()) throwRestoreFailure(kWhat, reader.error());
  return std::move(*reader);
}

void ChannelStateRecovery::replayOutputs() {
  const auto reader = open(ChannelStateKind::kOutput);
  if (!reader) return;
  while (const ChannelStateEntry* entry = reader->next()) replayOutput(*reader, *entry);
}

/// A network buffer, charged to one subpartition also where several share its memory. Before the pool is sure of any: memory of the heap.
/// Who holds the buffers until then may be blocked behind what this subtask recovers, so it must not wait for them.
BufferBuilder ChannelStateRecovery::builderFor(ResultPartition& partition, int32_t subpartition) {
  LocalBufferPool& pool = partition.pool();
  if (pool.isSecured()) return pool.requestBufferBuilderBlocking(context_, subpartition);
  return BufferBuilder(MemorySegment::allocate(pool.segmentSize()));
}

void ChannelStateRecovery::replayOutput(ChannelStateReader& reader, const ChannelStateEntry& entry) {
  if (static_cast<size_t>(entry.gateOrPartition) >= environment_.partitions.size()) throwMisfit("partition", entry);
  ResultPartition& partition = *environment_.partitions[static_cast<size_t>(entry.gateOrPartition)];
  const auto* rescaling = environment_.restore ? rescalingOf(environment_.restore->outputRescaling, entry.gateOrPartition) : nullptr;
  const auto targets = channelsOf(rescaling, entry.channelOrSubpartition, partition.subpartitionCount());
  if (targets.empty()) throwMisfit("subpartition", entry);
  // As Flink does: also where nothing was rescaled, and the receiver does not need it.
  const RuntimeEvent descriptor = SubtaskConnectionDescriptor{entry.channelOrSubpartition, entry.oldSubtask};
  const Buffer event = Buffer::copyOf(EventSerializer::encodeForSend(descriptor), dataTypeOf(descriptor, false));
  for (int64_t left = entry.length; left > 0;) {
    BufferBuilder builder = builderFor(partition, targets.front());
    Result<size_t> read = size_t{0};
    context_.blocking([&] { read = reader.read(std::as_writable_bytes(std::span(builder.at(), builder.writable()))); });
    if (read.has_error()) throwRestoreFailure(kWhat, read.error());
    builder.commitTo(builder.at() + *read);
    const Buffer buffer = Buffer::adopt(builder.retain(1), 0, static_cast<uint32_t>(*read), DataType::DATA_BUFFER);
    builder.finish();
    for (const int32_t target : targets) {
      partition.emitEvent(event, static_cast<uint32_t>(target));
      partition.emitRecoveredBuffer(buffer, static_cast<uint32_t>(target));
    }
    left -= static_cast<int64_t>(*read);
  }
}

std::optional<RecoveredInput> ChannelStateRecovery::nextInput() {
  if (!std::exchange(inputsOpened_, true)) inputs_ = open(ChannelStateKind::kInput);
  if (ahead_.empty() && inputs_) readAhead();
  if (ahead_.empty()) return std::nullopt;
  RecoveredInput next = std::move(ahead_.front());
  ahead_.pop_front();
  return next;
}

void ChannelStateRecovery::readAhead() {
  Result<void> outcome;
  std::deque<std::pair<ChannelStateEntry, Buffer>> read;
  context_.blocking([&] {
    for (size_t bytes = 0; bytes < kReadAheadBytes && outcome.has_value();) {
      const ChannelStateEntry* entry = inputs_->next();
      if (!entry) return inputs_.reset();
      MemorySegment* segment = MemorySegment::allocate(static_cast<uint32_t>(entry->length));
      Buffer buffer = Buffer::adopt(segment, 0, static_cast<uint32_t>(entry->length), DataType::DATA_BUFFER);
      if (auto n = inputs_->read(std::as_writable_bytes(std::span(segment->data(), buffer.size()))); n.has_error()) outcome = n.error();
      bytes += buffer.size();
      read.emplace_back(*entry, std::move(buffer));
    }
  });
  if (outcome.has_error()) throwRestoreFailure(kWhat, outcome.error());
  for (auto& [entry, buffer] : read) ahead_.push_back(placeInput(entry, std::move(buffer)));
}

RecoveredInput ChannelStateRecovery::placeInput(const ChannelStateEntry& entry, Buffer buffer) const {
  if (static_cast<size_t>(entry.gateOrPartition) >= environment_.gates.size()) throwMisfit("gate", entry);
  const auto* rescaling = rescalingOf(environment_.restore->inputRescaling, entry.gateOrPartition);
  const int32_t channels = environment_.gates[static_cast<size_t>(entry.gateOrPartition)]->numberOfChannels();
  const auto to = channelsOf(rescaling, entry.channelOrSubpartition, channels);
  if (to.size() != 1) throwMisfit("channel", entry);
  return {entry.gateOrPartition, to.front(), entry.oldSubtask, entry.channelOrSubpartition, std::move(buffer)};
}

}  // namespace weir
