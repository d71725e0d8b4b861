#pragma once

namespace weir {

/// While it lives, the first Ctrl-C (SIGINT) or SIGTERM is only remembered, so that the job can be cancelled in order; a second ends the
/// process at once with 130. One at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool interrupted();
};

}  // namespace weir
