#include "weir/base/file_system.h"

namespace weir {

Result<std::vector<std::byte>> FileSystem::readAll(const std::string& path) {
  WEIR_ASSIGN(auto file, open(path));
  WEIR_ASSIGN(const uint64_t size, file->size());
  std::vector<std::byte> bytes(size);
  WEIR_ASSIGN(const size_t got, file->readAt(0, bytes));
  if (got != size) {
    return Error{ErrorCode::kIo, path + " shrank while it was read: " + std::to_string(got) + " of " + std::to_string(size) + " bytes"};
  }
  return bytes;
}

}  // namespace weir
