#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"

namespace weir {

/// A file being written, from the start. Not thread-safe. Destroying it without close() leaves an incomplete file behind.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;
  /// The bytes are durable (fsync).
  virtual Result<void> sync() = 0;
  virtual Result<void> close() = 0;
};

/// A file being read. Not thread-safe.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual Result<uint64_t> size() = 0;
  /// Reads up to `into.size()` bytes at `offset`; fewer only at the end of the file.
  virtual Result<size_t> readAt(uint64_t offset, std::span<std::byte> into) = 0;
};

/// Files of one machine, injected so that tests can slow them down, tear them and fill the disk. Any thread. Paths are plain
/// absolute or relative paths, no URIs. Every error names the path.
class FileSystem {
 public:
  enum class Create { kNew, kTruncate };
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<WritableFile>> create(const std::string& path, Create mode) = 0;
  virtual Result<std::unique_ptr<ReadableFile>> open(const std::string& path) = 0;
  /// Replaces `to` if it exists. Atomic.
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  /// Removes a folder with all in it, or a file; fine if there is none.
  virtual Result<void> removeAll(const std::string& path) = 0;
  virtual Result<void> createDirectories(const std::string& path) = 0;
  /// The directory entry changes so far are durable.
  virtual Result<void> syncDirectory(const std::string& path) = 0;
  /// Names (not paths) in a folder, sorted.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;
  virtual bool isDirectory(const std::string& path) = 0;

  /// The whole file.
  Result<std::vector<std::byte>> readAll(const std::string& path);
};

}  // namespace weir
