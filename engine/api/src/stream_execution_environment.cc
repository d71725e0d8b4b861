#include "weir/api/stream_execution_environment.h"

#include "weir/api/make_executor.h"
#include "weir/api/mini_cluster.h"
#include "weir/base/log_sinks.h"
#include "weir/base/real_file_system.h"
#include "weir/base/simulated_executor.h"
#include "weir/config/execution_options.h"

namespace weir {
namespace {

Result<void> applyDefaults(const Configuration& configuration, Program& program) {
  WEIR_ASSIGN(program.parallelism, configuration.get(kDefaultParallelism));
  WEIR_ASSIGN(const int32_t maxParallelism, configuration.get(kMaxParallelism));
  program.maxParallelism = maxParallelism > 0 ? maxParallelism : 0;
  WEIR_ASSIGN(const bool chaining, configuration.get(kOperatorChaining));
  program.graph.setChainingEnabled(chaining);
  WEIR_ASSIGN(const bool bufferTimeout, configuration.get(kBufferTimeoutEnabled));
  WEIR_ASSIGN(const Duration interval, configuration.get(kBufferTimeout));
  program.bufferTimeout.millis = bufferTimeout ? interval.toMillis().count() : BufferTimeout::kOff;
  return {};
}

Result<JobExecutionResult> runToEnd(ExecutionContext& context, MiniCluster& cluster, const std::shared_ptr<const JobGraph>& graph,
                                    const Configuration& configuration) {
  WEIR_ASSIGN(const std::shared_ptr<JobMaster> master, cluster.submit(graph, configuration));
  context.wait(WaitReason::kInputOrMail, {&master->done()});
  const JobResult& result = master->result();
  if (result.status == JobStatus::kFailed)
    return Error{ErrorCode::kFailed,
                 "the job '" + graph->name() + "' failed: " + (result.failure ? result.failure->trace() : "no reason was given")};
  return JobExecutionResult{master->job(), result.status, result.runtimeMs};
}

}  // namespace

StreamExecutionEnvironment::StreamExecutionEnvironment(Configuration configuration)
    : configuration_(std::move(configuration)), configured_(applyDefaults(configuration_, *program_)) {}

Result<std::shared_ptr<const JobGraph>> StreamExecutionEnvironment::getJobGraph(const std::string& jobName) const {
  if (configured_.has_error()) return configured_.error();
  WEIR_TRY(configuration_.validate());
  WEIR_ASSIGN(JobGraph graph, program_->graph.toJobGraph(jobName));
  return std::make_shared<const JobGraph>(std::move(graph));
}

Result<JobExecutionResult> StreamExecutionEnvironment::execute(const std::string& jobName) const {
  WEIR_ASSIGN(const std::shared_ptr<const JobGraph> graph, getJobGraph(jobName));
  WEIR_ASSIGN(const std::unique_ptr<Executor> executor, makeExecutor(configuration_));
  LogOptions logOptions;
  logOptions.level = LogLevel::kWarn;
  WEIR_ASSIGN(const std::unique_ptr<LogSink> log, openLog(logOptions, executor->clock()));
  logNotes(configuration_, *log);
  RealFileSystem files;
  const World world{*executor, files, *log};
  Result<JobExecutionResult> result = Error{ErrorCode::kFailed, "the job '" + jobName + "' did not end"};
  try {
    executor->run("client", [&](ExecutionContext& context) {
      auto cluster = MiniCluster::start(world, configuration_, slotsNeeded(*graph));
      if (cluster.has_error()) {
        result = cluster.error();
        return;
      }
      result = runToEnd(context, **cluster, graph, configuration_);
      (*cluster)->stop(context);
    });
  } catch (const SimulationError& e) {
    return Error{ErrorCode::kFailed, "the job '" + jobName + "' cannot go on: " + e.what()};
  }
  return result;
}

}  // namespace weir
