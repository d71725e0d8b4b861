#include "weir/checkpoint/fs_checkpoint_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weir/base/check.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/checkpoint/uuid.h"

namespace weir {

/// Collects bytes until they are too many to be kept inside `_metadata`, then goes on in a file.
class FsCheckpointStorage::Output final : public CheckpointStateOutput {
 public:
  Output(FsCheckpointStorage& storage, Result<std::string> folder, bool relative)
      : storage_(storage), folder_(std::move(folder)), relative_(relative), name_(storage.uuid()) {}
  ~Output() override {
    if (!file_) return;
    file_.reset();
    (void)storage_.files_.remove(path());
  }

  Result<void> write(std::span<const std::byte> bytes) override {
    WEIR_CHECK(!finished_, "a state output is written after its end");
    position_ += static_cast<int64_t>(bytes.size());
    // Chunks of what fits the buffer go through it; larger ones straight to the file.
    if (buffer_.size() + bytes.size() <= std::max(storage_.options_.inlineThreshold, kWriteBuffer)) {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
      return {};
    }
    WEIR_TRY(flush());
    if (bytes.size() >= kWriteBuffer) return file_->append(bytes);
    buffer_.assign(bytes.begin(), bytes.end());
    return {};
  }
  int64_t position() const override { return position_; }

  Result<StreamHandle> finishPart() override {
    WEIR_CHECK(!finished_, "a state output ends before its part");
    if (folder_.has_error()) return folder_.error();
    if (fitsInline()) return StreamHandle{InlineHandle{"file:" + path(), std::make_shared<const std::vector<std::byte>>(buffer_)}};
    WEIR_TRY(writeOut());
    return fileHandle();
  }

  Result<StreamHandle> finish() override {
    WEIR_CHECK(!finished_, "a state output is finished twice");
    finished_ = true;
    if (position_ == 0) return StreamHandle{};
    if (folder_.has_error()) return folder_.error();
    if (fitsInline())
      return StreamHandle{InlineHandle{"file:" + path(), std::make_shared<const std::vector<std::byte>>(std::move(buffer_))}};
    WEIR_TRY(writeOut());
    WEIR_TRY(file_->close());
    file_.reset();
    return fileHandle();
  }

 private:
  static constexpr size_t kWriteBuffer = 64 * 1024;
  std::string path() const { return *folder_ + "/" + name_; }
  bool fitsInline() const { return !file_ && static_cast<size_t>(position_) <= storage_.options_.inlineThreshold; }
  StreamHandle fileHandle() const {
    if (relative_) return RelativeFileHandle{name_, position_, path()};
    return FileHandle{"file:" + path(), position_};
  }

  Result<void> writeOut() {
    WEIR_TRY(flush());
    if (storage_.options_.sync) WEIR_TRY(file_->sync());
    return {};
  }
  Result<void> flush() {
    if (!file_) {
      if (folder_.has_error()) return folder_.error();
      auto created = storage_.files_.create(path(), Create::kNew);
      if (created.has_error() && created.error().code == ErrorCode::kNotFound) {
        // The checkpoint expired and its folder went. The task does not know and answers late, as in Flink, whose files make their folders.
        WEIR_TRY(storage_.files_.createDirectories(*folder_));
        created = storage_.files_.create(path(), Create::kNew);
      }
      if (created.has_error()) return created.error();
      file_ = std::move(*created);
    }
    if (!buffer_.empty()) WEIR_TRY(file_->append(buffer_));
    buffer_.clear();
    return {};
  }
  using Create = FileSystem::Create;

  FsCheckpointStorage& storage_;
  const Result<std::string> folder_;
  const bool relative_;
  const std::string name_;
  std::vector<std::byte> buffer_;
  std::unique_ptr<WritableFile> file_;  ///< while it is being written
  int64_t position_ = 0;
  bool finished_ = false;
};

class FsCheckpointStorage::Factory final : public CheckpointStreamFactory {
 public:
  Factory(FsCheckpointStorage& storage, Result<std::string> folder) : storage_(storage), folder_(std::move(folder)) {}
  Result<std::unique_ptr<CheckpointStateOutput>> createOutput(CheckpointedStateScope scope) override {
    if (folder_.has_error()) return folder_.error();
    const bool exclusive = scope == CheckpointedStateScope::kExclusive;
    return std::unique_ptr<CheckpointStateOutput>(
        std::make_unique<Output>(storage_, exclusive ? *folder_ : storage_.jobFolder_ + "/shared", exclusive));
  }
  size_t inlineThreshold() const override { return storage_.options_.inlineThreshold; }

 private:
  FsCheckpointStorage& storage_;
  const Result<std::string> folder_;
};

namespace {

class InlineInput final : public CheckpointStateInput {
 public:
  explicit InlineInput(InlineHandle handle) : handle_(std::move(handle)) {}
  int64_t size() const override { return static_cast<int64_t>(handle_.bytes->size()); }
  Result<void> readAt(int64_t offset, std::span<std::byte> into) override {
    if (offset < 0 || offset > size() || into.size() > static_cast<size_t>(size() - offset)) {
      return Error{ErrorCode::kCorrupt, fmt::format("the state {} inside _metadata ends before byte {}", handle_.name,
                                                    static_cast<uint64_t>(offset) + into.size())};
    }
    std::copy_n(handle_.bytes->begin() + offset, into.size(), into.begin());
    return {};
  }

 private:
  InlineHandle handle_;
};

class FileInput final : public CheckpointStateInput {
 public:
  FileInput(std::unique_ptr<ReadableFile> file, std::string path, int64_t size)
      : file_(std::move(file)), path_(std::move(path)), size_(size) {}
  int64_t size() const override { return size_; }
  Result<void> readAt(int64_t offset, std::span<std::byte> into) override {
    if (offset < 0) return Error{ErrorCode::kCorrupt, fmt::format("the state file {} has no byte {}", path_, offset)};
    WEIR_ASSIGN(const size_t n, file_->readAt(static_cast<uint64_t>(offset), into));
    if (n == into.size()) return {};
    return Error{ErrorCode::kCorrupt, fmt::format("the state file {} ends at byte {}, {} more are needed", path_,
                                                  static_cast<uint64_t>(offset) + n, into.size() - n)};
  }

 private:
  std::unique_ptr<ReadableFile> file_;
  std::string path_;
  int64_t size_;
};

constexpr std::array<uint8_t, 4> kLocationMagic{0x05, 0x5f, 0x3f, 0x18};

}  // namespace

std::vector<uint8_t> encodeLocation(const std::string& path) {
  std::vector<uint8_t> out(kLocationMagic.size() + path.size());
  std::copy(path.begin(), path.end(), std::copy(kLocationMagic.begin(), kLocationMagic.end(), out.begin()));
  return out;
}

Result<std::string> decodeLocation(std::span<const uint8_t> location) {
  if (location.size() <= kLocationMagic.size() || !std::equal(kLocationMagic.begin(), kLocationMagic.end(), location.begin())) {
    return Error{ErrorCode::kCorrupt, "a barrier names a checkpoint location that is no path"};
  }
  location = location.subspan(kLocationMagic.size());
  return localPath({reinterpret_cast<const char*>(location.data()), location.size()});
}

Result<std::vector<std::byte>> readAll(CheckpointWorkerStorage& storage, const StreamHandle& handle) {
  WEIR_ASSIGN(const auto input, storage.open(handle));
  std::vector<std::byte> bytes(static_cast<size_t>(input->size()));
  WEIR_TRY(input->readAt(0, bytes));
  return bytes;
}

Result<std::unique_ptr<FsCheckpointStorage>> FsCheckpointStorage::create(FileSystem& files, const JobID& job,
                                                                         FsCheckpointStorageOptions options, Random random) {
  WEIR_ASSIGN(std::string directory, localPath(options.directory));
  return std::unique_ptr<FsCheckpointStorage>(new FsCheckpointStorage(files, std::move(directory), job, std::move(options), random));
}

FsCheckpointStorage::FsCheckpointStorage(FileSystem& files, std::string directory, const JobID& job, FsCheckpointStorageOptions options,
                                         Random random)
    : files_(files), options_(std::move(options)), directory_(std::move(directory)),
      jobFolder_(fmt::format("{}/{}", directory_, job.toString())), random_(random) {}

std::string FsCheckpointStorage::uuid() {
  Lock lock(mutex_);
  return randomUuid(random_);
}

FileSystem& FsCheckpointStorage::filesWith(const std::string& path) {
  return options_.elsewhere && !files_.exists(path) ? *options_.elsewhere : files_;
}

std::string FsCheckpointStorage::checkpointFolder(int64_t checkpointId) const { return fmt::format("{}/chk-{}", jobFolder_, checkpointId); }

std::shared_ptr<CheckpointStreamFactory> FsCheckpointStorage::resolveCheckpointLocation(int64_t checkpointId,
                                                                                        std::span<const uint8_t> location) {
  return std::make_shared<Factory>(*this,
                                   location.empty() ? Result<std::string>(checkpointFolder(checkpointId)) : decodeLocation(location));
}

void FsCheckpointStorage::discardAborted(int64_t checkpointId, std::span<const uint8_t> location, const TaskStateSnapshot& state) {
  for (const auto& [id, op] : state.operators) (void)discard(op);  // what cannot be removed now goes with the job's folder
  const auto folder = location.empty() ? Result<std::string>(checkpointFolder(checkpointId)) : decodeLocation(location);
  if (folder.has_error()) return;
  if (const auto left = files_.list(*folder); left.has_value() && left->empty()) (void)files_.removeAll(*folder);
}

Result<std::unique_ptr<CheckpointStateInput>> FsCheckpointStorage::open(const StreamHandle& handle) {
  if (const auto* bytes = std::get_if<InlineHandle>(&handle)) {
    return std::unique_ptr<CheckpointStateInput>(std::make_unique<InlineInput>(*bytes));
  }
  std::string path;
  if (const auto* file = std::get_if<FileHandle>(&handle)) {
    WEIR_ASSIGN(path, localPath(file->path));
  } else if (const auto* relative = std::get_if<RelativeFileHandle>(&handle)) {
    path = relative->path;
  } else {
    return Error{ErrorCode::kInvalidArgument, "a state handle without state cannot be opened"};
  }
  const int64_t expected = stateSize(handle);
  auto file = filesWith(path).open(path);
  if (file.has_error()) return file.error().in("a state file of the checkpoint cannot be read");
  WEIR_ASSIGN(const uint64_t size, (*file)->size());
  if (size != static_cast<uint64_t>(expected)) {
    return Error{ErrorCode::kCorrupt, fmt::format("the state file {} has {} bytes instead of {}", path, size, expected)};
  }
  return std::unique_ptr<CheckpointStateInput>(std::make_unique<FileInput>(std::move(*file), path, expected));
}

Result<void> FsCheckpointStorage::initializeBaseLocations() {
  auto prepared = [&]() -> Result<void> {
    for (const char* name : {"shared", "taskowned"}) WEIR_TRY(files_.createDirectories(jobFolder_ + "/" + name));
    // Folders that are there already say nothing about permission to write.
    const std::string probe = fmt::format("{}/.probe.{}", jobFolder_, uuid());
    WEIR_ASSIGN(auto file, files_.create(probe, FileSystem::Create::kNew));
    const auto closed = file->close();
    WEIR_TRY(files_.remove(probe));
    WEIR_TRY(closed);
    if (options_.sync) {
      WEIR_TRY(files_.syncDirectory(directory_));
      WEIR_TRY(files_.syncDirectory(jobFolder_));
    }
    return {};
  }();
  if (prepared.has_error()) return prepared.error().in(fmt::format("the checkpoint directory {} cannot be used", directory_));
  return {};
}

Result<void> FsCheckpointStorage::initializeCheckpoint(int64_t checkpointId) {
  WEIR_TRY(files_.createDirectories(checkpointFolder(checkpointId)));
  if (options_.sync) WEIR_TRY(files_.syncDirectory(jobFolder_));
  return {};
}

Result<std::string> FsCheckpointStorage::writeMetadata(int64_t checkpointId, const std::vector<OperatorState>& operators) {
  CheckpointMetadata metadata;
  metadata.checkpointId = checkpointId;
  metadata.operators = operators;
  metadata.properties = options_.properties.toJavaObject();
  Random names = [&] {
    Lock lock(mutex_);
    return Random(random_.next());
  }();
  std::string folder = checkpointFolder(checkpointId);
  WEIR_TRY(writeMetadataFile(files_, folder, metadata, options_.sync, names));
  return folder;
}

Result<void> FsCheckpointStorage::discardCheckpoint(int64_t checkpointId) { return files_.removeAll(checkpointFolder(checkpointId)); }

Result<void> FsCheckpointStorage::discardSavepoint(const std::string& path) { return filesWith(path).removeAll(path); }

Result<void> FsCheckpointStorage::discard(const OperatorSubtaskState& state) {
  Result<void> first;
  forEachStream(state, [&](const StreamHandle& handle) {
    const auto* relative = std::get_if<RelativeFileHandle>(&handle);
    if (!relative) return;
    if (auto removed = files_.removeAll(relative->path); removed.has_error() && !first.has_error()) first = removed;
  });
  return first;
}

}  // namespace weir
