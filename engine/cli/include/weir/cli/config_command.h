#pragma once

#include <iosfwd>
#include <string>

#include "weir/cli/command_line.h"
#include "weir/cli/terminal.h"

namespace weir {

/// `weir config [KEY]`.
struct ConfigOptions {
  std::string key;  ///< empty: all of them
  bool all = false;
  bool json = false;
};

ExitCode showConfig(const ConfigOptions& options, std::ostream& out, bool colour);

}  // namespace weir
