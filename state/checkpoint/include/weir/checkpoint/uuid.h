#pragma once

#include <string>

#include "weir/base/random.h"

namespace weir {

/// A random (version 4) UUID as Java prints it: names of state files, ids of handles.
std::string randomUuid(Random& random);

}  // namespace weir
