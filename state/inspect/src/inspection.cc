#include "weir/inspect/inspection.h"

#include <algorithm>
#include <numeric>

#include "operator_inspector.h"
#include "weir/checkpoint/checkpoint_files.h"

namespace weir {

int64_t InspectedOperator::total() const {
  return std::accumulate(subtasks.begin(), subtasks.end(), coordinatorBytes,
                         [](int64_t sum, const InspectedSubtask& s) { return sum + s.total(); });
}

int64_t CheckpointInspection::stateSize() const {
  return std::accumulate(operators.begin(), operators.end(), int64_t{0},
                         [](int64_t sum, const InspectedOperator& o) { return sum + o.total(); });
}

int64_t CheckpointInspection::sizeOnDisk() const {
  return std::accumulate(files.begin(), files.end(), int64_t{0},
                         [](int64_t sum, const InspectedFile& f) { return sum + f.sizeOnDisk.value_or(0); });
}

bool CheckpointInspection::isWhole() const {
  return std::all_of(files.begin(), files.end(), [](const InspectedFile& file) { return file.isRight(); }) &&
         std::none_of(operators.begin(), operators.end(), [](const InspectedOperator& op) { return op.isDamaged; });
}

Result<CheckpointInspection> inspectCheckpoint(FileSystem& files, std::string_view pathOrUri, const InspectionOptions& options) {
  WEIR_ASSIGN(const LoadedCheckpoint loaded, readCheckpoint(files, pathOrUri));
  CheckpointInspection result{.folder = loaded.folder,
                              .checkpointId = loaded.metadata.checkpointId,
                              .properties = CheckpointProperties::fromJavaObject(loaded.metadata.properties)};
  StateFiles stateFiles(files, loaded.folder);
  for (const OperatorState& state : loaded.metadata.operators)
    result.operators.push_back(OperatorInspector(state, stateFiles, options).run());
  result.files = stateFiles.list();
  return result;
}

}  // namespace weir
