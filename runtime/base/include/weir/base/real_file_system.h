#pragma once

#include "weir/base/file_system.h"

namespace weir {

/// The files of this machine, through POSIX calls. Stateless, any thread; every call may block, so an actor that shares its worker goes
/// through ActorFileSystem.
///
/// Flink: LocalFileSystem. Differs: sync() and syncDirectory() exist and are real.
/// Errors: "cannot <verb> <path>: <reason>"; a full disk (ENOSPC, EDQUOT) is kNoSpace.
class RealFileSystem final : public FileSystem {
 public:
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
};

/// The error of a failed system call: "cannot <verb> <path>: <text of errorNumber>".
Error fileError(const std::string& verb, const std::string& path, int errorNumber);

}  // namespace weir
