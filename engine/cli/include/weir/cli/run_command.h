#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weir/cli/command_line.h"
#include "weir/config/configuration.h"

namespace weir {

/// `weir run`: one built-in job in this process, with progress, on purpose failures, results and checkpoints.
struct RunOptions {
  std::string example;
  std::string dataDirectory;
  std::optional<std::string> executor;  ///< threads, pool or simulated; none: weir.executor of the configuration
  uint64_t seed = 0;                    ///< 0: drawn
  double recordsPerSecond = StreamExecutionEnvironment::kUnlimited;
  std::vector<std::string> kills;       ///< VERTEX[:SUBTASK]@PERCENT%
  bool compare = false;                 ///< with the example's oracle
  bool quiet = false, json = false;
  std::string logFile;                  ///< empty: warnings and errors on standard error
};

ExitCode runExample(const Example& example, const RunOptions& options, const Configuration& configuration);

/// A subtask that is made to fail when so much of the input was read.
struct KillSpec {
  std::string vertex;  ///< the name of an operator of the task
  int32_t subtask = 0;
  double atShare = 0.5;

  static Result<KillSpec> parse(const std::string& text);
};

}  // namespace weir
