#pragma once

#include "form_run.h"
#include "weir/aggregate/numbers.h"
#include "weir/scenario/aggregates.h"
#include "weir/scenario/validation.h"

namespace weir {

/// One aggregation of a file with what is known of it.
struct Validated {
  const NodeSpec* node = nullptr;
  TwoStageSpec twoStage;
  bool assumed = false;      ///< the file says nothing of two stages
  size_t groupColumns = 0;   ///< of its rows: the key, and the window
  std::vector<ColumnAggregate> aggregates;
};

struct Variant {
  bool twoStages = false;
  bool withBounds = false;     ///< with hidden columns, see hiddenColumns()
  bool ownWatermarks = false;  ///< as often as the file says; else behind every record
};
/// The job of the file down to one aggregation, in one stage or in two.
ScenarioFile variantOf(const ScenarioFile& file, const Validated& validated, const Variant& wanted);
/// Behind the aggregates of a variant `withBounds`: what the bound of rounding is made from (count, magnitudes, squares per aggregate that
/// rounds), and last the number of rows.
size_t hiddenColumns(const Validated& validated);
bool rounds(const ColumnAggregate& aggregate);

/// Compares one column, with what the runs so far have found; the worst counts.
void compareColumn(const Validated& validated, size_t column, const FormRun& one, const FormRun& two, const ValidationOptions& options,
                   AggregateFinding& finding);
/// Records that were dropped by runs without a failure.
struct LateRecords {
  int64_t oneStage = 0, twoStages = 0;
};
/// Says why, from what was found, not from the form alone: the reasons of `finding`, whose differences are counted.
void explain(const Validated& validated, size_t column, const FormRun& one, const FormRun& two, const LateRecords& late,
             AggregateFinding& finding);
/// How much later the results of two stages come than those of one, both with times. `counted`: the last column of `two` says how many
/// records are in a result, as that of running aggregates must; else the first results of groups are compared.
std::optional<AddedLatency> addedLatency(const FormRun& one, const FormRun& two, bool counted);
/// What both put on the network.
NetworkCost networkCost(const Validated& validated, const FormRun& one, const FormRun& two);
BalanceFinding balanceOf(const Validated& validated, const FormRun& weighed, const FormRun& one, const FormRun& two,
                         const Configuration& configuration);

std::string_view formName(TwoStageSpec::Form form);

}  // namespace weir
