#include "weir/channel/channel_state_checkpoint_writer.h"

#include <algorithm>
#include <array>
#include <bit>

#include "weir/base/check.h"
#include "weir/record/big_endian.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {
namespace {

std::array<std::byte, 4> asBytes(int32_t value) {
  std::array<uint8_t, 4> bytes;
  storeBigEndian(bytes.data(), value);
  return std::bit_cast<std::array<std::byte, 4>>(bytes);
}

/// The entries of one handle out of a small file that is kept inside `_metadata`: each subtask gets a blob of its own, a channel-state file
/// in small.
ChannelStateHandle extract(ChannelStateHandle handle, const InlineHandle& file, int part) {
  auto blob = std::make_shared<std::vector<std::byte>>(file.bytes->begin(), file.bytes->begin() + kChannelStateHeaderBytes);
  for (auto& channel : handle.channels) {
    for (int64_t& offset : channel.offsets) {
      const auto from = file.bytes->begin() + offset;
      const int64_t length = loadBigEndian<int32_t>(reinterpret_cast<const uint8_t*>(&*from));
      offset = static_cast<int64_t>(blob->size());
      blob->insert(blob->end(), from, from + kChannelStateLengthBytes + length);
    }
  }
  handle.stream = InlineHandle{fmt::format("{}-{}", file.name, part), std::move(blob)};
  return handle;
}

}  // namespace

ChannelStateCheckpointWriter::ChannelStateCheckpointWriter(int64_t checkpointId, std::set<int32_t> waitsFor, std::vector<uint8_t> location,
                                                           CheckpointWorkerStorage& storage, ChannelStateAcks acks)
    : checkpointId_(checkpointId), waitsFor_(std::move(waitsFor)), location_(std::move(location)), storage_(storage), acks_(acks) {}

ChannelStateCheckpointWriter::~ChannelStateCheckpointWriter() = default;

void ChannelStateCheckpointWriter::Pending::fail(const std::shared_ptr<const Throwable>& cause) {
  if (ended) return;
  ended = failed = true;
  result->fail(cause);
}

void ChannelStateCheckpointWriter::start(int32_t writer, int32_t subtask, std::shared_ptr<ChannelStateWriteResult> result) {
  Pending& pending = pending_[writer];
  WEIR_CHECK(!pending.result, "subtask {} starts its channel state of checkpoint {} twice", subtask, checkpointId_);
  pending.subtask = subtask;
  pending.result = std::move(result);
  if (failure_) pending.fail(failure_);
  else WEIR_CHECK(!done_, "subtask {} starts its channel state of checkpoint {}, which is written", subtask, checkpointId_);
}

Result<void> ChannelStateCheckpointWriter::append(Place& place, const Buffer& buffer) {
  if (!output_) {
    WEIR_ASSIGN(output_, storage_.resolveCheckpointLocation(checkpointId_, location_)->createOutput(CheckpointedStateScope::kExclusive));
    WEIR_TRY(output_->write(asBytes(kChannelStateVersion)));
  }
  place.offsets.push_back(output_->position());
  place.size += kChannelStateLengthBytes + buffer.size();
  WEIR_TRY(output_->write(asBytes(static_cast<int32_t>(buffer.size()))));
  return output_->write(std::as_bytes(buffer.bytes()));
}

bool ChannelStateCheckpointWriter::write(int32_t writer, Side side, Channel channel, const std::vector<Buffer>& data) {
  const auto found = pending_.find(writer);
  if (found == pending_.end()) return false;
  Pending& pending = found->second;
  if (pending.failed) return true;
  if (side == Side::kInput ? pending.inputFinished : pending.outputFinished && pending.expected.empty()) return false;
  Place& place = (side == Side::kInput ? pending.inputs : pending.outputs)[channel];
  for (const Buffer& buffer : data) {
    WEIR_CHECK(buffer.isBuffer(), "an event is to be stored as in-flight data of checkpoint {}", checkpointId_);
    if (auto written = append(place, buffer); written.has_error()) {
      failIo(written.error());
      return true;
    }
  }
  return true;
}

bool ChannelStateCheckpointWriter::finish(int32_t writer, Side side) {
  const auto found = pending_.find(writer);
  if (found == pending_.end()) return false;
  bool& finished = side == Side::kInput ? found->second.inputFinished : found->second.outputFinished;
  if (found->second.failed) return true;
  if (finished) return false;
  finished = true;
  checkComplete();
  return true;
}

bool ChannelStateCheckpointWriter::expectOutput(int32_t writer, Channel channel) {
  const auto found = pending_.find(writer);
  if (found == pending_.end()) return false;
  found->second.expected.insert(channel);
  return true;
}

bool ChannelStateCheckpointWriter::outputArrived(int32_t writer, Channel channel, const std::vector<Buffer>& data) {
  const auto found = pending_.find(writer);
  if (found == pending_.end()) return false;
  if (found->second.failed) return true;
  const auto expected = found->second.expected.find(channel);
  if (expected == found->second.expected.end()) return false;
  if (!data.empty()) write(writer, Side::kOutput, channel, data);
  if (done_) return true;
  found->second.expected.erase(expected);
  checkComplete();
  return true;
}

void ChannelStateCheckpointWriter::release(int32_t writer) {
  waitsFor_.erase(writer);
  if (const auto found = pending_.find(writer); found != pending_.end() && !found->second.ended) {
    if (!found->second.isComplete()) {
      found->second.fail(std::make_shared<Throwable>("java.util.concurrent.CancellationException",
                                                     "The subtask has ended before its in-flight data was written."));
      pending_.erase(found);
    }
  }
  checkComplete();
}

bool ChannelStateCheckpointWriter::allHaveReported() const {
  return std::all_of(waitsFor_.begin(), waitsFor_.end(), [&](int32_t writer) {
    const auto found = pending_.find(writer);
    return found != pending_.end() && (found->second.ended || found->second.isComplete());
  });
}

void ChannelStateCheckpointWriter::checkComplete() {
  if (done_) return;
  if (allHaveReported()) return completeTogether();
  if (acks_ == ChannelStateAcks::kTogether) return;
  for (auto& [writer, pending] : pending_) {
    if (done_) return;
    if (!pending.ended && pending.isComplete()) completeOne(pending);
  }
}

void ChannelStateCheckpointWriter::completeTogether() {
  const bool needed = fileGivenOut_ || std::any_of(pending_.begin(), pending_.end(), [](const auto& entry) {
    return !entry.second.ended && !(entry.second.inputs.empty() && entry.second.outputs.empty());
  });
  if (!needed) {  // what is in it belongs to subtasks that failed, or was given out inline
    const bool abandoned = std::all_of(pending_.begin(), pending_.end(), [](const auto& entry) { return entry.second.failed; });
    if (abandoned) removeFile();
    else output_.reset();  // not the folder: the checkpoint may go on, and others are writing there
  }
  StreamHandle file;
  if (output_) {
    auto finished = output_->finish();
    if (finished.has_error()) return failIo(finished.error());
    file = std::move(*finished);
    output_.reset();
  }
  done_ = true;
  WrittenChannelState unasked;
  for (auto& [writer, pending] : pending_) {
    if (std::exchange(pending.ended, true)) continue;
    WrittenChannelState state = stateOf(pending, file);
    if (pending.result->complete(state)) fileGivenOut_ = true;
    else unasked = std::move(state);  // its subtask has ended meanwhile
  }
  if (needed && !fileGivenOut_) discardChannelState(storage_, checkpointId_, location_, unasked);
}

void ChannelStateCheckpointWriter::completeOne(Pending& pending) {
  StreamHandle file;
  if (!pending.inputs.empty() || !pending.outputs.empty()) {
    auto soFar = output_->finishPart();
    if (soFar.has_error()) return failIo(soFar.error());
    file = std::move(*soFar);
    fileGivenOut_ = fileGivenOut_ || !std::holds_alternative<InlineHandle>(file);
  }
  pending.ended = true;
  pending.result->complete(stateOf(pending, file));
}

WrittenChannelState ChannelStateCheckpointWriter::stateOf(const Pending& pending, const StreamHandle& file) const {
  WrittenChannelState state;
  const int part = 2 * pending.subtask;
  if (!pending.inputs.empty()) state.inputs.push_back(handleOf(pending.subtask, pending.inputs, file, part));
  if (!pending.outputs.empty()) state.outputs.push_back(handleOf(pending.subtask, pending.outputs, file, part + 1));
  return state;
}

ChannelStateHandle ChannelStateCheckpointWriter::handleOf(int32_t subtask, const std::map<Channel, Place>& places, const StreamHandle& file,
                                                          int part) const {
  ChannelStateHandle handle;
  handle.subtask = subtask;
  for (const auto& [channel, place] : places) {
    handle.size += place.size;
    handle.channels.push_back({channel.first, channel.second, place.size, place.offsets});
  }
  if (const auto* bytes = std::get_if<InlineHandle>(&file)) return extract(std::move(handle), *bytes, part);
  handle.stream = file;
  return handle;
}

void ChannelStateCheckpointWriter::fail(int32_t writer, const std::shared_ptr<const Throwable>& cause) {
  const auto found = pending_.find(writer);
  if (acks_ == ChannelStateAcks::kTogether && !done_) removeFile();  // before anybody hears of it
  if (found != pending_.end()) found->second.fail(cause);
  if (acks_ == ChannelStateAcks::kIndependent) {
    waitsFor_.erase(writer);
    checkComplete();
    return;
  }
  failAll(std::make_shared<CheckpointException>(CheckpointFailureReason::kChannelStateSharedStreamException, cause));
}

void ChannelStateCheckpointWriter::failAll(const std::shared_ptr<const Throwable>& cause) {
  if (done_) return;
  done_ = true;
  failure_ = cause;
  removeFile();
  for (auto& [writer, pending] : pending_) pending.fail(cause);
}

void ChannelStateCheckpointWriter::failIo(const Error& error) {
  failAll(std::make_shared<Throwable>("java.io.IOException", error.message));
}

void ChannelStateCheckpointWriter::removeFile() {
  if (!output_) return;
  output_.reset();
  storage_.discardAborted(checkpointId_, location_, {});  // its folder may have gone before, and have been made anew
}

void discardChannelState(CheckpointWorkerStorage& storage, int64_t checkpointId, const std::vector<uint8_t>& location,
                         const WrittenChannelState& written) {
  TaskStateSnapshot state;
  state.operators[OperatorID{}].inputChannels = written.inputs;
  state.operators[OperatorID{}].outputChannels = written.outputs;
  storage.discardAborted(checkpointId, location, state);
}

}  // namespace weir
