#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/graph/job_graph.h"
#include "weir/task/chain_spec.h"

namespace weir {

/// Whether an operator may share a task with the one before it. Flink: ChainingStrategy.
enum class ChainingStrategy {
  kAlways,
  kHead,   ///< starts a chain; others may follow it
  kNever,  ///< alone in its task
};

/// One operator as the program wrote it. Flink: StreamNode.
struct StreamNode {
  std::string name;
  std::string uid;  ///< empty: none
  bool isSink = false;
  std::shared_ptr<const OperatorFactory> factory;
  const ElementType* inputType = nullptr;  ///< of input 0; null for sources
  int32_t parallelism = 1;
  int32_t maxParallelism = 0;  ///< 0: Flink's default for the parallelism
  std::string slotSharingGroup{};  ///< empty: that of its inputs where they are in one, else "default"
  ChainingStrategy chaining = ChainingStrategy::kAlways;
  std::optional<RecordCost> cost;
  BufferTimeout bufferTimeout;
};

/// One edge as the program wrote it. Flink: StreamEdge.
struct StreamEdge {
  int32_t source = 0, target = 0;  ///< indices of nodes
  int32_t targetInput = 0;
  const ElementType* type = nullptr;
  std::string sideTag;                                 ///< empty: the main output
  std::shared_ptr<const EdgePartitioner> partitioner;  ///< null: forward where the parallelism is the same, else rebalance
  std::shared_ptr<const EdgePartitioner> forward, rebalance;  ///< of the edge's type, to choose from
};

/// The program as a graph of operators, before chaining. Built by one thread, in the order of the program. Flink: StreamGraph.
class StreamGraph {
 public:
  int32_t addNode(StreamNode node);
  /// Takes the node that was added last out again, with its inputs, to be put together in another way. Throws where others came after it.
  StreamNode takeBackLast(int32_t index);
  /// A mistake of the program that was seen while it was written: toJobGraph() returns the first one.
  void mistake(std::string sentence) {
    if (mistake_.empty()) mistake_ = std::move(sentence);
  }
  void addEdge(StreamEdge edge) { edges_.push_back(std::move(edge)); }
  StreamNode& node(int32_t index) { return nodes_[static_cast<size_t>(index)]; }
  const std::vector<StreamNode>& nodes() const { return nodes_; }
  const std::vector<StreamEdge>& edges() const { return edges_; }
  void setChainingEnabled(bool enabled) { chainingEnabled_ = enabled; }

  /// Chains what can be chained, gives every operator its id and checks the whole. The first mistake of the program as one sentence:
  /// duplicate uid, parallelism above max parallelism, forward between different parallelisms, an operator without input, nothing at all.
  ///
  /// Flink: StreamingJobGraphGenerator.
  Result<JobGraph> toJobGraph(const std::string& jobName) const;

 private:
  friend class JobGraphGenerator;
  std::vector<StreamNode> nodes_;
  std::vector<StreamEdge> edges_;
  bool chainingEnabled_ = true;
  std::string mistake_;  ///< empty: none
};

}  // namespace weir
