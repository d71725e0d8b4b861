#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/scenario/scenario_file.h"

namespace weir {

/// What a job gave that was run to look at one of its streams.
struct FormRun {
  /// By key (and window, where the stream has windows with bounds): the values of the aggregates in the order in which they were emitted.
  std::map<RowKey, std::vector<std::vector<Value>>> groups;
  /// Beside `groups`, of a run with stamps: when each came to the sink, in milliseconds of the executor's clock.
  std::map<RowKey, std::vector<int64_t>> times;
  Schema schema;
  std::map<std::string, std::map<int32_t, int64_t>> recordsIn;  ///< by operator and subtask; of the last attempts
  /// Of a simulated run: what was written for the chain that has the operator in it, in bytes of network buffers; of the last attempts.
  std::map<std::string, int64_t> bytesInto;
  int64_t sourceRecords = 0;
  int64_t lateRecords = 0;
  int64_t stateBytes = 0;  ///< of the largest checkpoint
  int64_t restarts = 0;
  std::optional<std::string> failure;  ///< the job failed, and why
};

struct FormRunOptions {
  std::string executor = "threads";
  uint64_t seed = 1;
  /// Records that the input has, so that a simulated run can be spread over virtual time with checkpoints in it; 0: as fast as possible.
  int64_t spreadOver = 0;
  bool checkpoints = true;  ///< of a run that is spread
  bool stamps = false;      ///< notes when each result comes
  std::string fail;  ///< an operator that fails once in the middle of the input; empty: none
  int32_t failSubtask = 0;
};

/// Runs the job of `file`, whose only sink is a print sink, to its end, and gathers what the sink got. The first `groupColumns` columns of
/// its rows are the group. Errors are those of the file or the configuration. Called from a thread that is no executor's.
Result<FormRun> runForm(const ScenarioFile& file, const Configuration& configuration, FileSystem& files, size_t groupColumns,
                        const FormRunOptions& options);

}  // namespace weir
