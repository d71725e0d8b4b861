#include "weir/aggregate/numbers.h"

namespace weir::detail {

void throwNoValues(const char* what) {
  throw Throwable("java.util.NoSuchElementException", std::string(what) + " of no value: there is none to return; aggregate at least one");
}

}  // namespace weir::detail
