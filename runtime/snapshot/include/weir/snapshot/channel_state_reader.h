#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "weir/base/result.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

enum class ChannelStateKind : uint8_t { kInput, kOutput };

/// A buffer of in-flight data as a checkpoint holds it.
struct ChannelStateEntry {
  int32_t oldSubtask = 0;             ///< whose it was
  int32_t gateOrPartition = 0;        ///< of that subtask, as is the next
  int32_t channelOrSubpartition = 0;
  int64_t offset = 0;                 ///< of its length, in its file
  int32_t length = 0;
};

/// Gives the in-flight data of a task back, by what the handles say alone, in the order in which it was written. One actor; calls block on
/// files. Flink: SequentialChannelStateReader.
class ChannelStateReader {
 public:
  virtual ~ChannelStateReader() = default;
  /// The next buffer, whose bytes read() gives; null after the last.
  virtual const ChannelStateEntry* next() = 0;
  /// The next bytes of the buffer, as many as fit; 0 at its end.
  virtual Result<size_t> read(std::span<std::byte> into) = 0;
  /// Bytes of all buffers, without lengths.
  virtual int64_t totalBytes() const = 0;
};

/// Opens and checks what the handles name. Any thread; blocks on files.
using ChannelStateOpener =
    std::function<Result<std::unique_ptr<ChannelStateReader>>(ChannelStateKind, const std::vector<ChannelStateHandle>&)>;

}  // namespace weir
