#include "weir/operators/two_phase_commit_sink.h"

#include <fmt/format.h>

namespace weir {

std::string randomTransactionName(Random& random) {
  const uint64_t first = random.next();
  return fmt::format("{:016x}{:016x}", first, random.next());
}

}  // namespace weir
