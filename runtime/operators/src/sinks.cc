#include "weir/operators/sinks.h"

#include <ostream>

namespace weir {

void PrintStream::write(std::string_view lines) {
  Lock lock(mutex_);
  out_.write(lines.data(), static_cast<std::streamsize>(lines.size()));
  out_.flush();
}

}  // namespace weir
