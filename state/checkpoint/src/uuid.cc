#include "weir/checkpoint/uuid.h"

#include <fmt/format.h>

namespace weir {

std::string randomUuid(Random& random) {
  const uint64_t high = (random.next() & ~0xf000ull) | 0x4000ull;
  const uint64_t low = (random.next() & ~(3ull << 62)) | (2ull << 62);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffffull);
}

}  // namespace weir
