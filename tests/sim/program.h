#pragma once

#include <memory>
#include <vector>

#include "sim/functions.h"
#include "weir/api/stream_execution_environment.h"
#include "weir/operators/transactional_collect_sink.h"

namespace weir::sim {

using Store = TransactionalCollectResult<Rec>;

/// One store per sink of the scenario; they outlive all runs.
std::vector<std::shared_ptr<Store>> makeStores(const Scenario& scenario);

/// The scenario's job, as the given run runs it.
StreamExecutionEnvironment makeProgram(const Scenario& scenario, const std::shared_ptr<Journal>& journal,
                                       const std::vector<std::shared_ptr<Store>>& stores);

}  // namespace weir::sim
