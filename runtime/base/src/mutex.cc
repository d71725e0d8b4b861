#include "weir/base/mutex.h"

namespace weir {

int& heldMutexes() {
  thread_local int count = 0;  // never crosses a wait: a wait with a held mutex is refused
  return count;
}

}  // namespace weir
