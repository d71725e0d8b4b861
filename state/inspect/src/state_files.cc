#include "state_files.h"

#include <fmt/format.h>

#include "weir/checkpoint/checkpoint_files.h"

namespace weir {

namespace {

std::string pathOf(const StreamHandle& handle) {
  if (const auto* file = std::get_if<FileHandle>(&handle)) return file->path;
  if (const auto* relative = std::get_if<RelativeFileHandle>(&handle)) return relative->path;
  return {};
}

std::string parentOf(const std::string& path) { return path.substr(0, std::max<size_t>(path.rfind('/') + 1, 1) - 1); }

}  // namespace

void StateFiles::add(const StreamHandle& handle) {
  const std::string path = pathOf(handle);
  if (path.empty() || found_.contains(path)) return;
  order_.push_back(path);
  found_.emplace(path, find(handle));
}

std::vector<InspectedFile> StateFiles::list() const {
  std::vector<InspectedFile> all;
  for (const std::string& path : order_) all.push_back(found_.at(path));
  return all;
}

InspectedFile StateFiles::find(const StreamHandle& handle) {
  InspectedFile file{.path = pathOf(handle)};
  std::vector<std::string> places;
  if (const auto* absolute = std::get_if<FileHandle>(&handle)) {
    file.size = absolute->size;
    if (const auto local = localPath(file.path)) places.push_back(*local);
    const size_t slash = file.path.rfind('/');
    const std::string name = slash == std::string::npos ? file.path : file.path.substr(slash + 1);
    file.isShared = file.path.ends_with("/shared/" + name);
    // Copied with its job's folder, or into one folder.
    places.push_back(
        fmt::format("{}/{}/{}", parentOf(folder_).empty() ? ".." : parentOf(folder_), file.isShared ? "shared" : "taskowned", name));
    places.push_back(fmt::format("{}/{}", folder_, name));
  } else {
    file.size = std::get<RelativeFileHandle>(handle).size;
    places.push_back(file.path);
  }
  for (const std::string& place : places) {
    if (!files_.exists(place) || files_.isDirectory(place)) continue;
    auto opened = files_.open(place);
    if (opened.has_error()) continue;
    const auto size = (*opened)->size();
    if (size.has_error()) continue;
    file.sizeOnDisk = static_cast<int64_t>(*size);
    file.foundAs = place;
    break;
  }
  return file;
}

Result<std::vector<std::byte>> StateFiles::read(const StreamHandle& handle, int64_t most) {
  if (const auto* here = std::get_if<InlineHandle>(&handle)) return *here->bytes;
  add(handle);
  const auto entry = found_.find(pathOf(handle));
  if (entry == found_.end()) return std::vector<std::byte>();
  const InspectedFile& file = entry->second;
  if (!file.sizeOnDisk) return Error{ErrorCode::kNotFound, fmt::format("{} is missing", file.path)};
  if (!file.isRight())
    return Error{ErrorCode::kCorrupt, fmt::format("{} has {} bytes instead of {}", file.foundAs, *file.sizeOnDisk, file.size)};
  if (file.size > most)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} has {} bytes, and only files up to {} are decoded", file.foundAs, file.size, most)};
  return files_.readAll(file.foundAs);
}

}  // namespace weir
