#pragma once

#include "weir/base/executor.h"
#include "weir/base/file_system.h"
#include "weir/base/log.h"

namespace weir {

/// Everything nondeterministic that a process touches, handed down from whoever assembles it. The references outlive all actors.
struct World {
  Executor& executor;
  FileSystem& fileSystem;
  LogSink& log;
};

}  // namespace weir
