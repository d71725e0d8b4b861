#pragma once

#include "weir/base/executor.h"
#include "weir/base/file_system.h"

namespace weir {

/// Another file system as one actor uses it: each operation is an interleaving point of the simulation and runs through
/// ExecutionContext::blocking, so that it does not hold up actors that share the worker. Used by that actor alone.
class ActorFileSystem final : public FileSystem {
 public:
  ActorFileSystem(FileSystem& inner, ExecutionContext& context) : inner_(inner), context_(context) {}

  Result<std::unique_ptr<WritableFile>> create(const std::string& path, Create mode) override;
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> removeAll(const std::string& path) override;
  Result<void> createDirectories(const std::string& path) override;
  Result<void> syncDirectory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  bool isDirectory(const std::string& path) override;

 private:
  FileSystem& inner_;
  ExecutionContext& context_;
};

}  // namespace weir
