#pragma once

#include "weir/base/executor.h"

namespace weir {

/// Says, while it lives, whose context ExecutionContext::current() is on this thread. An executor has one around each turn of an actor.
class CurrentContext {
 public:
  explicit CurrentContext(ExecutionContext* context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  ExecutionContext* const before_;
};

}  // namespace weir
