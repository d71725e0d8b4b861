#pragma once

#include <memory>
#include <string>

#include "semantics/golden_case.h"
#include "weir/base/executor.h"

namespace weir::semantics {

/// Whether a case can be a job: records and watermarks of one stream, and nothing that hangs on processing time.
bool canBeJob(const StepCase& golden);

/// Runs a case as a job whose source plays its steps, with an exchange in front of every operator that is keyed; how what comes out differs
/// from what the case says, apart from the number of the step. Empty: it does not.
std::string differenceAsJob(const StepCase& golden, std::unique_ptr<Executor> executor);

}  // namespace weir::semantics
