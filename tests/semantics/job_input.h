#pragma once

#include <memory>
#include <vector>

#include "semantics/golden_case.h"

namespace weir::semantics {

/// A row of a job case's file, as the first operator sees it.
struct InputRow {
  int64_t timestamp = 0;
  Item item;
};

/// The rows of `input` whose value is not empty, in the order of the file. Read once per kind of input; throws where the file cannot be
/// read.
std::shared_ptr<const std::vector<InputRow>> inputRows(const Json& input);

}  // namespace weir::semantics
