#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "weir/base/file_system.h"
#include "weir/cli/command_line.h"

namespace weir {

/// `weir inspect PATH`: what a checkpoint or savepoint holds, Flink's or ours.
struct InspectOptions {
  std::string path{};
  size_t keys = 10;     ///< heaviest ones to show of each operator
  size_t entries = 3;   ///< of each state, as examples
  bool listFiles = false;
  bool json = false;
};

/// Failed where files are missing, have another length, or do not make sense; a usage error where there is no checkpoint.
ExitCode showInspection(FileSystem& files, const InspectOptions& options, std::ostream& out, bool colour);

}  // namespace weir
