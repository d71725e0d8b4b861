#include "weir/api/stream_execution_environment.h"

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

}  // namespace

StreamExecutionEnvironment::StreamExecutionEnvironment(Configuration configuration)
    : configuration_(std::move(configuration)), configured_(applyDefaults(configuration_, *program_)) {}

Result<std::shared_ptr<const JobGraph>> StreamExecutionEnvironment::getJobGraph(const std::string& jobName) const {
  if (configured_.has_error()) return configured_.error();
  WEIR_TRY(configuration_.validate());
  WEIR_ASSIGN(JobGraph graph, program_->graph.toJobGraph(jobName));
  return std::make_shared<const JobGraph>(std::move(graph));
}

}  // namespace weir
