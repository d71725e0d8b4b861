#pragma once

#include <string>

#include "weir/base/error.h"

namespace weir {

/// Throws what ends a task whose state cannot be read: an I/O error may go away with a restart, damaged bytes do not, and end the job.
/// `what`: "the state of 'count'".
[[noreturn]] void throwRestoreFailure(const std::string& what, const Error& error);

}  // namespace weir
