#pragma once

#include <ostream>

#include "weir/backend/time_window.h"

namespace weir {

/// How Google Test prints windows.
inline void PrintTo(const TimeWindow& w, std::ostream* out) { *out << "[" << w.start << "," << w.end << ")"; }

}  // namespace weir
