#pragma once

#include <functional>
#include <memory>
#include <string>

#include "weir/api/mini_cluster.h"
#include "weir/api/stream_execution_environment.h"
#include "weir/base/faulty_file_system.h"
#include "weir/base/log_sinks.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/pool_executor.h"
#include "weir/base/simulated_executor.h"
#include "weir/base/thread_executor.h"

namespace weir {

/// Runs programs on a MiniCluster in memory: files and log are its own, so that a test sees exactly what its job did. The files can be made
/// slow, failing or full.
class JobRunner {
 public:
  explicit JobRunner(std::unique_ptr<Executor> executor, LogLevel level = LogLevel::kInfo)
      : executor_(std::move(executor)), log_(executor_->clock(), level) {}

  static std::unique_ptr<Executor> threads() { return std::make_unique<ThreadExecutor>(); }
  static std::unique_ptr<Executor> pool() { return std::make_unique<PoolExecutor>(); }
  static std::unique_ptr<Executor> simulated(uint64_t seed) {
    SimulationOptions options;
    options.seed = seed;
    return std::make_unique<SimulatedExecutor>(options);
  }

  /// Called on the client's actor while the job runs.
  using Meanwhile = std::function<void(ExecutionContext&, MiniCluster&, JobMaster&)>;

  /// Runs the program to its end. A job that cannot start is a failed result.
  JobResult run(const StreamExecutionEnvironment& program, const Meanwhile& meanwhile = nullptr) {
    JobResult result;
    executor_->run("client", [&](ExecutionContext& context) {
      const auto failed = [&](const Error& error) {
        result.status = JobStatus::kFailed;
        result.failure = std::make_shared<Throwable>("weir.SubmissionFailed", error.message);
      };
      auto graph = program.getJobGraph("job");
      if (graph.has_error()) return failed(graph.error());
      auto started = MiniCluster::start(world(), program.configuration(), slotsNeeded(**graph), cluster);
      if (started.has_error()) return failed(started.error());
      MiniCluster& running = **started;
      auto master = running.submit(*graph, program.configuration());
      if (master.has_error()) {
        failed(master.error());
      } else {
        if (meanwhile) meanwhile(context, running, **master);
        context.wait(WaitReason::kInputOrMail, {&(*master)->done()});
        result = (*master)->result();
      }
      running.stop(context);
      for (const auto& taskManager : running.taskManagers()) lostSegments += taskManager->networkBuffers()->usedSegments();
    });
    return result;
  }

  /// Of the clusters that it starts.
  MiniClusterOptions cluster;
  /// Network segments that nobody gave back by the end of a run.
  int32_t lostSegments = 0;

  World world() { return {*executor_, faulty_, log_}; }
  MemoryFileSystem& files() { return files_; }
  FileFaults& faults() { return faults_; }
  MemoryLogSink& log() { return log_; }
  Executor& executor() { return *executor_; }

 private:
  std::unique_ptr<Executor> executor_;
  MemoryFileSystem files_;
  FileFaults faults_;
  FaultyFileSystem faulty_{files_, faults_, waitIn()};
  MemoryLogSink log_;
};

}  // namespace weir
