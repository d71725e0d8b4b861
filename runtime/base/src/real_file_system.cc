#include "weir/base/real_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace weir {
namespace {

/// Repeats a system call that a signal interrupted.
template <class F>
auto retried(const F& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class RealWritableFile final : public WritableFile {
 public:
  RealWritableFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  RealWritableFile(const RealWritableFile&) = delete;
  RealWritableFile& operator=(const RealWritableFile&) = delete;
  ~RealWritableFile() override {
    if (fd_ >= 0) ::close(fd_);
  }
  Result<void> append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = retried([&] { return ::write(fd_, bytes.data(), bytes.size()); });
      if (n < 0) return fileError("write to", path_, errno);
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return {};
  }
  Result<void> sync() override {
    if (retried([&] { return ::fsync(fd_); }) < 0) return fileError("sync", path_, errno);
    return {};
  }
  Result<void> close() override {
    // Not repeated after EINTR: Linux has released the descriptor then, and another thread may own the number already.
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) < 0 && errno != EINTR) return fileError("close", path_, errno);
    return {};
  }

 private:
  int fd_;
  std::string path_;
};

class RealReadableFile final : public ReadableFile {
 public:
  RealReadableFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  RealReadableFile(const RealReadableFile&) = delete;
  RealReadableFile& operator=(const RealReadableFile&) = delete;
  ~RealReadableFile() override { ::close(fd_); }
  Result<uint64_t> size() override {
    struct stat status {};
    if (::fstat(fd_, &status) < 0) return fileError("read the size of", path_, errno);
    return static_cast<uint64_t>(status.st_size);
  }
  Result<size_t> readAt(uint64_t offset, std::span<std::byte> into) override {
    size_t total = 0;
    while (total < into.size()) {
      const ssize_t n = retried([&] { return ::pread(fd_, into.data() + total, into.size() - total, static_cast<off_t>(offset + total)); });
      if (n < 0) return fileError("read", path_, errno);
      if (n == 0) break;
      total += static_cast<size_t>(n);
    }
    return total;
  }

 private:
  int fd_;
  std::string path_;
};

ErrorCode codeOf(int errorNumber) {
  switch (errorNumber) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
      return ErrorCode::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::kNoSpace;
    case EINVAL:
    case ENAMETOOLONG:
      return ErrorCode::kInvalidArgument;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

Error fileError(const std::string& verb, const std::string& path, int errorNumber) {
  return {codeOf(errorNumber), "cannot " + verb + " " + path + ": " + std::generic_category().message(errorNumber)};
}

Result<std::unique_ptr<WritableFile>> RealFileSystem::create(const std::string& path, Create mode) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (mode == Create::kNew ? O_EXCL : O_TRUNC);
  const int fd = retried([&] { return ::open(path.c_str(), flags, 0644); });
  if (fd < 0) return fileError("create", path, errno);
  return std::unique_ptr<WritableFile>(std::make_unique<RealWritableFile>(fd, path));
}

Result<std::unique_ptr<ReadableFile>> RealFileSystem::open(const std::string& path) {
  // Without O_NONBLOCK the open of a pipe waits for somebody who writes into it.
  const int fd = retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (fd < 0) return fileError("open", path, errno);
  auto file = std::make_unique<RealReadableFile>(fd, path);
  struct stat status {};
  if (::fstat(fd, &status) < 0) return fileError("open", path, errno);
  if (S_ISDIR(status.st_mode)) return fileError("open", path, EISDIR);
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::kInvalidArgument, "cannot open " + path + ": it is no regular file, and would not be read from any position"};
  return std::unique_ptr<ReadableFile>(std::move(file));
}

Result<void> RealFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) < 0) return fileError("rename " + from + " to", to, errno);
  return {};
}

Result<void> RealFileSystem::remove(const std::string& path) {
  if (::remove(path.c_str()) < 0) return fileError("remove", path, errno);
  return {};
}

Result<void> RealFileSystem::removeAll(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return fileError("remove", path, error.value());
  return {};
}

Result<void> RealFileSystem::createDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fileError("create the folder", path, error.value());
  return {};
}

Result<void> RealFileSystem::syncDirectory(const std::string& path) {
  const int fd = retried([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return fileError("open the folder", path, errno);
  const int failure = retried([&] { return ::fsync(fd); }) < 0 ? errno : 0;
  ::close(fd);
  if (failure != 0) return fileError("sync the folder", path, failure);
  return {};
}

Result<std::vector<std::string>> RealFileSystem::list(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error) return fileError("list", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

bool RealFileSystem::exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool RealFileSystem::isDirectory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace weir
