#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weir/snapshot/channel_state_reader.h"
#include "weir/snapshot/checkpoint_storage.h"

namespace weir {

/// Opens and checks all files of in-flight data. A channel that is claimed by two handles is an error. Errors name the file, the channel
/// and the offset.
///
/// Flink: SequentialChannelStateReaderImpl. Differs: every length is checked against file and handle before the first byte is handed out,
/// because a record that is cut at a wrong place may look like a record. Blocks on files; `storage` outlives the reader.
Result<std::unique_ptr<ChannelStateReader>> openChannelState(CheckpointWorkerStorage& storage, ChannelStateKind kind,
                                                             const std::vector<ChannelStateHandle>& handles);

/// Checks all in-flight data of a checkpoint as openChannelState does, before a job starts from it.
Result<void> checkChannelState(CheckpointWorkerStorage& storage, const std::vector<OperatorState>& operators);

/// What was given up by forgetting in-flight data.
struct ForgottenChannelState {
  int64_t buffers = 0, bytes = 0;
};
/// Takes all in-flight data out of a checkpoint: execution.state-recovery.without-channel-state.checkpoint-id.
ForgottenChannelState forgetChannelState(std::vector<OperatorState>& operators);

/// Handles to parts of one file that was written further after they were made learn its length. Before the checkpoint is stored.
/// `acknowledged`: what all tasks have sent, also what the checkpoint leaves out, as of sources that had finished: theirs may have been the
/// last part.
void settleFileSizes(const std::vector<std::shared_ptr<const TaskStateSnapshot>>& acknowledged, std::vector<OperatorState>& operators);

}  // namespace weir
