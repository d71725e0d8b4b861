#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/world.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"
#include "weir/config/configuration.h"
#include "weir/jobmanager/job_checkpointing.h"
#include "weir/task/task_environment.h"

namespace weir {

/// What one job runs with, read from its configuration. Errors name the key, and the place where it was set.
struct JobOptions {
  SchedulerOptions scheduler;
  CheckpointCoordinatorConfiguration checkpointing;
  TaskSettings taskSettings;
  bool allowNonRestoredState = false;

  /// Of unaligned checkpoints.
  int maxSubtasksPerChannelStateFile = 5;
  bool independentChannelStateAcks = false;
  bool forceUnaligned = false;  ///< also where a custom partitioner could not be restored with another parallelism
  std::vector<std::string> warnings;  ///< options that have no effect, and why; for the log

  /// Refuses a graph that these options cannot run.
  Result<void> check(const JobGraph& graph) const;

  static Result<JobOptions> from(const Configuration& configuration);
};

/// The checkpoint storage of one job: the directory of execution.checkpointing.dir, or memory where there is none. Its folders are made
/// here, so that an unwritable directory is found before the job runs. Keeps a memory file system alive as long as it is used.
Result<std::shared_ptr<FsCheckpointStorage>> openCheckpointStorage(const Configuration& configuration, FileSystem& files, const JobID& job,
                                                                   uint64_t seed);

/// The checkpoint that execution.state-recovery.path names; none where it names none. With weir.recovery.fall-back an older one of the same
/// job, if that one cannot be read. In-flight data is checked too, or given up where the configuration says so. `storage` opens its files.
Result<std::optional<InitialCheckpoint>> loadInitialCheckpoint(const Configuration& configuration, FileSystem& files,
                                                               CheckpointWorkerStorage& storage, LogSink& log);

}  // namespace weir
