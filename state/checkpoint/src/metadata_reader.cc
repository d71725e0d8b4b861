#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "metadata_format.h"
#include "weir/checkpoint/checkpoint_metadata.h"
#include "weir/record/data_input.h"

namespace weir {

namespace {

using namespace metadata_format;

class MetadataReader {
 public:
  MetadataReader(std::span<const std::byte> bytes, const std::string& folder, std::string_view path)
      : in_({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}), folder_(folder), path_(path) {}

  Result<CheckpointMetadata> read() {
    CheckpointMetadata m;
    if (in_.readInt() != CheckpointMetadata::kMagic) {
      return Error{ErrorCode::kCorrupt, fmt::format("{} is no checkpoint metadata: it does not start with 4960672d", path_)};
    }
    const int32_t version = in_.readInt();
    if (in_.ok() && version != CheckpointMetadata::kVersion) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{} has metadata version {}; Weir reads version 6, that of Flink 2.1 to 2.3", path_, version)};
    }
    m.checkpointId = in_.readLong();
    const size_t masters = count(8);
    for (size_t i = 0; i < masters && in_.ok(); ++i) m.masterStates.push_back(masterState());
    const size_t operators = count(32);
    std::set<OperatorID> seen;
    for (size_t i = 0; i < operators && in_.ok(); ++i) {
      m.operators.push_back(operatorState());
      if (in_.ok() && !seen.insert(m.operators.back().id).second) in_.fail("names an operator twice");
    }
    if (in_.ok() && !startsWithJavaStream()) in_.fail("has no checkpoint properties behind its operators");
    const auto rest = std::as_bytes(in_.rest());
    m.properties.assign(rest.begin(), rest.end());
    if (in_.failed()) return in_.error(path_);
    return m;
  }

 private:
  bool startsWithJavaStream() {
    const auto rest = in_.rest();
    return rest.size() >= 4 && loadBigEndian<uint32_t>(rest.data()) == 0xaced0005;
  }

  /// A number of things of at least `minimum` bytes each.
  size_t count(size_t minimum) {
    const int32_t n = in_.readInt();
    if (n >= 0 && static_cast<size_t>(n) <= in_.remaining() / minimum) return static_cast<size_t>(n);
    in_.fail("announces more entries than there are bytes");
    return 0;
  }

  MasterState masterState() {
    MasterState state;
    if (in_.readInt() != kMasterStateMagic) in_.fail("has a master state without its mark");
    const size_t size = count(1);
    const size_t end = in_.position() + size;
    state.version = in_.readInt();
    state.name = in_.readUtf();
    const auto bytes = std::as_bytes(in_.take(count(1)));
    state.bytes.assign(bytes.begin(), bytes.end());
    if (in_.ok() && in_.position() != end) in_.fail("has a master state of another size than announced");
    return state;
  }

  OperatorState operatorState() {
    OperatorState op;
    op.name = in_.readUtf();
    op.uid = in_.readUtf();
    const auto id = in_.take(op.id.bytes.size());
    std::copy(id.begin(), id.end(), op.id.bytes.begin());
    op.parallelism = in_.readInt();
    op.maxParallelism = in_.readInt();
    if (in_.ok() && (op.parallelism < 1 || op.maxParallelism < op.parallelism || op.maxParallelism > kMaxMaxParallelism)) {
      in_.fail("has an operator with an impossible parallelism");
    }
    op.coordinatorState = stream();
    if (in_.remaining() >= 4 && loadBigEndian<int32_t>(in_.at()) == -1) {
      in_.readInt();
      op.fullyFinished = true;
      return op;
    }
    const size_t entries = count(4);
    if (entries > static_cast<size_t>(op.parallelism)) in_.fail("has an operator with more subtasks than its parallelism");
    for (size_t i = 0; i < entries && in_.ok(); ++i) subtask(op);
    return op;
  }

  void subtask(OperatorState& op) {
    const int32_t number = in_.readInt();
    const int32_t index = number < 0 ? -(number + 1) : number;
    if (index >= op.parallelism || op.subtasks.contains(index)) {
      in_.fail("has a subtask index twice or above the parallelism");
      return;
    }
    if (number < 0) {
      op.finishedSubtasks.push_back(index);
      return;
    }
    OperatorSubtaskState& state = op.subtasks[index];
    operatorHandle(state.managedOperator);
    operatorHandle(state.rawOperator);
    keyedHandle(state.managedKeyed);
    keyedHandle(state.rawKeyed);
    channelHandles(kMergedInputHandle, state.inputChannels);
    channelHandles(kMergedResultHandle, state.outputChannels);
  }

  void operatorHandle(std::vector<OperatorStateHandle>& into) {
    const int32_t there = in_.readInt();
    if (there == 0) return;
    if (there != 1) {
      in_.fail("has neither 0 nor 1 operator state handles");
      return;
    }
    if (kindOf({kOperatorHandle}) != kOperatorHandle) return;
    OperatorStateHandle handle;
    const size_t states = count(7);
    std::set<std::string> seen;
    for (size_t i = 0; i < states && in_.ok(); ++i) {
      OperatorStateHandle::State state;
      state.name = in_.readUtf();
      const uint8_t mode = in_.readUnsignedByte();
      if (mode > static_cast<uint8_t>(OperatorStateMode::kBroadcast)) in_.fail("has an unknown distribution mode of an operator state");
      state.mode = static_cast<OperatorStateMode>(mode);
      state.offsets = offsets();
      if (!seen.insert(state.name).second) in_.fail("names an operator state twice");
      handle.states.push_back(std::move(state));
    }
    handle.stream = stream();
    into.push_back(std::move(handle));
  }

  std::vector<int64_t> offsets() {
    std::vector<int64_t> all(count(8));
    for (int64_t& offset : all) {
      offset = in_.readLong();
      if (offset < 0) in_.fail("has a negative offset");
    }
    return all;
  }

  KeyGroupRange range(int32_t first, size_t size) {
    if (first < 0 || size > kMaxMaxParallelism || first + static_cast<int64_t>(size) > kMaxMaxParallelism) {
      in_.fail("has a key-group range outside 0 to 32767");
      return {};
    }
    return {first, first + static_cast<int32_t>(size) - 1};
  }

  void keyedHandle(std::vector<KeyedHandle>& into) {
    const uint8_t kind = kindOf({kNoHandle, kKeyGroupsHandle, kSavepointKeyGroupsHandle, kRocksDbHandle});
    if (kind == kNoHandle || in_.failed()) return;
    if (kind == kRocksDbHandle) {
      into.push_back(rocksDbHandle());
      return;
    }
    KeyGroupsHandle handle;
    handle.format = kind == kKeyGroupsHandle ? KeyGroupsHandle::Format::kHeapCheckpoint : KeyGroupsHandle::Format::kCanonicalSavepoint;
    const int32_t first = in_.readInt();
    handle.offsets = offsets();
    handle.range = range(first, handle.offsets.size());
    handle.stream = stream();
    if (kind == kKeyGroupsHandle) handle.handleId = in_.readUtf();
    into.push_back(std::move(handle));
  }

  RocksDbHandle rocksDbHandle() {
    RocksDbHandle handle;
    handle.checkpointId = in_.readLong();
    handle.backendId = in_.readUtf();
    const int32_t first = in_.readInt();
    const int32_t groups = in_.readInt();
    if (groups < 0) in_.fail("has a negative number of key groups");
    handle.range = range(first, groups < 0 ? 0 : static_cast<size_t>(groups));
    handle.checkpointedSize = in_.readLong();
    handle.meta = stream();
    files(handle.sharedFiles);
    files(handle.privateFiles);
    handle.handleId = in_.readUtf();
    return handle;
  }

  void files(std::vector<std::pair<std::string, StreamHandle>>& into) {
    const size_t n = count(3);
    for (size_t i = 0; i < n && in_.ok(); ++i) {
      std::string name = in_.readUtf();
      into.emplace_back(std::move(name), stream());
    }
  }

  void channelHandles(uint8_t expected, std::vector<ChannelStateHandle>& into) {
    const size_t n = count(18);
    for (size_t i = 0; i < n && in_.ok(); ++i) {
      if (kindOf({expected}) != expected) return;
      ChannelStateHandle handle;
      handle.subtask = in_.readInt();
      handle.size = in_.readLong();
      if (handle.subtask < 0 || handle.size < 0) in_.fail("has a negative size or subtask of channel state");
      handle.stream = stream();
      const size_t size = count(1);
      const size_t end = in_.position() + size;
      const size_t channels = count(20);
      for (size_t c = 0; c < channels && in_.ok(); ++c) handle.channels.push_back(channel());
      if (in_.ok() && in_.position() != end) in_.fail("has channel offsets of another size than announced");
      into.push_back(std::move(handle));
    }
  }

  ChannelStateHandle::Channel channel() {
    ChannelStateHandle::Channel c;
    c.gateOrPartition = in_.readInt();
    c.channelOrSubpartition = in_.readInt();
    c.size = in_.readLong();
    if (c.gateOrPartition < 0 || c.channelOrSubpartition < 0 || c.size < 0) in_.fail("has a negative index or size of a channel");
    c.offsets = offsets();
    return c;
  }

  StreamHandle stream() {
    switch (kindOf({kNoHandle, kInlineHandle, kFileHandle, kRelativeHandle})) {
      case kInlineHandle: {
        InlineHandle handle;
        handle.name = in_.readUtf();
        const auto bytes = std::as_bytes(in_.take(count(1)));
        handle.bytes = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
        return handle;
      }
      case kFileHandle: {
        FileHandle handle;
        handle.size = size();
        handle.path = in_.readUtf();
        return handle;
      }
      case kRelativeHandle: {
        RelativeFileHandle handle;
        handle.name = in_.readUtf();
        handle.size = size();
        if (handle.name.empty() || handle.name == ".." || handle.name.find('/') != std::string::npos) {
          in_.fail("has a relative file name that is none");
        }
        handle.path = folder_ + "/" + handle.name;
        return handle;
      }
      default:
        return {};
    }
  }

  int64_t size() {
    const int64_t size = in_.readLong();
    if (size < 0) in_.fail("has a file of negative size");
    return size;
  }

  /// The kind byte of a handle; the input fails if it is not one of `known`.
  uint8_t kindOf(std::initializer_list<uint8_t> known) {
    const uint8_t kind = in_.readUnsignedByte();
    if (in_.ok() && std::find(known.begin(), known.end(), kind) == known.end()) {
      in_.fail("has a handle of a kind that Weir does not read (file merging, the changelog backend, or a damaged byte)");
    }
    return in_.failed() ? kNoHandle : kind;
  }

  DataInput in_;
  const std::string& folder_;
  std::string_view path_;
};

}  // namespace

Result<CheckpointMetadata> readMetadata(std::span<const std::byte> bytes, const std::string& folder, std::string_view path) {
  return MetadataReader(bytes, folder, path).read();
}

}  // namespace weir
