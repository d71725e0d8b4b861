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

/// The job of the file down to one aggregation, in one stage or in two.
ScenarioFile variantOf(const ScenarioFile& file, const Validated& validated, bool twoStages, bool withBounds);
/// Behind the aggregates of a variant `withBounds`: what the bound of rounding is made from (count, magnitudes, squares per aggregate that
/// rounds), and last the number of rows.
size_t hiddenColumns(const Validated& validated);
bool rounds(const ColumnAggregate& aggregate);

/// Compares one column, with what the runs so far have found; the worst counts.
void compareColumn(const Validated& validated, size_t column, const FormRun& one, const FormRun& two, const ValidationOptions& options,
                   AggregateFinding& finding);
void explain(const Validated& validated, size_t column, const FormRun& one, const FormRun& two, AggregateFinding& finding);
BalanceFinding balanceOf(const Validated& validated, const FormRun& weighed, const FormRun& one, const FormRun& two,
                         const Configuration& configuration);

std::string_view formName(TwoStageSpec::Form form);

}  // namespace weir
