#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/file_system.h"
#include "weir/config/configuration.h"
#include "weir/scenario/scenario_file.h"

namespace weir {

struct ValidationOptions {
  std::optional<std::string> input;  ///< a file in place of that of the file source
  std::optional<double> tolerance;   ///< differences up to it are rounding; none: up to the proven bound
  int32_t seeds = 5;                 ///< simulated interleavings of each form
  int32_t salts = 4;                 ///< of aggregations that say nothing of two stages
  /// Called with what is being done.
  std::function<void(const std::string&)> progress{};
};

/// Whether two stages give what one stage gives, for one column of one aggregation.
struct AggregateFinding {
  enum class Verdict { kEqual, kEqualUpToRounding, kDifferent };
  struct Example {
    std::string group;  ///< key, and window
    std::string oneStage, twoStages;
    double difference = 0;  ///< 0 where they are no numbers
  };
  std::string column, function;
  Verdict verdict = Verdict::kEqual;
  int64_t groups = 0;         ///< of one stage: keys, or keys and windows
  int64_t differing = 0;      ///< groups that differ at all, missing and additional ones too
  int64_t differingMore = 0;  ///< by more than 1e-9
  int64_t differingKeys = 0;
  int64_t missing = 0, additional = 0;  ///< groups of one form alone
  double largest = 0, mean = 0;         ///< difference, over the groups of one stage
  std::optional<double> bound;          ///< the largest proven bound of rounding; none: the result is exact
  std::optional<Example> first;         ///< in the order of windows, then of keys
  std::vector<Example> worst;
  std::vector<std::string> reasons;     ///< why, a sentence each
};

/// Bytes as they lie in network buffers: serialized records with their lengths, watermarks, and events.
struct NetworkCost {
  int64_t oneStage = 0;              ///< into the aggregation
  int64_t toStageOne = 0;
  int64_t toStageTwo = 0;            ///< that stage one ships; 0 where there is no stage two
};

/// How long stage one holds results back, in milliseconds of virtual time: a result of two stages against that of one stage that holds the
/// same record. Computing takes no virtual time: what is measured is waiting for flushes, watermarks and buffer timeouts.
struct AddedLatency {
  int64_t compared = 0;  ///< results, or records where each has a result
  double mean = 0, largest = 0;
};

/// The load that both forms put on subtasks and network.
struct BalanceFinding {
  std::vector<int64_t> before, stageOne, stageTwo;  ///< records by subtask
  int64_t exchangedBefore = 0, exchangedAfter = 0;  ///< records over the network behind the source
  int64_t stateBefore = 0, stateAfter = 0;          ///< bytes of the largest checkpoint
  std::optional<NetworkCost> network;               ///< none: the two-stage form fails
  std::string latency;                              ///< what stage one adds
  std::optional<AddedLatency> heldBack;             ///< the same, measured; none: the results of both forms do not belong together
  int32_t salts = 0;                                ///< of the form that was run
  struct Choice {
    int32_t salts = 1;
    double mostOverMean = 1;
  };
  std::vector<Choice> choices;  ///< by number of salts; empty: keys are no text
  int32_t worthIt = 1;          ///< the fewest salts behind which more hardly help
};

struct StreamFinding {
  std::string stream;
  std::string form;  ///< "accumulators", ...
  std::vector<AggregateFinding> aggregates;
  std::optional<BalanceFinding> balance;
  int64_t oneStageLate = 0, twoStageLate = 0;  ///< records that were dropped
  int32_t runs = 0;                            ///< of the two-stage form that were compared
  std::vector<std::string> notes;
  bool different() const;
};

struct ValidationReport {
  std::vector<StreamFinding> streams;
  bool different() const;
};

/// Runs each aggregation of a file in one and in two stages over the same input: on threads, then under simulated interleavings with a
/// failure in the middle, and compares. Sources are read by one subtask and give a watermark behind every record, so that both forms see
/// one order. Errors are those of the file; what the forms do wrong is a finding.
Result<ValidationReport> validateJob(const ScenarioFile& file, const Configuration& configuration, FileSystem& files,
                                     const ValidationOptions& options);

}  // namespace weir
