#pragma once

#include <string>

#include "weir/cli/example.h"
#include "weir/scenario/scenario_file.h"

namespace weir {

/// Whether what a command names is a job file rather than a built-in job.
bool isJobFile(const std::string& name);

/// A job file as what `weir run` runs.
Example scenarioJob(const ScenarioFile& file);

}  // namespace weir
