#pragma once

#include <functional>
#include <memory>
#include <string>

#include "weir/base/executor.h"
#include "weir/base/log.h"
#include "weir/base/mutex.h"
#include "weir/channel/channel_state_checkpoint_writer.h"
#include "weir/snapshot/channel_state_writer.h"

namespace weir {

class ChannelStateWriteExecutor;

/// Gives each subtask of one job on one TaskManager its ChannelStateWriter. Up to `maxSubtasksPerFile` of them, in the order in which they
/// ask, share an actor that writes their in-flight data, and a file per checkpoint. A group takes no more when it is full, when one of its
/// members starts a checkpoint, or when one of them ends.
///
/// Flink: ChannelStateWriteRequestExecutorFactory. Threads: any. An actor ends with the last subtask of its group.
class ChannelStateWriterFactory {
 public:
  struct Options {
    std::shared_ptr<CheckpointWorkerStorage> storage;
    int maxSubtasksPerFile = 5;  ///< execution.checkpointing.unaligned.max-subtasks-per-channel-state-file
    ChannelStateAcks acks = ChannelStateAcks::kTogether;
    ActorOptions actor;  ///< of the writing actors: a number is put behind its name
  };
  ChannelStateWriterFactory(Executor& executor, LogSink& log, Options options);
  ~ChannelStateWriterFactory();

  /// `taskName`: for messages. The writer, or its close(), ends the membership.
  std::shared_ptr<ChannelStateWriter> create(const std::string& taskName, int32_t subtask);

 private:
  Executor& executor_;
  const Logger log_;
  const Options options_;
  Mutex mutex_;
  std::shared_ptr<ChannelStateWriteExecutor> filling_;  ///< guarded by mutex_, as is the next
  int groups_ = 0;
};

}  // namespace weir
