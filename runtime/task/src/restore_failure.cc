#include "weir/task/restore_failure.h"

namespace weir {

void throwRestoreFailure(const std::string& what, const Error& error) {
  const auto cause = std::make_shared<Throwable>("java.io.IOException", what + " cannot be restored: " + error.message);
  if (error.code == ErrorCode::kIo) throw *cause;
  throw Throwable("org.apache.flink.runtime.execution.SuppressRestartsException",
                  "A restart would find the same state. Start from another checkpoint with execution.state-recovery.path.", cause);
}

}  // namespace weir
