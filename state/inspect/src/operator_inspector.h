#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "keyed_entries.h"
#include "state_files.h"
#include "weir/inspect/inspection.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// Collects what one operator of a checkpoint holds, subtask by subtask.
class OperatorInspector {
 public:
  OperatorInspector(const OperatorState& state, StateFiles& files, const InspectionOptions& options);
  InspectedOperator run();

 private:
  void inspectSubtask(int32_t index, const OperatorSubtaskState& state);
  void inspectOperatorState(int32_t subtask, const OperatorStateHandle& handle);
  void inspectKeyGroups(int32_t subtask, const KeyGroupsHandle& handle);
  void inspectRocksDb(const RocksDbHandle& handle);
  void inspectChannels(const ChannelStateHandle& handle, bool isOutput);
  void decodeKeyGroups(int32_t subtask, const KeyGroupsHandle& handle, const KeyedStateHeader& header, std::span<const uint8_t> file);
  void rankKeys();

  InspectedState& stateNamed(const std::string& name, const std::string& kind, const std::string& type);
  InspectedState& stateOf(const StateMeta& meta);
  void cannotDecode(const std::string& what, const Error& why);

  const OperatorState& state_;
  StateFiles& files_;
  const InspectionOptions& options_;
  InspectedOperator result_;
  struct KeyTotals {
    int32_t keyGroup = 0, subtask = 0;
    int64_t entries = 0, bytes = 0;
  };
  std::unordered_map<std::string, KeyTotals> keys_;  ///< by the bytes of the key
  std::optional<ValueShape> keyShape_;
};

}  // namespace weir
