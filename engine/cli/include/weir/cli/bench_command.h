#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "weir/cli/command_line.h"

namespace weir {

/// `weir bench barrier`: how long a barrier takes from one task to the next on this machine, beside the least that it could take.
struct BarrierBenchOptions {
  std::vector<int32_t> channels{1, 16, 128, 1024, 4096};
  int64_t milliseconds = 200;  ///< spent on each line, at least
  bool force = false;          ///< also where the machine is not quiet
  bool json = false;
  bool quiet = false;
};

/// kExitInconclusive where the machine is not quiet and `force` is off: then there is no number.
ExitCode benchBarrier(const BarrierBenchOptions& options, std::ostream& out, bool colour);

}  // namespace weir
