#include "weir/operators/sinks.h"

#include <iostream>

namespace weir {

void PrintStream::write(std::string_view lines) {
  Lock lock(mutex_);
  out_.write(lines.data(), static_cast<std::streamsize>(lines.size()));
  out_.flush();
}

const std::shared_ptr<PrintStream>& PrintStream::standardOutput() {
  static const auto stream = std::make_shared<PrintStream>(std::cout);
  return stream;
}

}  // namespace weir
