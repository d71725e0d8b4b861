#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "weir/cli/command_line.h"

namespace weir {

/// `weir keygroup KEY...`: which key group and which subtask own a key, as Flink assigns them.
struct KeyGroupOptions {
  std::vector<std::string> keys;
  std::string type = "string";
  int32_t parallelism = 16;
  int32_t maxParallelism = 0;  ///< 0: Flink's default for the parallelism
  bool json = false;
};
ExitCode showKeyGroups(const KeyGroupOptions& options, std::ostream& out, bool colour);

}  // namespace weir
