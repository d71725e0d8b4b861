#pragma once

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "weir/base/clock.h"
#include "weir/base/executor.h"
#include "weir/base/file_system.h"
#include "weir/base/mutex.h"

namespace weir {

enum class FileOperation {
  kCreate,
  kOpen,
  kAppend,
  kSync,
  kClose,
  kRead,
  kRename,
  kRemove,
  kCreateDirectories,
  kSyncDirectory,
  kList,
  kStat
};
inline constexpr size_t kFileOperations = 12;
/// As error messages say it: "create", "append to", "sync the folder".
const char* fileOperationName(FileOperation operation);

/// One rule: what happens to which operations on which paths.
struct FileFault {
  enum class Effect {
    kDelay,            ///< the operation takes `latency`, and its bytes at `bytesPerSecond`
    kError,            ///< fails with `code` and does nothing
    kTornWrite,        ///< an append writes what is left of `afterBytes` and fails; the open file is unusable from then on
    kSilentTornWrite,  ///< the same, but the append and everything after it claim success
    kFullDisk,         ///< appends fail with kNoSpace once `afterBytes` bytes were written to all matching files together
  };
  Effect effect = Effect::kError;
  std::string path = "*";                   ///< `*` stands for any characters, `/` too, `?` for one
  std::vector<FileOperation> operations{};  ///< empty: all; torn writes and full disks always mean appends
  Nanos latency{0};
  uint64_t bytesPerSecond = 0;  ///< 0: no limit
  uint64_t afterBytes = 0;      ///< bytes that pass before the effect; counted per path from its creation, for a full disk in total
  uint64_t afterCalls = 0;      ///< matching operations that pass before the effect
  uint64_t times = std::numeric_limits<uint64_t>::max();  ///< the effect happens that often, then the rule is spent
  ErrorCode code = ErrorCode::kIo;
};

/// The rules in force and what happened under them. Any thread. One object may serve several FaultyFileSystems.
class FileFaults {
 public:
  struct Counter {
    uint64_t calls = 0;
    uint64_t bytes = 0;     ///< that came through: appended or read
    uint64_t failures = 0;  ///< of the rules and of the file system below
    Nanos delayed{0};
  };
  /// What the rules say about one operation.
  struct Verdict {
    Nanos latency{0};
    std::optional<Error> error;
    uint64_t allowedBytes = 0;  ///< of an append: what still reaches the disk
    bool torn = false;
    bool silent = false;
  };

  /// Later rules come after earlier ones; delays add up, the first failure wins. Returns a handle for remove and fired.
  int add(FileFault fault);
  void remove(int rule);
  /// All rules; counters stay.
  void clear();
  /// How often the effect of a rule happened; 0 where it was removed.
  uint64_t fired(int rule) const;
  Counter counter(FileOperation operation) const;

  /// For the file systems that apply the rules.
  Verdict judge(FileOperation operation, const std::string& path, uint64_t bytes);
  void count(FileOperation operation, uint64_t bytes, bool failed);

 private:
  struct Rule {
    int id;
    FileFault fault;
    uint64_t calls = 0;
    uint64_t fired = 0;
    uint64_t totalBytes = 0;
    std::map<std::string, uint64_t> bytesOf;
  };
  static void apply(Rule& rule, FileOperation operation, const std::string& path, uint64_t bytes, Verdict& verdict);

  mutable Mutex mutex_;
  int nextRule_ = 0;
  std::vector<Rule> rules_;
  std::array<Counter, kFileOperations> counters_;
};

/// Called before every operation, on the caller's actor and with no lock held, with the latency that the rules ask for (often zero).
/// The way to wait and, under simulation, to let others run in between.
using FileHook = std::function<void(FileOperation operation, Nanos latency)>;

/// The usual hook: interleaves and waits in the context that `current` returns, by default the one of the actor that calls; does neither
/// where that is null. Never throws: where the actor is cancelled the wait ends early, and its next one says so.
FileHook waitIn(std::function<ExecutionContext*()> current = &ExecutionContext::current);

/// Another file system with faults: slow, failing, torn or full. Stateless but for references; any thread.
class FaultyFileSystem final : public FileSystem {
 public:
  /// Requires: `inner` and `faults` outlive this and every file opened through it. Without a hook, latencies are only counted.
  FaultyFileSystem(FileSystem& inner, FileFaults& faults, FileHook hook = {});

  Result<std::unique_ptr<WritableFile>> create(const std::string& path, Create mode) override;
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> removeAll(const std::string& path) override;
  Result<void> createDirectories(const std::string& path) override;
  Result<void> syncDirectory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  /// Delays apply; these cannot fail, so errors do not.
  bool exists(const std::string& path) override;
  bool isDirectory(const std::string& path) override;

 private:
  class Writer;
  class Reader;
  FileFaults::Verdict before(FileOperation operation, const std::string& path, uint64_t bytes = 0) const;
  template <class F>
  auto guarded(FileOperation operation, const std::string& path, const F& call) const -> decltype(call());

  FileSystem& inner_;
  FileFaults& faults_;
  const FileHook hook_;
};

}  // namespace weir
