#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/file_system.h"
#include "weir/base/result.h"
#include "weir/checkpoint/checkpoint_properties.h"
#include "weir/snapshot/key_group_range.h"

namespace weir {

/// A file that the checkpoint needs.
struct InspectedFile {
  std::string path{};    ///< as the checkpoint says
  std::string foundAs{}; ///< where it lies, if elsewhere: a copied checkpoint still names the place where it was taken
  int64_t size = 0;    ///< as the checkpoint says, in bytes
  std::optional<int64_t> sizeOnDisk{};  ///< none: it is missing
  bool isShared = false;              ///< with other checkpoints of the job

  bool isRight() const { return sizeOnDisk == size; }
};

/// One entry of a state, as JSON. Empty where the state has no such part.
struct InspectedEntry {
  int32_t subtask = 0;
  std::string key{}, nameSpace{}, value{};
  std::optional<int64_t> timestamp{};  ///< of a timer, in milliseconds
};

struct InspectedState {
  std::string name{};
  std::string kind{};  ///< VALUE, LIST, MAP, REDUCING, AGGREGATING, TIMERS, SPLIT_DISTRIBUTE, UNION, BROADCAST
  std::string type{};  ///< of its values, by Flink's serializers: "Tuple2(String, Long)"
  std::optional<int64_t> entries{};  ///< none: not counted, since they are not decoded. Lists count their elements, maps theirs
  int64_t bytes = 0;               ///< of the entries
  std::vector<InspectedEntry> examples{};
};

/// A key with all that the states of its operator hold for it.
struct InspectedKey {
  std::string key{};  ///< as JSON
  int32_t keyGroup = 0, subtask = 0;
  int64_t entries = 0, bytes = 0;
};

/// In-flight data of one channel.
struct InspectedChannel {
  bool isOutput = false;
  int32_t subtask = 0, gateOrPartition = 0, channel = 0;
  int64_t bytes = 0, buffers = 0;
};

struct InspectedSubtask {
  int32_t index = 0;
  bool finished = false;
  KeyGroupRange keyGroups{};  ///< empty: no keyed state
  int64_t managedOperator = 0, rawOperator = 0, managedKeyed = 0, rawKeyed = 0, inputChannels = 0, outputChannels = 0;

  int64_t operatorState() const { return managedOperator + rawOperator; }
  int64_t keyedState() const { return managedKeyed + rawKeyed; }
  int64_t inFlight() const { return inputChannels + outputChannels; }
  int64_t total() const { return operatorState() + keyedState() + inFlight(); }
};

struct InspectedOperator {
  std::string name{}, uid{}, id{};
  int32_t parallelism = 0, maxParallelism = 0;
  bool fullyFinished = false;
  int64_t coordinatorBytes = 0;
  std::string keyType{};  ///< empty: no keyed state
  std::vector<InspectedSubtask> subtasks{};
  std::vector<InspectedState> states{};
  std::vector<int64_t> keyGroupBytes{};  ///< by key group; empty: not known
  int64_t keys = 0;                    ///< different ones, where decoded
  std::vector<InspectedKey> heaviestKeys{};  ///< by bytes, at most as many as asked for
  std::vector<InspectedChannel> channels{};  ///< that have something in flight, the most first
  std::vector<std::string> notDecoded{};     ///< a sentence each: what, and why
  bool isDamaged = false;                    ///< bytes are missing or make no sense

  int64_t total() const;
};

/// What a checkpoint or savepoint on disk holds.
struct CheckpointInspection {
  std::string folder{};
  int64_t checkpointId = 0;
  std::optional<CheckpointProperties> properties{};  ///< none: of a kind that Weir does not know
  std::vector<InspectedOperator> operators{};
  std::vector<InspectedFile> files{};

  int64_t stateSize() const;
  /// Of its files, each once.
  int64_t sizeOnDisk() const;
  /// All files are there with the length that they should have, and what could be decoded made sense.
  bool isWhole() const;
};

struct InspectionOptions {
  size_t heaviestKeys = 10;
  size_t examples = 3;  ///< entries of each state
  /// Files beyond it are listed and not decoded.
  int64_t largestDecodedFile = int64_t{1} << 30;
};

/// From the path of a checkpoint's folder or of its `_metadata`. Writes nothing. An error where `_metadata` is missing or corrupt; what is
/// wrong with other files stands in the inspection.
Result<CheckpointInspection> inspectCheckpoint(FileSystem& files, std::string_view pathOrUri, const InspectionOptions& options);

}  // namespace weir
