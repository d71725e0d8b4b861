#include "weir/checkpoint/checkpoint_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "weir/checkpoint/uuid.h"

namespace weir {

Result<std::string> localPath(std::string_view text) {
  const std::string_view all = text;
  const size_t colon = text.find(':');
  const size_t slash = text.find('/');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon < slash)) {
    if (text.substr(0, colon) != "file") {
      return Error{ErrorCode::kUnsupported, fmt::format("{} is not on a local file system; use an absolute path or a file: URI", all)};
    }
    text.remove_prefix(colon + 1);
    if (text.starts_with("//")) text.remove_prefix(2);
  }
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  if (text.empty()) return Error{ErrorCode::kInvalidArgument, fmt::format("\"{}\" names no file", all)};
  return std::string(text);
}

Result<void> writeMetadataFile(FileSystem& files, const std::string& folder, const CheckpointMetadata& metadata, bool sync,
                               Random& random) {
  WEIR_ASSIGN(const auto bytes, writeMetadata(metadata));
  const std::string path = fmt::format("{}/{}", folder, kMetadataFileName);
  if (files.exists(path)) return Error{ErrorCode::kAlreadyExists, fmt::format("{} exists already and is not overwritten", path)};
  const std::string temporary = fmt::format("{}/.{}.inprogress.{}", folder, kMetadataFileName, randomUuid(random));
  auto written = [&]() -> Result<void> {
    WEIR_ASSIGN(auto file, files.create(temporary, FileSystem::Create::kNew));
    WEIR_TRY(file->append(bytes));
    if (sync) WEIR_TRY(file->sync());
    WEIR_TRY(file->close());
    WEIR_TRY(files.rename(temporary, path));
    if (sync) WEIR_TRY(files.syncDirectory(folder));
    return {};
  }();
  // The rename may have happened already: then both are gone, since a checkpoint whose end failed must not be found later.
  if (written.has_error()) {
    (void)files.removeAll(temporary);
    (void)files.removeAll(path);
  }
  return written;
}

namespace {

/// The length of a file as it is, against the one in its handle.
Result<void> checkFile(FileSystem& files, const StreamHandle& handle) {
  std::string path;
  int64_t expected = 0;
  if (const auto* file = std::get_if<FileHandle>(&handle)) {
    WEIR_ASSIGN(path, localPath(file->path));
    expected = file->size;
  } else if (const auto* relative = std::get_if<RelativeFileHandle>(&handle)) {
    path = relative->path;
    expected = relative->size;
  } else {
    return {};
  }
  if (!files.exists(path)) return Error{ErrorCode::kCorrupt, fmt::format("the state file {} is missing", path)};
  WEIR_ASSIGN(auto file, files.open(path));
  WEIR_ASSIGN(const uint64_t size, file->size());
  if (size == static_cast<uint64_t>(expected)) return {};
  return Error{ErrorCode::kCorrupt, fmt::format("the state file {} has {} bytes instead of {}", path, size, expected)};
}

Result<void> checkFiles(FileSystem& files, const std::vector<OperatorState>& operators) {
  Result<void> first;
  forEachStream(operators, [&](const StreamHandle& handle) {
    if (first.has_error()) return;
    first = checkFile(files, handle);
  });
  return first;
}

/// "chk-12" to 12, else nothing.
std::optional<int64_t> checkpointNumber(std::string_view name) {
  if (!name.starts_with("chk-")) return std::nullopt;
  name.remove_prefix(4);
  int64_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc{} || end != name.data() + name.size() || id < 0) return std::nullopt;
  return id;
}

}  // namespace

Result<LoadedCheckpoint> readCheckpoint(FileSystem& files, std::string_view pathOrUri) {
  WEIR_ASSIGN(std::string path, localPath(pathOrUri));
  if (!files.exists(path)) return Error{ErrorCode::kNotFound, fmt::format("there is no checkpoint or savepoint at {}", path)};
  if (files.isDirectory(path)) {
    const std::string inside = fmt::format("{}/{}", path, kMetadataFileName);
    if (!files.exists(inside)) {
      const auto others = completedCheckpoints(files, path);
      const std::string advice = others.has_value() && !others->empty() ? fmt::format("; did you mean {}?", others->front())
                                                                        : "; give the folder of a completed checkpoint or savepoint";
      return Error{ErrorCode::kNotFound, fmt::format("the folder {} has no file {}{}", path, kMetadataFileName, advice)};
    }
    path = inside;
  }
  const size_t slash = path.rfind('/');
  LoadedCheckpoint loaded;
  loaded.folder = slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  WEIR_ASSIGN(const auto bytes, files.readAll(path));
  WEIR_ASSIGN(loaded.metadata, readMetadata(bytes, loaded.folder, path));
  return loaded;
}

Result<LoadedCheckpoint> loadCheckpoint(FileSystem& files, std::string_view pathOrUri, const CheckpointReview& review) {
  WEIR_ASSIGN(auto loaded, readCheckpoint(files, pathOrUri));
  auto checked = review ? review(loaded.metadata) : Result<void>();
  if (checked.has_value()) checked = checkFiles(files, loaded.metadata.operators);
  if (checked.has_error()) {
    return checked.error().in(fmt::format("cannot restore from {}", loaded.folder));
  }
  return loaded;
}

Result<std::vector<std::string>> completedCheckpoints(FileSystem& files, const std::string& jobFolder) {
  WEIR_ASSIGN(const auto names, files.list(jobFolder));
  std::vector<std::pair<int64_t, std::string>> found;
  for (const auto& name : names) {
    const std::string folder = jobFolder + "/" + name;
    if (auto id = checkpointNumber(name); id && files.exists(fmt::format("{}/{}", folder, kMetadataFileName)))
      found.emplace_back(*id, folder);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> folders;
  for (auto& [id, folder] : found) folders.push_back(std::move(folder));
  return folders;
}

Result<FallBackCheckpoint> loadNewestCheckpoint(FileSystem& files, std::string_view jobFolder, const CheckpointReview& review) {
  WEIR_ASSIGN(const std::string folder, localPath(jobFolder));
  WEIR_ASSIGN(const auto candidates, completedCheckpoints(files, folder));
  std::vector<Error> skipped;
  for (const auto& candidate : candidates) {
    auto loaded = loadCheckpoint(files, candidate, review);
    if (loaded.has_value()) return FallBackCheckpoint{std::move(*loaded), std::move(skipped)};
    skipped.push_back(loaded.error());
  }
  if (skipped.empty()) return Error{ErrorCode::kNotFound, fmt::format("there is no completed checkpoint in {}", folder)};
  return Error{skipped.front().code, fmt::format("none of the {} checkpoints in {} can be restored; the newest: {}", skipped.size(), folder,
                                                 skipped.front().message)};
}

std::string describe(const StreamHandle& handle) {
  if (const auto* bytes = std::get_if<InlineHandle>(&handle)) return "the state " + bytes->name + " inside _metadata";
  if (const auto* file = std::get_if<FileHandle>(&handle)) return "the state file " + file->path;
  if (const auto* file = std::get_if<RelativeFileHandle>(&handle)) return "the state file " + file->path;
  return "a state handle without state";
}

void forEachStream(const OperatorSubtaskState& state, const std::function<void(const StreamHandle&)>& visit) {
  for (const auto* handles : {&state.managedOperator, &state.rawOperator})
    for (const auto& handle : *handles) visit(handle.stream);
  for (const auto* handles : {&state.managedKeyed, &state.rawKeyed}) {
    for (const auto& handle : *handles) {
      if (const auto* groups = std::get_if<KeyGroupsHandle>(&handle)) {
        visit(groups->stream);
        continue;
      }
      const auto& rocks = std::get<RocksDbHandle>(handle);
      visit(rocks.meta);
      for (const auto* files : {&rocks.sharedFiles, &rocks.privateFiles})
        for (const auto& [name, stream] : *files) visit(stream);
    }
  }
  for (const auto* handles : {&state.inputChannels, &state.outputChannels})
    for (const auto& handle : *handles) visit(handle.stream);
}

void forEachStream(const std::vector<OperatorState>& operators, const std::function<void(const StreamHandle&)>& visit) {
  for (const auto& op : operators) {
    visit(op.coordinatorState);
    for (const auto& [index, state] : op.subtasks) forEachStream(state, visit);
  }
}

}  // namespace weir
