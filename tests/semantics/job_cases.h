#pragma once

#include <memory>
#include <string>
#include <vector>

#include "semantics/golden_case.h"
#include "weir/base/executor.h"

namespace weir::semantics {

/// Runs a case over a file as a job on `executor`: source, salts and watermarks on one subtask, each window behind a keyed exchange on as
/// many as the case says. The lines of its result, sorted, as the files beside the cases have them.
std::vector<std::string> runJob(const JobCase& golden, std::unique_ptr<Executor> executor);

/// The lines that Flink's result and ours do not share; empty: none.
std::string difference(const JobCase& golden, const std::vector<std::string>& lines);

}  // namespace weir::semantics
