#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weir/base/ids.h"
#include "weir/snapshot/key_group_range.h"

namespace weir {

/// Where the bytes of a snapshot lie. Handles are values: they name state, they do not own files. What each kind looks like in
/// `_metadata` is state/checkpoint's business.

/// Bytes kept inside `_metadata`. Flink: ByteStreamStateHandle.
struct InlineHandle {
  std::string name;
  std::shared_ptr<const std::vector<std::byte>> bytes;
};
/// A file by its absolute path. Flink: FileStateHandle.
struct FileHandle {
  std::string path;
  int64_t size = 0;
};
/// A file in the folder of its `_metadata`. Flink: RelativeFileStateHandle. `path` is where it lies now.
struct RelativeFileHandle {
  std::string name;
  int64_t size = 0;
  std::string path;
};
/// Flink: StreamStateHandle. monostate: none.
using StreamHandle = std::variant<std::monostate, InlineHandle, FileHandle, RelativeFileHandle>;

/// Bytes of state that a handle stands for.
int64_t stateSize(const StreamHandle& handle);

/// Keyed state of one subtask, an offset per key group of `range`. Flink: KeyGroupsStateHandle, KeyGroupsSavepointStateHandle.
struct KeyGroupsHandle {
  enum class Format { kHeapCheckpoint, kCanonicalSavepoint };
  Format format = Format::kHeapCheckpoint;
  KeyGroupRange range;
  std::vector<int64_t> offsets;
  StreamHandle stream;
  std::string handleId;  ///< a UUID; empty for savepoints
};
/// Keyed state as files of a RocksDB. Flink: IncrementalRemoteKeyedStateHandle.
struct RocksDbHandle {
  int64_t checkpointId = 0;
  std::string backendId;
  KeyGroupRange range;
  int64_t checkpointedSize = 0;
  StreamHandle meta;
  std::vector<std::pair<std::string, StreamHandle>> sharedFiles, privateFiles;
  std::string handleId;
};
using KeyedHandle = std::variant<KeyGroupsHandle, RocksDbHandle>;

/// How the elements of an operator state are handed out on restore.
enum class OperatorStateMode : uint8_t { kSplit = 0, kUnion = 1, kBroadcast = 2 };
/// Operator state of one subtask: per state name the offsets of its elements. Flink: OperatorStreamStateHandle.
struct OperatorStateHandle {
  struct State {
    std::string name;  ///< unique in the handle
    OperatorStateMode mode = OperatorStateMode::kSplit;
    std::vector<int64_t> offsets;
  };
  std::vector<State> states;  ///< in the order of the file
  StreamHandle stream;
};

/// In-flight data of one subtask, inputs or outputs, merged over its channels. Flink: MergedInputChannelStateHandle and its twin.
struct ChannelStateHandle {
  struct Channel {
    int32_t gateOrPartition = 0;
    int32_t channelOrSubpartition = 0;
    int64_t size = 0;  ///< with the 4-byte lengths
    std::vector<int64_t> offsets;
  };
  int32_t subtask = 0;
  int64_t size = 0;
  StreamHandle stream;
  std::vector<Channel> channels;
};

/// Everything one operator of one subtask put into a checkpoint. Flink: OperatorSubtaskState.
struct OperatorSubtaskState {
  std::vector<OperatorStateHandle> managedOperator, rawOperator;
  std::vector<KeyedHandle> managedKeyed, rawKeyed;
  std::vector<ChannelStateHandle> inputChannels, outputChannels;

  bool empty() const;
  int64_t stateSize() const;
};

/// How in-flight data of one gate or partition comes to one subtask after the parallelism at one of its ends has changed.
/// Flink: InflightDataGateOrPartitionRescalingDescriptor.
struct InFlightRescaling {
  std::vector<int32_t> oldSubtasks;               ///< of this vertex, whose data it takes over
  std::vector<std::vector<int32_t>> oldChannels;  ///< by channel or subpartition as it is now: those of before that go there
  std::set<int32_t> ambiguous;                    ///< of oldSubtasks: others take over the same, each keeps what the partitioner sends it

  /// Nothing has changed.
  bool isIdentity() const { return oldChannels.empty(); }
};

/// What a subtask acknowledges a checkpoint with: its operators by id. Flink: TaskStateSnapshot.
struct TaskStateSnapshot {
  std::map<OperatorID, OperatorSubtaskState> operators;
  bool finished = false;           ///< the task had finished all its operators before the checkpoint
  bool finishedOnRestore = false;  ///< the task was restored as finished
  /// For a restore: by gate, and by partition; those that are missing have not changed.
  std::vector<InFlightRescaling> inputRescaling, outputRescaling;

  int64_t stateSize() const;
};

/// Operator of a checkpoint: its subtasks by index. Flink: OperatorState.
struct OperatorState {
  std::string name, uid;
  OperatorID id;
  int32_t parallelism = 1, maxParallelism = 128;
  StreamHandle coordinatorState;
  std::map<int32_t, OperatorSubtaskState> subtasks;
  bool fullyFinished = false;
  std::vector<int32_t> finishedSubtasks;
};

}  // namespace weir
