#pragma once

#include <map>
#include <utility>

#include "weir/base/file_system.h"
#include "weir/base/mutex.h"
#include "weir/base/random.h"

namespace weir {

/// Files in memory with the durability rules of a POSIX disk: what was appended is safe after WritableFile::sync, what changed in a folder
/// (a new file, a new folder, a rename, a removal) is safe after syncDirectory of that folder; crash() takes back the rest.
///
/// Threads: any; one lock, never held while anything waits. Deterministic: a crash draws only from the given Random.
/// Differs from a disk: a rename between two folders is two changes, one in each; Create::kTruncate makes a new file, so that a crash
/// finds the old content or the new one.
class MemoryFileSystem final : public FileSystem {
 public:
  MemoryFileSystem();
  ~MemoryFileSystem() override;

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

  /// The machine loses power and comes back: everything not synced is gone. Files that are open fail from now on.
  void crash();
  /// The same, but part of what was not synced may have reached the disk: of each file a random part of its unsynced tail, of each folder
  /// a random number of its unsynced changes, oldest first.
  void crash(Random& random);

  /// Bytes in all files that can be reached.
  uint64_t totalBytes();

 private:
  struct Node;
  struct Place;
  class Writer;
  class Reader;
  using NodePtr = std::shared_ptr<Node>;

  /// These need the lock.
  NodePtr find(const std::string& path);
  Result<Place> placeOf(const std::string& path, const char* verb);
  void crash(Node& node, Random* random);

  Mutex mutex_;
  NodePtr root_;
  uint64_t crashes_ = 0;  ///< open files remember it
};

}  // namespace weir
