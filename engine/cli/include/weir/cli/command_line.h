#pragma once

#include <string>
#include <vector>

#include "weir/cli/example.h"

namespace weir {

/// What `weir` answers with. Documented in `weir --help`.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,       ///< an expectation does not hold, or the operation failed
  kExitUsage = 2,        ///< the file or the command line is wrong
  kExitEngine = 3,       ///< the engine failed
  kExitInconclusive = 4,
  kExitInterrupted = 130,
};

/// The `weir` command. Never throws; mistakes of the user come out as one sentence on standard error.
int runCommandLine(int argc, char** argv, const std::vector<Example>& examples, const std::string& dataDirectory);

}  // namespace weir
