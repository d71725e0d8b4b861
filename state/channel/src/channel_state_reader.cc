#include "weir/channel/channel_state_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "weir/channel/channel_state_checkpoint_writer.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/record/big_endian.h"

namespace weir {
namespace {

std::string nameOf(ChannelStateKind kind, int32_t first, int32_t second, int32_t subtask) {
  if (kind == ChannelStateKind::kInput) return fmt::format("input channel {} of gate {} of subtask {}", second, first, subtask);
  return fmt::format("subpartition {} of partition {} of subtask {}", second, first, subtask);
}

/// What is the same for all handles of one file.
std::string identityOf(const StreamHandle& stream) {
  if (const auto* bytes = std::get_if<InlineHandle>(&stream)) return fmt::format("{} {}", bytes->name, fmt::ptr(bytes->bytes.get()));
  if (const auto* file = std::get_if<FileHandle>(&stream)) return file->path;
  if (const auto* file = std::get_if<RelativeFileHandle>(&stream)) return file->path;
  return {};
}

Result<int32_t> readInt(CheckpointStateInput& input, int64_t offset) {
  std::array<std::byte, 4> bytes;
  WEIR_TRY(input.readAt(offset, bytes));
  return loadBigEndian<int32_t>(reinterpret_cast<const uint8_t*>(bytes.data()));
}

/// One file: the buffers that the handles name in it, by offset.
struct File {
  /// A channel of a handle: what its buffers must add up to.
  struct Channel {
    std::string name;
    int64_t size = 0, seen = 0;
  };
  StreamHandle stream;
  std::unique_ptr<CheckpointStateInput> input;
  std::vector<Channel> channels;
  std::vector<std::pair<ChannelStateEntry, size_t>> entries;  ///< by offset; with the position of its channel

  Error corrupt(const Channel& channel, int64_t offset, const std::string& why) const {
    return {ErrorCode::kCorrupt, fmt::format("the in-flight data of {} at byte {} of {} {}; restore from another checkpoint, or give this "
                                             "one's in-flight data up (execution.state-recovery.without-channel-state.checkpoint-id)",
                                             channel.name, offset, describe(stream), why)};
  }
  void add(ChannelStateKind kind, const ChannelStateHandle& handle);
  Result<void> open(CheckpointWorkerStorage& storage);
  Result<void> checkEntry(ChannelStateEntry& entry, Channel& channel, int64_t end);
};

void File::add(ChannelStateKind kind, const ChannelStateHandle& handle) {
  for (const auto& c : handle.channels) {
    for (const int64_t offset : c.offsets)
      entries.push_back({{handle.subtask, c.gateOrPartition, c.channelOrSubpartition, offset, 0}, channels.size()});
    channels.push_back({nameOf(kind, c.gateOrPartition, c.channelOrSubpartition, handle.subtask), c.size, 0});
  }
}

Result<void> File::open(CheckpointWorkerStorage& storage) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first.offset < b.first.offset; });
  auto opened = storage.open(stream);
  if (opened.has_error()) {
    if (entries.empty()) return opened.error();
    const auto& [first, channel] = entries.front();
    return opened.error().in(fmt::format("the in-flight data of {} at byte {}", channels[channel].name, first.offset));
  }
  input = std::move(*opened);
  WEIR_ASSIGN(const int32_t version, readInt(*input, 0));
  if (version != kChannelStateVersion)
    return Error{ErrorCode::kCorrupt, fmt::format("{} is no file of in-flight data of version {}: it begins with {}", describe(stream),
                                                  kChannelStateVersion, version)};
  for (size_t i = 0; i < entries.size(); ++i) {
    auto& [entry, channel] = entries[i];
    const int64_t end = i + 1 < entries.size() ? entries[i + 1].first.offset : input->size();
    WEIR_TRY(checkEntry(entry, channels[channel], end));
  }
  const bool isInline = std::holds_alternative<InlineHandle>(stream);  // Flink merges such buffers, and keeps the size of before
  for (size_t i = 0; i < channels.size(); ++i) {
    const Channel& channel = channels[i];
    if (channel.seen == channel.size || (isInline && channel.seen < channel.size)) continue;
    const auto last = std::find_if(entries.rbegin(), entries.rend(), [&](const auto& e) { return e.second == i; });
    return corrupt(channel, last == entries.rend() ? 0 : last->first.offset,
                   fmt::format("ends with {} bytes instead of {}: a length is wrong", channel.seen, channel.size));
  }
  return {};
}

Result<void> File::checkEntry(ChannelStateEntry& entry, Channel& channel, int64_t end) {
  const int64_t size = input->size();
  if (entry.offset < kChannelStateHeaderBytes || entry.offset > size - kChannelStateLengthBytes)
    return corrupt(channel, entry.offset, fmt::format("is missing: the file has {} bytes", size));
  auto length = readInt(*input, entry.offset);
  if (length.has_error()) return length.error().in(fmt::format("the in-flight data of {} at byte {}", channel.name, entry.offset));
  entry.length = *length;
  const int64_t room = end - kChannelStateLengthBytes - entry.offset;
  if (entry.length < 0 || entry.length > room)
    return corrupt(channel, entry.offset,
                   fmt::format("claims {} bytes, and there are {} up to the next one or the end of the file", entry.length, room));
  channel.seen += kChannelStateLengthBytes + entry.length;
  return {};
}

class FileReader final : public ChannelStateReader {
 public:
  Result<void> open(CheckpointWorkerStorage& storage, ChannelStateKind kind, const std::vector<ChannelStateHandle>& handles);

  const ChannelStateEntry* next() override {
    while (file_ < files_.size() && entry_ == files_[file_]->entries.size()) {
      ++file_;
      entry_ = 0;
    }
    if (file_ == files_.size()) return nullptr;
    current_ = files_[file_].get();
    const ChannelStateEntry& entry = current_->entries[entry_++].first;
    at_ = entry.offset + kChannelStateLengthBytes;
    left_ = entry.length;
    return &entry;
  }

  Result<size_t> read(std::span<std::byte> into) override {
    const auto n = static_cast<size_t>(std::min<int64_t>(left_, static_cast<int64_t>(into.size())));
    if (n == 0) return n;
    WEIR_TRY(current_->input->readAt(at_, into.first(n)));
    at_ += static_cast<int64_t>(n);
    left_ -= static_cast<int64_t>(n);
    return n;
  }

  int64_t totalBytes() const override { return totalBytes_; }

 private:
  std::vector<std::unique_ptr<File>> files_;
  size_t file_ = 0, entry_ = 0;  ///< of the next entry
  const File* current_ = nullptr;
  int64_t at_ = 0, left_ = 0;  ///< of the current entry
  int64_t totalBytes_ = 0;
};

Result<void> FileReader::open(CheckpointWorkerStorage& storage, ChannelStateKind kind, const std::vector<ChannelStateHandle>& handles) {
  std::map<std::string, File*> byIdentity;
  std::set<std::tuple<int32_t, int32_t, int32_t>> claimed;
  for (const ChannelStateHandle& handle : handles) {
    for (const auto& channel : handle.channels) {
      if (!claimed.emplace(handle.subtask, channel.gateOrPartition, channel.channelOrSubpartition).second)
        return Error{ErrorCode::kCorrupt, fmt::format("the in-flight data of {} is in the checkpoint twice: in {} and elsewhere",
                                                      nameOf(kind, channel.gateOrPartition, channel.channelOrSubpartition, handle.subtask),
                                                      describe(handle.stream))};
    }
    File*& file = byIdentity[identityOf(handle.stream)];
    if (!file) {
      file = files_.emplace_back(std::make_unique<File>()).get();
      file->stream = handle.stream;
    }
    file->add(kind, handle);
  }
  for (const auto& file : files_) {
    WEIR_TRY(file->open(storage));
    for (const auto& [entry, channel] : file->entries) totalBytes_ += entry.length;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ChannelStateReader>> openChannelState(CheckpointWorkerStorage& storage, ChannelStateKind kind,
                                                             const std::vector<ChannelStateHandle>& handles) {
  auto reader = std::make_unique<FileReader>();
  WEIR_TRY(reader->open(storage, kind, handles));
  return Result<std::unique_ptr<ChannelStateReader>>(std::move(reader));
}

Result<void> checkChannelState(CheckpointWorkerStorage& storage, const std::vector<OperatorState>& operators) {
  for (const auto& op : operators) {
    std::vector<ChannelStateHandle> inputs, outputs;
    for (const auto& [index, subtask] : op.subtasks) {
      inputs.insert(inputs.end(), subtask.inputChannels.begin(), subtask.inputChannels.end());
      outputs.insert(outputs.end(), subtask.outputChannels.begin(), subtask.outputChannels.end());
    }
    if (!inputs.empty()) WEIR_TRY(openChannelState(storage, ChannelStateKind::kInput, inputs));
    if (!outputs.empty()) WEIR_TRY(openChannelState(storage, ChannelStateKind::kOutput, outputs));
  }
  return {};
}

namespace {

template <class F>
void forEachChannelHandle(std::vector<OperatorState>& operators, F&& visit) {
  for (auto& op : operators)
    for (auto& [index, subtask] : op.subtasks)
      for (auto* handles : {&subtask.inputChannels, &subtask.outputChannels})
        for (auto& handle : *handles) visit(handle);
}

}  // namespace

ForgottenChannelState forgetChannelState(std::vector<OperatorState>& operators) {
  ForgottenChannelState forgotten;
  forEachChannelHandle(operators, [&](const ChannelStateHandle& handle) {
    for (const auto& channel : handle.channels) {
      const auto buffers = static_cast<int64_t>(channel.offsets.size());
      forgotten.buffers += buffers;
      forgotten.bytes += channel.size - kChannelStateLengthBytes * buffers;
    }
  });
  for (auto& op : operators) {
    for (auto& [index, subtask] : op.subtasks) {
      subtask.inputChannels.clear();
      subtask.outputChannels.clear();
    }
  }
  return forgotten;
}

void settleFileSizes(const std::vector<std::shared_ptr<const TaskStateSnapshot>>& acknowledged, std::vector<OperatorState>& operators) {
  std::map<std::string, int64_t> sizes;
  const auto learn = [&](const std::vector<ChannelStateHandle>& handles) {
    for (const ChannelStateHandle& handle : handles) {
      const auto* file = std::get_if<RelativeFileHandle>(&handle.stream);
      if (!file) continue;
      int64_t& size = sizes[file->path];
      size = std::max(size, file->size);
    }
  };
  for (const auto& snapshot : acknowledged) {
    if (!snapshot) continue;
    for (const auto& [id, state] : snapshot->operators) {
      learn(state.inputChannels);
      learn(state.outputChannels);
    }
  }
  forEachChannelHandle(operators, [&](ChannelStateHandle& handle) {
    if (auto* file = std::get_if<RelativeFileHandle>(&handle.stream)) file->size = sizes[file->path];
  });
}

}  // namespace weir
