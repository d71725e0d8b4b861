#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "weir/api/broadcast_stream.h"
#include "weir/api/joined_streams.h"
#include "weir/base/ids.h"
#include "weir/config/configuration.h"
#include "weir/graph/job_status.h"

namespace weir {

/// How a job that was executed has ended. Flink: JobExecutionResult.
struct JobExecutionResult {
  JobID job;
  JobStatus status = JobStatus::kFinished;  ///< or kCanceled
  int64_t runtimeMs = 0;                    ///< from RUNNING to the end
};

/// Where a program begins: makes sources, collects what is built on them, and turns it into a job.
///
///     StreamExecutionEnvironment env;
///     env.fromSequence(1, 100).map([](int64_t x) { return x * x; }).print();
///     auto result = env.execute("squares");
///
/// Flink: StreamExecutionEnvironment. One thread writes a program. Mistakes of the program come out of getJobGraph() and execute().
class StreamExecutionEnvironment {
 public:
  /// A configuration that cannot be read is reported by getJobGraph() and execute().
  explicit StreamExecutionEnvironment(Configuration configuration = {});

  StreamExecutionEnvironment& setParallelism(int32_t parallelism) { return program_->parallelism = parallelism, *this; }
  StreamExecutionEnvironment& setMaxParallelism(int32_t maxParallelism) { return program_->maxParallelism = maxParallelism, *this; }
  /// Milliseconds; 0 flushes after every record, -1 only full buffers.
  StreamExecutionEnvironment& setBufferTimeout(int64_t millis) { return program_->bufferTimeout.millis = millis, *this; }
  StreamExecutionEnvironment& disableOperatorChaining() { return program_->graph.setChainingEnabled(false), *this; }
  /// Sets a key of the configuration, as `-D key=value` does. Parallelism, chaining and buffer timeout hold for what is added after it.
  StreamExecutionEnvironment& configure(const std::string& key, const std::string& value);
  int32_t getParallelism() const { return program_->parallelism; }
  const Configuration& configuration() const { return configuration_; }

  /// Any reader that fulfils SourceReader. `recordsPerSecond` holds all subtasks together.
  template <SourceReader R>
  DataStream<typename R::Element> fromSource(R reader, std::string name, double recordsPerSecond = kUnlimited,
                                             Batching batching = Batching::kBatches) {
    auto factory = makeOperatorFactory(
        batching,
        [reader, recordsPerSecond](OperatorSetup setup) {
          return std::make_unique<SourceOperator<R>>(std::move(setup), reader, recordsPerSecond);
        },
        true);
    if (!(recordsPerSecond > 0)) mistake("Source '" + name + "' has a rate that is not above 0 records a second");
    return DataStream<typename R::Element>(program_, program_->add(std::move(name), std::move(factory), nullptr));
  }
  /// make(index) for index 0, 1, ... count - 1, dealt to the subtasks in turn.
  template <class F>
  auto fromGenerator(int64_t count, F make, double recordsPerSecond = kUnlimited) {
    return fromSource(GeneratorReader<F>(count, std::move(make)), "Generator", recordsPerSecond);
  }
  /// from to to, both included.
  DataStream<int64_t> fromSequence(int64_t from, int64_t to) {
    int64_t distance = 0, count = 0;
    if (from > to || __builtin_sub_overflow(to, from, &distance) || __builtin_add_overflow(distance, int64_t{1}, &count))
      mistake("fromSequence(" + std::to_string(from) + ", " + std::to_string(to) + ") is no range of 1 to 2^63 - 1 numbers");
    auto reader = GeneratorReader(count, [from](int64_t index) { return from + index; });
    return fromSource(std::move(reader), "Sequence Source");
  }
  template <class T>
  DataStream<T> fromCollection(std::vector<T> elements) {
    const auto count = static_cast<int64_t>(elements.size());
    auto shared = std::make_shared<const std::vector<T>>(std::move(elements));
    auto reader = GeneratorReader(count, [shared](int64_t index) { return (*shared)[static_cast<size_t>(index)]; });
    return fromSource(std::move(reader), "Collection Source");
  }

  /// The program as a job. The first mistake of program or configuration as one sentence.
  Result<std::shared_ptr<const JobGraph>> getJobGraph(const std::string& jobName) const;

  /// Runs the program to its end in this process: a MiniCluster on the executor that weir.executor names, on the files of this machine,
  /// with warnings on standard error. Blocks; called from a thread that is no executor's. A mistake of program or configuration, and a
  /// failed job (with the trace of its failure), is an error.
  Result<JobExecutionResult> execute(const std::string& jobName = "Flink Streaming Job") const;

  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

 private:
  /// The first one is what getJobGraph() and execute() say.
  void mistake(std::string sentence) {
    if (!configured_.has_error()) configured_ = Error{ErrorCode::kInvalidArgument, std::move(sentence)};
  }
  Configuration configuration_;
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  Result<void> configured_;  ///< what was wrong with the configuration or with a source
};

}  // namespace weir
