#include "weir/base/faulty_file_system.h"

#include <algorithm>

namespace weir {
namespace {

using Effect = FileFault::Effect;

/// Glob over whole paths: `*` any run, `?` one character.
bool matches(std::string_view pattern, std::string_view path) {
  size_t p = 0, at = 0, star = std::string_view::npos, starAt = 0;
  while (at < path.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == path[at]) && pattern[p] != '*') {
      ++p;
      ++at;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      starAt = at;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool isWriteFault(Effect effect) {
  return effect == Effect::kTornWrite || effect == Effect::kSilentTornWrite || effect == Effect::kFullDisk;
}

bool concerns(const FileFault& fault, FileOperation operation, const std::string& path) {
  if (isWriteFault(fault.effect) && operation != FileOperation::kAppend) return false;
  const bool named = std::find(fault.operations.begin(), fault.operations.end(), operation) != fault.operations.end();
  return (isWriteFault(fault.effect) || fault.operations.empty() || named) && matches(fault.path, path);
}

Error injected(ErrorCode code, FileOperation operation, const std::string& path, const char* why) {
  return {code, std::string("cannot ") + fileOperationName(operation) + " " + path + ": " + why};
}

}  // namespace

const char* fileOperationName(FileOperation operation) {
  static constexpr std::array<const char*, kFileOperations> kNames{
      "create",          "open", "append to", "sync", "close", "read", "rename", "remove", "create the folder",
      "sync the folder", "list", "look at"};
  return kNames[static_cast<size_t>(operation)];
}

int FileFaults::add(FileFault fault) {
  Lock lock(mutex_);
  rules_.push_back({.id = nextRule_, .fault = std::move(fault), .bytesOf = {}});
  return nextRule_++;
}

void FileFaults::remove(int rule) {
  Lock lock(mutex_);
  std::erase_if(rules_, [&](const Rule& r) { return r.id == rule; });
}

void FileFaults::clear() {
  Lock lock(mutex_);
  rules_.clear();
}

uint64_t FileFaults::fired(int rule) const {
  Lock lock(mutex_);
  const auto found = std::find_if(rules_.begin(), rules_.end(), [&](const Rule& r) { return r.id == rule; });
  return found == rules_.end() ? 0 : found->fired;
}

FileFaults::Counter FileFaults::counter(FileOperation operation) const {
  Lock lock(mutex_);
  return counters_[static_cast<size_t>(operation)];
}

void FileFaults::apply(Rule& rule, FileOperation operation, const std::string& path, uint64_t bytes, Verdict& verdict) {
  const FileFault& fault = rule.fault;
  uint64_t& passed = fault.effect == Effect::kFullDisk ? rule.totalBytes : rule.bytesOf[path];
  if (operation == FileOperation::kCreate && fault.effect != Effect::kFullDisk) passed = 0;
  const uint64_t left = fault.afterBytes > passed ? fault.afterBytes - passed : 0;
  const bool due = rule.calls++ >= fault.afterCalls && (bytes > 0 ? bytes > left : left == 0) && rule.fired < fault.times;
  if (!due || verdict.error || verdict.torn) {
    passed += bytes;
    return;
  }
  ++rule.fired;
  switch (fault.effect) {
    case Effect::kDelay:
      passed += bytes;
      verdict.latency += fault.latency;
      if (fault.bytesPerSecond > 0) {
        verdict.latency += Nanos(static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(fault.bytesPerSecond)));
      }
      return;
    case Effect::kError:
      verdict.error = injected(fault.code, operation, path, "an injected fault");
      verdict.allowedBytes = 0;
      return;
    case Effect::kFullDisk:
      verdict.error = injected(ErrorCode::kNoSpace, operation, path, "No space left on device");
      break;
    case Effect::kTornWrite:
      verdict.error = injected(fault.code, operation, path, "an injected torn write");
      verdict.torn = true;
      break;
    case Effect::kSilentTornWrite:
      verdict.torn = verdict.silent = true;
      break;
  }
  verdict.allowedBytes = left;
  passed += left;
}

FileFaults::Verdict FileFaults::judge(FileOperation operation, const std::string& path, uint64_t bytes) {
  Lock lock(mutex_);
  Verdict verdict{.error = {}, .allowedBytes = bytes};
  for (Rule& rule : rules_) {
    if (concerns(rule.fault, operation, path)) apply(rule, operation, path, bytes, verdict);
    // Bytes per path count from the creation of the file, also for rules that concern its appends alone.
    else if (operation == FileOperation::kCreate)
      rule.bytesOf.erase(path);
  }
  counters_[static_cast<size_t>(operation)].delayed += verdict.latency;
  return verdict;
}

void FileFaults::count(FileOperation operation, uint64_t bytes, bool failed) {
  Lock lock(mutex_);
  Counter& counter = counters_[static_cast<size_t>(operation)];
  ++counter.calls;
  counter.bytes += bytes;
  counter.failures += failed ? 1 : 0;
}

FileHook waitIn(std::function<ExecutionContext*()> current) {
  return [current = std::move(current)](FileOperation operation, Nanos latency) {
    ExecutionContext* context = current();
    if (!context) return;
    context->interleave(fileOperationName(operation));
    if (latency <= Nanos(0)) return;
    try {
      context->wait(WaitReason::kFile, {}, Deadline::work(context->clock().monotonic() + latency));
    } catch (const TaskCancelled&) {
      // File operations promise a Result, and may run in a destructor.
    }
  };
}

FaultyFileSystem::FaultyFileSystem(FileSystem& inner, FileFaults& faults, FileHook hook)
    : inner_(inner), faults_(faults), hook_(std::move(hook)) {}

FileFaults::Verdict FaultyFileSystem::before(FileOperation operation, const std::string& path, uint64_t bytes) const {
  FileFaults::Verdict verdict = faults_.judge(operation, path, bytes);
  if (hook_) hook_(operation, verdict.latency);
  return verdict;
}

template <class F>
auto FaultyFileSystem::guarded(FileOperation operation, const std::string& path, const F& call) const -> decltype(call()) {
  auto verdict = before(operation, path);
  decltype(call()) result = verdict.error ? decltype(call())(std::move(*verdict.error)) : call();
  faults_.count(operation, 0, result.has_error());
  return result;
}

class FaultyFileSystem::Writer final : public WritableFile {
 public:
  Writer(const FaultyFileSystem& owner, std::unique_ptr<WritableFile> inner, std::string path)
      : owner_(owner), inner_(std::move(inner)), path_(std::move(path)) {}
  Result<void> append(std::span<const std::byte> bytes) override {
    if (state_ != State::kWhole) return afterTear(FileOperation::kAppend);
    auto verdict = owner_.before(FileOperation::kAppend, path_, bytes.size());
    const size_t allowed = std::min<uint64_t>(verdict.allowedBytes, bytes.size());
    Result<void> result = allowed > 0 || bytes.empty() ? inner_->append(bytes.first(allowed)) : Result<void>();
    const uint64_t written = result.has_error() ? 0 : allowed;
    if (!result.has_error() && verdict.error) result = std::move(*verdict.error);
    if (verdict.torn) state_ = verdict.silent ? State::kSilentlyTorn : State::kTorn;
    owner_.faults_.count(FileOperation::kAppend, written, result.has_error());
    return result;
  }
  Result<void> sync() override {
    if (state_ == State::kTorn) return afterTear(FileOperation::kSync);
    return owner_.guarded(FileOperation::kSync, path_, [&] { return inner_->sync(); });
  }
  Result<void> close() override {
    if (state_ == State::kTorn) return afterTear(FileOperation::kClose);
    return owner_.guarded(FileOperation::kClose, path_, [&] { return inner_->close(); });
  }

 private:
  enum class State { kWhole, kTorn, kSilentlyTorn };
  Result<void> afterTear(FileOperation operation) {
    const bool failed = state_ == State::kTorn;
    owner_.faults_.count(operation, 0, failed);
    if (failed) return injected(ErrorCode::kIo, operation, path_, "an earlier write to it was torn");
    return {};
  }
  const FaultyFileSystem& owner_;
  const std::unique_ptr<WritableFile> inner_;
  const std::string path_;
  State state_ = State::kWhole;
};

class FaultyFileSystem::Reader final : public ReadableFile {
 public:
  Reader(const FaultyFileSystem& owner, std::unique_ptr<ReadableFile> inner, std::string path)
      : owner_(owner), inner_(std::move(inner)), path_(std::move(path)) {}
  Result<uint64_t> size() override {
    return owner_.guarded(FileOperation::kStat, path_, [&] { return inner_->size(); });
  }
  Result<size_t> readAt(uint64_t offset, std::span<std::byte> into) override {
    auto verdict = owner_.before(FileOperation::kRead, path_, into.size());
    Result<size_t> result = verdict.error ? Result<size_t>(std::move(*verdict.error)) : inner_->readAt(offset, into);
    owner_.faults_.count(FileOperation::kRead, result.has_error() ? 0 : *result, result.has_error());
    return result;
  }

 private:
  const FaultyFileSystem& owner_;
  const std::unique_ptr<ReadableFile> inner_;
  const std::string path_;
};

Result<std::unique_ptr<WritableFile>> FaultyFileSystem::create(const std::string& path, Create mode) {
  WEIR_ASSIGN(auto file, guarded(FileOperation::kCreate, path, [&] { return inner_.create(path, mode); }));
  return std::unique_ptr<WritableFile>(std::make_unique<Writer>(*this, std::move(file), path));
}

Result<std::unique_ptr<ReadableFile>> FaultyFileSystem::open(const std::string& path) {
  WEIR_ASSIGN(auto file, guarded(FileOperation::kOpen, path, [&] { return inner_.open(path); }));
  return std::unique_ptr<ReadableFile>(std::make_unique<Reader>(*this, std::move(file), path));
}

Result<void> FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  return guarded(FileOperation::kRename, to, [&] { return inner_.rename(from, to); });
}

Result<void> FaultyFileSystem::remove(const std::string& path) {
  return guarded(FileOperation::kRemove, path, [&] { return inner_.remove(path); });
}

Result<void> FaultyFileSystem::removeAll(const std::string& path) {
  return guarded(FileOperation::kRemove, path, [&] { return inner_.removeAll(path); });
}

Result<void> FaultyFileSystem::createDirectories(const std::string& path) {
  return guarded(FileOperation::kCreateDirectories, path, [&] { return inner_.createDirectories(path); });
}

Result<void> FaultyFileSystem::syncDirectory(const std::string& path) {
  return guarded(FileOperation::kSyncDirectory, path, [&] { return inner_.syncDirectory(path); });
}

Result<std::vector<std::string>> FaultyFileSystem::list(const std::string& path) {
  return guarded(FileOperation::kList, path, [&] { return inner_.list(path); });
}

bool FaultyFileSystem::exists(const std::string& path) {
  before(FileOperation::kStat, path);
  faults_.count(FileOperation::kStat, 0, false);
  return inner_.exists(path);
}

bool FaultyFileSystem::isDirectory(const std::string& path) {
  before(FileOperation::kStat, path);
  faults_.count(FileOperation::kStat, 0, false);
  return inner_.isDirectory(path);
}

}  // namespace weir
