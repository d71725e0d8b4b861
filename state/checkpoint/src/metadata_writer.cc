#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "metadata_format.h"
#include "weir/checkpoint/checkpoint_metadata.h"
#include "weir/record/data_output.h"

namespace weir {

namespace {

using namespace metadata_format;

class MetadataWriter {
 public:
  Result<std::vector<std::byte>> write(const CheckpointMetadata& m) {
    out_.writeInt(CheckpointMetadata::kMagic);
    out_.writeInt(CheckpointMetadata::kVersion);
    out_.writeLong(m.checkpointId);
    writeCount(m.masterStates.size());
    for (const auto& state : m.masterStates) writeMasterState(state);
    writeCount(m.operators.size());
    for (const auto& op : m.operators) WEIR_TRY(writeOperator(op));
    writeRaw(m.properties);
    const auto bytes = std::as_bytes(out_.bytes());
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }

 private:
  void writeCount(size_t n) { out_.writeInt(static_cast<int32_t>(n)); }
  void writeKind(uint8_t kind) { out_.writeByte(static_cast<int8_t>(kind)); }
  void writeRaw(std::span<const std::byte> bytes) {
    out_.writeBytes(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  }

  void writeMasterState(const MasterState& state) {
    out_.writeInt(kMasterStateMagic);
    const size_t at = out_.size();
    out_.writeInt(0);
    out_.writeInt(state.version);
    out_.writeUtf(state.name);
    writeCount(state.bytes.size());
    writeRaw(state.bytes);
    out_.patchInt(at, static_cast<int32_t>(out_.size() - at - 4));
  }

  Result<void> writeOperator(const OperatorState& op) {
    out_.writeUtf(op.name);
    out_.writeUtf(op.uid);
    out_.writeBytes(std::span<const uint8_t>(op.id.bytes));
    out_.writeInt(op.parallelism);
    out_.writeInt(op.maxParallelism);
    writeStream(op.coordinatorState);
    if (op.fullyFinished) {
      out_.writeInt(-1);
      return {};
    }
    writeCount(op.subtasks.size() + op.finishedSubtasks.size());
    auto finished = op.finishedSubtasks;
    std::sort(finished.begin(), finished.end());
    auto nextFinished = finished.begin();
    auto writeFinishedBelow = [&](int32_t index) {
      for (; nextFinished != finished.end() && *nextFinished < index; ++nextFinished) out_.writeInt(-(*nextFinished + 1));
    };
    for (const auto& [index, state] : op.subtasks) {
      writeFinishedBelow(index);
      out_.writeInt(index);
      if (auto written = writeSubtask(state); written.has_error()) {
        return written.error().in(fmt::format("operator {} ({}), subtask {}", op.id.toString(), op.name, index));
      }
    }
    writeFinishedBelow(std::numeric_limits<int32_t>::max());
    return {};
  }

  Result<void> writeSubtask(const OperatorSubtaskState& state) {
    WEIR_TRY(writeOperatorHandle(state.managedOperator));
    WEIR_TRY(writeOperatorHandle(state.rawOperator));
    WEIR_TRY(writeKeyedHandle(state.managedKeyed));
    WEIR_TRY(writeKeyedHandle(state.rawKeyed));
    WEIR_TRY(writeChannels(kMergedInputHandle, state.inputChannels));
    return writeChannels(kMergedResultHandle, state.outputChannels);
  }

  static Error tooMany(std::string_view what, size_t n) {
    return {ErrorCode::kInvalidArgument, fmt::format("a checkpoint holds at most one {} per subtask, there are {}", what, n)};
  }

  Result<void> writeOperatorHandle(const std::vector<OperatorStateHandle>& handles) {
    if (handles.size() > 1) return tooMany("operator state handle", handles.size());
    writeCount(handles.size());
    if (handles.empty()) return {};
    const OperatorStateHandle& handle = handles.front();
    writeKind(kOperatorHandle);
    writeCount(handle.states.size());
    for (const auto& state : handle.states) {
      out_.writeUtf(state.name);
      out_.writeByte(static_cast<int8_t>(state.mode));
      writeOffsets(state.offsets);
    }
    writeStream(handle.stream);
    return {};
  }

  void writeOffsets(const std::vector<int64_t>& offsets) {
    writeCount(offsets.size());
    for (int64_t offset : offsets) out_.writeLong(offset);
  }

  Result<void> writeKeyedHandle(const std::vector<KeyedHandle>& handles) {
    if (handles.size() > 1) return tooMany("keyed state handle", handles.size());
    if (handles.empty()) {
      writeKind(kNoHandle);
      return {};
    }
    if (const auto* groups = std::get_if<KeyGroupsHandle>(&handles.front())) return writeKeyGroups(*groups);
    return writeRocksDb(std::get<RocksDbHandle>(handles.front()));
  }

  Result<void> writeKeyGroups(const KeyGroupsHandle& handle) {
    const bool savepoint = handle.format == KeyGroupsHandle::Format::kCanonicalSavepoint;
    writeKind(savepoint ? kSavepointKeyGroupsHandle : kKeyGroupsHandle);
    out_.writeInt(handle.range.first);
    writeOffsets(handle.offsets);
    writeStream(handle.stream);
    if (!savepoint) out_.writeUtf(handle.handleId);
    return {};
  }

  Result<void> writeRocksDb(const RocksDbHandle& handle) {
    writeKind(kRocksDbHandle);
    out_.writeLong(handle.checkpointId);
    out_.writeUtf(handle.backendId);
    out_.writeInt(handle.range.first);
    out_.writeInt(handle.range.size());
    out_.writeLong(handle.checkpointedSize);
    writeStream(handle.meta);
    for (const auto* files : {&handle.sharedFiles, &handle.privateFiles}) {
      writeCount(files->size());
      for (const auto& [name, stream] : *files) {
        out_.writeUtf(name);
        writeStream(stream);
      }
    }
    out_.writeUtf(handle.handleId);
    return {};
  }

  Result<void> writeChannels(uint8_t kind, const std::vector<ChannelStateHandle>& handles) {
    writeCount(handles.size());
    for (const auto& handle : handles) {
      writeKind(kind);
      out_.writeInt(handle.subtask);
      out_.writeLong(handle.size);
      writeStream(handle.stream);
      const size_t at = out_.size();
      out_.writeInt(0);
      writeCount(handle.channels.size());
      for (const auto& channel : handle.channels) {
        out_.writeInt(channel.gateOrPartition);
        out_.writeInt(channel.channelOrSubpartition);
        out_.writeLong(channel.size);
        writeOffsets(channel.offsets);
      }
      out_.patchInt(at, static_cast<int32_t>(out_.size() - at - 4));
    }
    return {};
  }

  void writeStream(const StreamHandle& handle) {
    if (const auto* bytes = std::get_if<InlineHandle>(&handle)) {
      writeKind(kInlineHandle);
      out_.writeUtf(bytes->name);
      writeCount(bytes->bytes->size());
      writeRaw(*bytes->bytes);
    } else if (const auto* file = std::get_if<FileHandle>(&handle)) {
      writeKind(kFileHandle);
      out_.writeLong(file->size);
      out_.writeUtf(file->path);
    } else if (const auto* relative = std::get_if<RelativeFileHandle>(&handle)) {
      writeKind(kRelativeHandle);
      out_.writeUtf(relative->name);
      out_.writeLong(relative->size);
    } else {
      writeKind(kNoHandle);
    }
  }

  DataOutput out_;
};

}  // namespace

Result<std::vector<std::byte>> writeMetadata(const CheckpointMetadata& metadata) { return MetadataWriter().write(metadata); }

}  // namespace weir
