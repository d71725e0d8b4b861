#pragma once

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "support/golden.h"

namespace weir::golden {

/// The folders under tests/golden/checkpoints that hold a `_metadata`, relative to tests/golden, sorted.
inline std::vector<std::string> checkpointFolders() {
  namespace fs = std::filesystem;
  std::vector<std::string> folders;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(folder()) / "checkpoints")) {
    if (entry.path().filename() == "_metadata") folders.push_back(fs::relative(entry.path().parent_path(), folder()).string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

inline std::vector<std::byte> readBytes(const std::string& file) {
  const std::string text = readText(file);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string pathOf(const std::string& file) { return folder() + "/" + file; }

/// The only folder of `checkpoints/<scenario>` whose path ends in `end`.
inline std::string checkpointFolder(const std::string& scenario, const std::string& end) {
  for (const auto& folder : checkpointFolders())
    if (folder.starts_with("checkpoints/" + scenario + "/") && folder.ends_with(end)) return folder;
  ADD_FAILURE() << "no golden checkpoint " << scenario << " " << end;
  return {};
}

}  // namespace weir::golden
