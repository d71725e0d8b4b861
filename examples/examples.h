#pragma once

#include <vector>

#include "weir/cli/example.h"

namespace weir {

/// All built-in jobs, in the order in which they are listed.
std::vector<Example> allExamples();

}  // namespace weir
