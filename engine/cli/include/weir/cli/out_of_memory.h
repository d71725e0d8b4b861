#pragma once

namespace weir {

/// From now on a process that ends because memory ran out where nobody could make a failed task of it says so in one sentence and ends with
/// kExitEngine, without a trace and without a core file. Any other end by an exception is what it was.
void explainOutOfMemory();

}  // namespace weir
