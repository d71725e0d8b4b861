#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "weir/cli/command_line.h"
#include "weir/config/configuration.h"
#include "weir/scenario/scenario_file.h"

namespace weir {

/// `weir validate FILE`: whether two stages give what one stage gives.
struct ValidateOptions {
  std::string file;
  std::optional<std::string> input;
  std::optional<double> tolerance;
  int32_t seeds = 5;
  int32_t salts = 4;
  bool json = false, quiet = false;
};

ExitCode validateFile(const ScenarioFile& file, const ValidateOptions& options, const Configuration& configuration, std::ostream& out,
                      bool colour);

}  // namespace weir
