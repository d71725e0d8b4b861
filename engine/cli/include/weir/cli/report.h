#pragma once

#include <iosfwd>

#include "weir/jobmanager/job_master.h"

namespace weir {

/// The newest checkpoints of a job as a table, with the split of their time. Nothing for a job without checkpoints.
void printCheckpoints(std::ostream& out, const JobSnapshot& snapshot, bool colour);
/// How the job ended, in a few lines.
void printSummary(std::ostream& out, const JobSnapshot& snapshot, const JobResult& result, bool colour);
/// The same as one JSON object. `compared`: the outcome is that of a comparison with an oracle. `results`: a JSON object, or empty.
void printJsonReport(std::ostream& out, const JobSnapshot& snapshot, const JobResult& result, bool compared,
                     const Result<void>& comparison, const std::string& results = "");

}  // namespace weir
