#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/backend/operator_state_backend.h"
#include "weir/checkpoint/state_meta.h"

namespace weir {

/// Operator state in memory, in files of Flink's layout. Flink: DefaultOperatorStateBackend, OperatorStateRestoreOperation.
///
/// States that were restored and never asked for stay as bytes and go into every snapshot.
class DefaultOperatorStateBackend final : public OperatorStateBackend {
 public:
  std::unique_ptr<OperatorSnapshotJob> prepareSnapshot(int64_t checkpointId) override;
  Result<void> restore(std::span<const OperatorStateHandle> handles, CheckpointWorkerStorage& storage) override;

 protected:
  Result<OperatorStateEntry*> entry(std::unique_ptr<OperatorStateEntry> fresh) override;

 private:
  struct Restored {
    StateMeta meta;
    OperatorStateMode mode;
    std::vector<std::vector<uint8_t>> elements;
    std::string file;  ///< the first one, for messages
  };
  class HandleReader;

  std::vector<std::unique_ptr<OperatorStateEntry>> entries_;  ///< in the order of registration: that of the files
  std::vector<Restored> restored_;                            ///< not asked for yet
};

}  // namespace weir
