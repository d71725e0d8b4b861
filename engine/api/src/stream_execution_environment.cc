#include "weir/api/stream_execution_environment.h"

#include <algorithm>

#include "weir/api/make_executor.h"
#include "weir/api/mini_cluster.h"
#include "weir/base/log_sinks.h"
#include "weir/base/real_file_system.h"
#include "weir/config/execution_options.h"
#include "weir/config/known_options.h"

namespace weir {
namespace {

/// Whether `key`, a current or a former spelling, sets `option`.
bool sets(std::string_view key, std::string_view option) {
  const auto owners = optionsWithAlias(key);
  return key == option || std::any_of(owners.begin(), owners.end(), [&](const KnownOption* owner) { return owner->key == option; });
}

/// What the configuration says of operators that say nothing themselves: all of it, or what `changed` sets.
Result<void> applyDefaults(const Configuration& configuration, Program& program, const std::string* changed = nullptr) {
  const auto concerns = [&](std::string_view option) { return !changed || sets(*changed, option); };
  if (concerns(kDefaultParallelism.key)) {
    WEIR_ASSIGN(program.parallelism, configuration.get(kDefaultParallelism));
  }
  if (concerns(kMaxParallelism.key)) {
    WEIR_ASSIGN(const int32_t maxParallelism, configuration.get(kMaxParallelism));
    program.maxParallelism = maxParallelism > 0 ? maxParallelism : 0;
  }
  if (concerns(kOperatorChaining.key)) {
    WEIR_ASSIGN(const bool chaining, configuration.get(kOperatorChaining));
    program.graph.setChainingEnabled(chaining);
  }
  if (concerns(kBufferTimeoutEnabled.key) || concerns(kBufferTimeout.key)) {
    WEIR_ASSIGN(const bool enabled, configuration.get(kBufferTimeoutEnabled));
    WEIR_ASSIGN(const Duration interval, configuration.get(kBufferTimeout));
    program.bufferTimeout.millis = enabled ? interval.toMillis().count() : BufferTimeout::kOff;
  }
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

StreamExecutionEnvironment& StreamExecutionEnvironment::configure(const std::string& key, const std::string& value) {
  configuration_.setText(key, value);
  if (auto applied = applyDefaults(configuration_, *program_, &key); applied.has_error()) mistake(applied.error().message);
  return *this;
}

Result<std::shared_ptr<const JobGraph>> StreamExecutionEnvironment::getJobGraph(const std::string& jobName) const {
  if (configured_.has_error()) return configured_.error();
  WEIR_TRY(configuration_.validate());
  if (!program_->misplaced.empty())
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("Name, parallelism and other settings belong to an operator: behind '{}' they are given to a way to the next one "
                    "(rebalance() or alike, a union, a side output); give them before it or to the operator behind it",
                    program_->misplaced)};
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
  } catch (const std::exception& e) {  // a deadlock of a simulated run, or threads that the system does not give
    return Error{ErrorCode::kFailed, "the job '" + jobName + "' cannot go on: " + e.what()};
  }
  return result;
}

}  // namespace weir
