#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/ids.h"
#include "weir/exchange/partitioner.h"
#include "weir/exchange/record_writer.h"
#include "weir/task/element_type.h"
#include "weir/task/stream_operator.h"

namespace weir {

/// Makes the operator of each attempt from an untouched prototype. Immutable, shared by all subtasks, any thread.
/// Flink: StreamOperatorFactory.
class OperatorFactory {
 public:
  virtual ~OperatorFactory() = default;
  virtual std::unique_ptr<StreamOperator> create(OperatorSetup setup) const = 0;
  /// Built in and content with batches. User functions get one record at a time, so that mail is looked at between two of them.
  virtual bool takesBatches() const = 0;
  virtual bool isSource() const { return false; }
};

/// Makes the end of a chain that writes to the network. Immutable, shared, any thread.
class EdgePartitioner {
 public:
  struct Target {
    RecordWriter& writer;
    int32_t consumerMaxParallelism;
    Random& random;
  };
  virtual ~EdgePartitioner() = default;
  virtual PartitionerKind kind() const = 0;
  virtual std::unique_ptr<OutputBase> createOutput(const Target& target) const = 0;

  /// A subtask at the other end of the edge, as it is now.
  struct Receiver {
    int32_t subtask, parallelism, maxParallelism;
  };
  /// Hands on to `into` what this partitioner sends to `self`. Asked where in-flight data may be of several subtasks: of partitioners whose
  /// choice follows from the record alone.
  virtual std::unique_ptr<OutputBase> createFilter(OutputBase& into, const Receiver& self) const = 0;
};

/// One edge out of a chained operator: to another operator of the chain, or to a partition of the task.
struct ChainEdge {
  const ElementType* type = nullptr;
  std::string sideTag;  ///< empty: the main output
  int chainedOperator = -1;
  int chainedInput = 0;
  int partition = -1;
  int32_t consumerMaxParallelism = 0;
  bool supportsUnaligned = true;  ///< else its barriers are forced to stay aligned
  std::shared_ptr<const EdgePartitioner> partitioner;
};

struct ChainedOperatorSpec {
  OperatorID id;
  std::string name, uid;
  std::shared_ptr<const OperatorFactory> factory;
  std::optional<RecordCost> cost;
  const ElementType* inputType = nullptr;  ///< of input 0; null for sources. Costs are charged there
  std::vector<ChainEdge> edges;
};

/// One gate of the task: which input of the head it feeds. A union feeds one input from several gates.
struct ChainInput {
  const ElementType* type = nullptr;
  int headInput = 0;
  std::shared_ptr<const EdgePartitioner> partitioner{};  ///< of the edge that leads here
};

/// Everything that is the same for all subtasks of a vertex. operators[0] is the head; each operator stands behind those that feed it.
/// Flink: StreamConfig.
struct ChainSpec {
  std::vector<ChainedOperatorSpec> operators;
  std::vector<ChainInput> inputs;  ///< by gate
};

/// When records in a partly filled buffer leave at the latest.
struct BufferTimeout {
  static constexpr int64_t kOff = -1;     ///< only when buffers are full, or an event closes them
  static constexpr int64_t kAlways = 0;   ///< after every record
  int64_t millis = 100;
};

/// What a job vertex keeps to make the tasks of its subtasks. Immutable, shared.
class TaskFactory {
 public:
  TaskFactory(ChainSpec chain, BufferTimeout bufferTimeout) : chain_(std::move(chain)), bufferTimeout_(bufferTimeout) {}
  const ChainSpec& chain() const { return chain_; }
  BufferTimeout bufferTimeout() const { return bufferTimeout_; }

 private:
  ChainSpec chain_;
  BufferTimeout bufferTimeout_;
};

}  // namespace weir
