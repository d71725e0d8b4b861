#include "weir/operators/file_sink.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace weir {
namespace {

[[noreturn]] void throwSinkError(const Error& error) {
  std::string message = "FileSink " + error.message;
  if (error.code == ErrorCode::kNoSpace) message += "; free space there, or write to another directory";
  throw Throwable("java.io.IOException", message);
}

void orThrow(const Result<void>& result) {
  if (result.has_error()) throwSinkError(result.error());
}

}  // namespace

Result<void> validateSinkDirectory(FileSystem& files, const std::string& directory) {
  if (directory.empty()) return Error{ErrorCode::kInvalidArgument, "a FileSink has no directory: name the one that its files go to"};
  std::error_code error;
  if (const auto whole = std::filesystem::absolute(directory, error).lexically_normal(); !error && !whole.has_relative_path())
    return Error{ErrorCode::kInvalidArgument, "'" + directory + "' is the root of all folders: name a folder for the files of the sink"};
  WEIR_TRY(files.createDirectories(directory));
  const std::string probe = directory + "/.weir-probe";
  WEIR_ASSIGN(auto file, files.create(probe, FileSystem::Create::kTruncate));
  WEIR_TRY(file->close());
  return files.remove(probe);
}

PartFileWriter::PartFileWriter(FileSystem& files, ExecutionContext& context, const FileSinkOptions& options, std::string_view extension,
                               int32_t subtask, std::string firstLine)
    : files_(files, context),
      context_(context),
      options_(options),
      namePrefix_("part-" + std::to_string(subtask) + "-"),
      extension_(extension),
      firstLine_(std::move(firstLine)) {}

void PartFileWriter::start() {
  orThrow(files_.createDirectories(options_.directory));
  const auto names = files_.list(options_.directory);
  if (names.has_error()) throwSinkError(names.error());
  for (std::string_view name : *names) {
    if (name.starts_with('.')) name.remove_prefix(1);
    if (!name.starts_with(namePrefix_)) continue;
    name.remove_prefix(namePrefix_.size());
    int64_t number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc()) lastNumber_ = std::max(lastNumber_, number);
  }
}

std::string PartFileWriter::targetOf(int64_t number) const {
  return options_.directory + "/" + namePrefix_ + std::to_string(number) + extension_;
}

PartFile PartFileWriter::begin() {
  PartFile part;
  do {  // may have been renamed while the directory was listed
    part.target = targetOf(++lastNumber_);
  } while (files_.exists(part.target));
  part.inProgress = options_.directory + "/." + namePrefix_ + std::to_string(lastNumber_) + ".inprogress." +
                    randomTransactionName(context_.random());
  return part;
}

void PartFileWriter::write(PartFile& part) {
  if (buffer_.empty()) return;
  if (!file_) {
    auto created = files_.create(part.inProgress, FileSystem::Create::kNew);
    if (created.has_error()) throwSinkError(created.error());
    file_ = std::move(*created);
    buffer_.insert(0, firstLine_);
  }
  orThrow(file_->append(std::as_bytes(std::span(buffer_))));
  part.bytes += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
}

void PartFileWriter::preCommit(PartFile& part) {
  write(part);
  if (!file_) return;
  if (options_.sync) orThrow(file_->sync());
  orThrow(file_->close());
  file_.reset();
  if (options_.sync) orThrow(files_.syncDirectory(options_.directory));
}

void PartFileWriter::commit(const PartFile& part) {
  if (part.bytes == 0) return;
  if (!files_.exists(part.inProgress)) {
    if (files_.exists(part.target)) return;  // the attempt before came this far
    throwSinkError({ErrorCode::kNotFound, "cannot commit " + part.target + ": neither it nor " + part.inProgress + " exists, so " +
                                              std::to_string(part.bytes) + " bytes are lost; were files of the directory deleted?"});
  }
  if (files_.exists(part.target))
    throwSinkError({ErrorCode::kAlreadyExists, "cannot commit " + part.inProgress + ": somebody else wrote " + part.target +
                                                   "; give each job a directory of its own"});
  orThrow(files_.rename(part.inProgress, part.target));
  if (options_.sync) orThrow(files_.syncDirectory(options_.directory));
}

void PartFileWriter::recoverAndCommit(const PartFile& part) {
  if (part.bytes > 0 && files_.exists(part.inProgress)) {
    auto file = files_.open(part.inProgress);
    if (file.has_error()) throwSinkError(file.error());
    const auto size = (*file)->size();
    if (size.has_error()) throwSinkError(size.error());
    if (*size != static_cast<uint64_t>(part.bytes))
      throwSinkError({ErrorCode::kCorrupt, "cannot commit " + part.inProgress + ": it has " + std::to_string(*size) + " of " +
                                               std::to_string(part.bytes) + " bytes; if the machine has crashed, set sync"});
  }
  commit(part);
}

void PartFileWriter::abort(const PartFile& part) {
  file_.reset();
  buffer_.clear();
  if (files_.exists(part.inProgress)) orThrow(files_.remove(part.inProgress));
}

}  // namespace weir
