#pragma once

#include "weir/scenario/scenario_file.h"
#include "weir/windowing/window_operator.h"

namespace weir {

/// The windows of a job file, whose numbers were checked when it was read, for WindowOperator.
WindowSettings windowSettings(const WindowSpec& spec);

}  // namespace weir
