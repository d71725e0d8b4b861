#pragma once

#include <string>

#include "weir/cli/example.h"

namespace weir {

/// Delays per engine type and per carrier over all flights that left New York City in 2013, joined with their planes. One engine type holds
/// 71.5 % of the rows: a real hot key.
Example flightsDelays();

}  // namespace weir
