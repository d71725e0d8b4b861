#include "examples.h"

#include "flights_delays/flights_delays.h"

namespace weir {

std::vector<Example> allExamples() { return {flightsDelays()}; }

}  // namespace weir
