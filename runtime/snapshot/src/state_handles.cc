#include "weir/snapshot/state_handles.h"

namespace weir {

int64_t stateSize(const StreamHandle& handle) {
  if (const auto* bytes = std::get_if<InlineHandle>(&handle)) return static_cast<int64_t>(bytes->bytes->size());
  if (const auto* file = std::get_if<FileHandle>(&handle)) return file->size;
  if (const auto* file = std::get_if<RelativeFileHandle>(&handle)) return file->size;
  return 0;
}

namespace {

int64_t keyedSize(const KeyedHandle& handle) {
  if (const auto* groups = std::get_if<KeyGroupsHandle>(&handle)) return stateSize(groups->stream);
  const auto& rocks = std::get<RocksDbHandle>(handle);
  int64_t size = stateSize(rocks.meta);
  for (const auto* files : {&rocks.sharedFiles, &rocks.privateFiles})
    for (const auto& [name, stream] : *files) size += stateSize(stream);
  return size;
}

}  // namespace

bool OperatorSubtaskState::empty() const {
  return managedOperator.empty() && rawOperator.empty() && managedKeyed.empty() && rawKeyed.empty() && inputChannels.empty() &&
         outputChannels.empty();
}

int64_t OperatorSubtaskState::stateSize() const {
  int64_t size = 0;
  for (const auto* handles : {&managedOperator, &rawOperator})
    for (const auto& handle : *handles) size += weir::stateSize(handle.stream);
  for (const auto* handles : {&managedKeyed, &rawKeyed})
    for (const auto& handle : *handles) size += keyedSize(handle);
  for (const auto* handles : {&inputChannels, &outputChannels})
    for (const auto& handle : *handles) size += handle.size;
  return size;
}

int64_t TaskStateSnapshot::stateSize() const {
  int64_t size = 0;
  for (const auto& [id, state] : operators) size += state.stateSize();
  return size;
}

}  // namespace weir
