#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weir/buffer/buffer.h"
#include "weir/snapshot/channel_state_write_result.h"

namespace weir {

/// One thing that a subtask asks of the writer of its channel-state file. Flink: ChannelStateWriteRequest.
struct ChannelStateRequest {
  enum class Kind : uint8_t {
    kRegister,
    kRelease,
    kStart,
    kWriteInput,
    kWriteOutput,
    kExpectOutput,    ///< kCompleteOutput or kFailOutput of this subpartition follows; the outputs are not finished before
    kCompleteOutput,
    kFailOutput,
    kFinishInput,
    kFinishOutput,
    kAbort,
    kDrop,  ///< nobody will ask for this result: it fails, or what it has written goes
  };

  Kind kind = Kind::kStart;
  int32_t writer = 0;        ///< which of the subtasks that share the file, by number of registration
  int64_t checkpointId = 0;
  int32_t gateOrPartition = 0, channelOrSubpartition = 0;
  std::vector<Buffer> data{};
  std::shared_ptr<const Throwable> cause{};                 ///< kFailOutput, kAbort, kDrop
  std::shared_ptr<ChannelStateWriteResult> result{};        ///< kStart; kAbort, kDrop: what nobody will ask for any more
  std::vector<uint8_t> location{};                          ///< kStart, kAbort, kDrop: of the checkpoint's options
  int32_t subtask = 0;                                      ///< kRegister: its index
};

}  // namespace weir
