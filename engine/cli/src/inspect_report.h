#pragma once

#include <iosfwd>

#include "weir/inspect/inspection.h"

namespace weir {

void printInspection(std::ostream& out, const CheckpointInspection& inspection, bool listFiles, bool colour);
void printInspectionJson(std::ostream& out, const CheckpointInspection& inspection);

}  // namespace weir
