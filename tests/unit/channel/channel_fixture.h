#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/executor.h"
#include "weir/base/faulty_file_system.h"
#include "weir/base/memory_file_system.h"
#include "weir/buffer/buffer.h"
#include "weir/channel/channel_state_reader.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"
#include "weir/snapshot/channel_state_write_result.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {

inline Buffer dataBuffer(const std::string& text) {
  return Buffer::copyOf({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, DataType::DATA_BUFFER);
}
inline std::vector<Buffer> buffers(std::initializer_list<std::string> texts) {
  std::vector<Buffer> all;
  for (const auto& text : texts) all.push_back(dataBuffer(text));
  return all;
}

/// Storage in memory whose disk can be made slow or broken.
struct StorageFixture {
  explicit StorageFixture(size_t inlineThreshold = 0) : faulty(memory, faults, waitIn()) {
    storage = FsCheckpointStorage::create(faulty, JobID::of(1, 2), {"/checkpoints", inlineThreshold}, Random(3)).value();
  }
  std::string folder(int64_t id) const { return storage->checkpointFolder(id); }
  std::vector<std::string> files(int64_t id) {
    return memory.exists(folder(id)) ? memory.list(folder(id)).value() : std::vector<std::string>{};
  }
  void failAppends() {
    FileFault fault;
    fault.operations = {FileOperation::kAppend};
    faults.add(fault);
  }
  MemoryFileSystem memory;
  FileFaults faults;
  FaultyFileSystem faulty;
  std::shared_ptr<FsCheckpointStorage> storage;
};

/// "0.1@4: text" per buffer, in the order of reading; with `inputs`, else outputs.
inline std::vector<std::string> readBack(CheckpointWorkerStorage& storage, ChannelStateKind kind,
                                         const std::vector<ChannelStateHandle>& handles) {
  std::vector<std::string> all;
  auto reader = openChannelState(storage, kind, handles);
  if (reader.has_error()) return {"error: " + reader.error().message};
  while (const ChannelStateEntry* entry = (*reader)->next()) {
    std::string text;
    std::array<std::byte, 7> piece;
    while (true) {
      const auto n = (*reader)->read(piece);
      if (n.has_error()) return {"error: " + n.error().message};
      if (*n == 0) break;
      text.append(reinterpret_cast<const char*>(piece.data()), *n);
    }
    all.push_back(
        fmt::format("{}: {}.{}@{}: {}", entry->oldSubtask, entry->gateOrPartition, entry->channelOrSubpartition, entry->offset, text));
  }
  return all;
}

/// "written", "open", or the message of the failure.
inline std::string outcome(const ChannelStateWriteResult& result) {
  if (!result.isDone()) return "open";
  return result.failure() ? result.failure()->message() : "written";
}

inline std::shared_ptr<const Throwable> aborted(const std::string& why = "aborted by a test") {
  return std::make_shared<Throwable>("java.lang.Exception", why);
}
inline std::string sharedFailure() { return std::string(messageOf(CheckpointFailureReason::kChannelStateSharedStreamException)); }
inline std::string subsumedFailure() { return std::string(messageOf(CheckpointFailureReason::kCheckpointDeclinedSubsumed)); }

}  // namespace weir
