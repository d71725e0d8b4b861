#pragma once

#include <map>
#include <string>
#include <vector>

#include "weir/inspect/inspection.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// The files of a checkpoint, as listed in its `_metadata`, and where they lie on this machine.
class StateFiles {
 public:
  /// `folder`: of the `_metadata`.
  StateFiles(FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  /// Lists a file once, however many handles name it. Inline state has none.
  void add(const StreamHandle& handle);
  std::vector<InspectedFile> list() const;

  /// All bytes behind a handle. An error where the file is missing, has another length, or more than `most`.
  Result<std::vector<std::byte>> read(const StreamHandle& handle, int64_t most);

 private:
  InspectedFile find(const StreamHandle& handle);

  FileSystem& files_;
  const std::string folder_;
  std::vector<std::string> order_;
  std::map<std::string, InspectedFile> found_;
};

}  // namespace weir
