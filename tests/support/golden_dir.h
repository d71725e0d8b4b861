#pragma once

#include <string>

namespace weir::golden {

/// tests/golden of this checkout. Not a macro: it is the only thing in a test that depends on where the checkout lies, so that other
/// checkouts find what this one compiled.
std::string folder();

}  // namespace weir::golden
