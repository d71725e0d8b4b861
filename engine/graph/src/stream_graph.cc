#include "weir/graph/stream_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "weir/base/check.h"
#include "weir/exchange/key_groups.h"
#include "weir/graph/stable_hash.h"

namespace weir {

int32_t StreamGraph::addNode(StreamNode node) {
  nodes_.push_back(std::move(node));
  return static_cast<int32_t>(nodes_.size()) - 1;
}

StreamNode StreamGraph::takeBackLast(int32_t index) {
  if (index + 1 != static_cast<int32_t>(nodes_.size()))
    throw std::logic_error("operator '" + node(index).name + "' is already read by others: say how it works before it is used");
  std::erase_if(edges_, [&](const StreamEdge& edge) { return edge.target == index; });
  StreamNode taken = std::move(nodes_.back());
  nodes_.pop_back();
  return taken;
}

namespace {

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

}  // namespace

/// One pass from stream graph to job graph. Nodes are handled in the order of the program, in which inputs come first.
class JobGraphGenerator {
 public:
  JobGraphGenerator(const StreamGraph& graph, const std::string& jobName) : graph_(graph), result_(jobName) {}

  Result<JobGraph> generate() {
    WEIR_TRY(resolveEdges());
    WEIR_TRY(checkNodes());
    findSlotSharingGroups();
    findChains();
    assignIds();
    buildVertices();
    connectVertices();
    WEIR_TRY(result_.validate());
    return std::move(result_);
  }

 private:
  struct Edge {
    const StreamEdge* program;
    std::shared_ptr<const EdgePartitioner> partitioner;
    bool chained = false;
  };
  const StreamNode& node(int32_t index) const { return graph_.nodes_[static_cast<size_t>(index)]; }
  int32_t nodeCount() const { return static_cast<int32_t>(graph_.nodes_.size()); }
  static int32_t maxParallelismOf(const StreamNode& node) {
    return node.maxParallelism > 0 ? node.maxParallelism : computeDefaultMaxParallelism(node.parallelism);
  }

  Result<void> resolveEdges() {
    inEdges_.resize(graph_.nodes_.size());
    outEdges_.resize(graph_.nodes_.size());
    for (const StreamEdge& edge : graph_.edges_) {
      const bool sameParallelism = node(edge.source).parallelism == node(edge.target).parallelism;
      auto partitioner = edge.partitioner ? edge.partitioner : sameParallelism ? edge.forward : edge.rebalance;
      if (partitioner->kind() == PartitionerKind::kForward && !sameParallelism)
        return invalid("Forward partitioning does not allow change of parallelism. Upstream operation: " + describe(edge.source) +
                       ", downstream operation: " + describe(edge.target) +
                       ". You must use another partitioning strategy, such as broadcast, rebalance, shuffle or global.");
      inEdges_[static_cast<size_t>(edge.target)].push_back(edges_.size());
      outEdges_[static_cast<size_t>(edge.source)].push_back(edges_.size());
      edges_.push_back({&edge, std::move(partitioner), false});
    }
    return {};
  }

  /// One edge whose in-flight data could not be redistributed holds back all that lead to the same operator.
  bool supportsUnaligned(int32_t target) const {
    const auto& in = inEdges_[static_cast<size_t>(target)];
    return std::all_of(in.begin(), in.end(), [&](size_t e) { return traitsOf(edges_[e].partitioner->kind()).supportsUnaligned; });
  }

  std::string describe(int32_t index) const {
    return node(index).name + " (parallelism " + std::to_string(node(index).parallelism) + ")";
  }

  Result<void> checkNodes() const {
    if (!graph_.mistake_.empty()) return invalid(graph_.mistake_);
    if (graph_.nodes_.empty()) return invalid("The job has no operators: add a source and a sink before it is executed");
    std::set<std::string> uids;
    for (int32_t i = 0; i < nodeCount(); ++i) {
      const StreamNode& n = node(i);
      if (!n.uid.empty() && !uids.insert(n.uid).second)
        return invalid("The uid '" + n.uid + "' is used twice, the second time by operator '" + n.name +
                       "': every uid must be unique in a job");
      if (n.parallelism < 1)
        return invalid("Operator '" + n.name + "' has parallelism " + std::to_string(n.parallelism) + ": it must be at least 1");
      if (n.maxParallelism < 0 || n.maxParallelism > kMaxMaxParallelism)
        return invalid("Operator '" + n.name + "' has max parallelism " + std::to_string(n.maxParallelism) + ": it must be 1 to " +
                       std::to_string(kMaxMaxParallelism));
      if (n.bufferTimeout.millis < BufferTimeout::kOff)
        return invalid("Operator '" + n.name + "' has a buffer timeout of " + std::to_string(n.bufferTimeout.millis) +
                       " ms: it must be 0 or more, or -1 for full buffers only");
      if (n.cost && n.cost->perRecord < Nanos::zero()) return invalid("Operator '" + n.name + "' has a cost below 0 for each record");
      if (n.maxParallelism > 0 && n.parallelism > n.maxParallelism)
        return invalid("Operator '" + n.name + "' has parallelism " + std::to_string(n.parallelism) + ", above its max parallelism of " +
                       std::to_string(n.maxParallelism) + ": lower the parallelism or raise the max parallelism");
      if (!n.factory->isSource() && inEdges_[static_cast<size_t>(i)].empty()) return invalid("Operator '" + n.name + "' has no input");
    }
    return {};
  }

  bool isChainable(const Edge& edge) const {
    const StreamNode& up = node(edge.program->source);
    const StreamNode& down = node(edge.program->target);
    return graph_.chainingEnabled_ && inEdges_[static_cast<size_t>(edge.program->target)].size() == 1 &&
           edge.partitioner->kind() == PartitionerKind::kForward && up.parallelism == down.parallelism &&
           maxParallelismOf(up) == maxParallelismOf(down) && groupOf(edge.program->source) == groupOf(edge.program->target) &&
           up.chaining != ChainingStrategy::kNever && down.chaining == ChainingStrategy::kAlways;
  }

  /// That of its inputs where they agree, as Flink does.
  std::string inheritedGroup(int32_t index) const {
    std::string group;
    for (size_t e : inEdges_[static_cast<size_t>(index)]) {
      const std::string& inputs = groupOf(edges_[e].program->source);
      if (!group.empty() && group != inputs) return "default";
      group = inputs;
    }
    return group.empty() ? "default" : group;
  }
  void findSlotSharingGroups() {
    for (int32_t i = 0; i < nodeCount(); ++i)
      slotSharingGroups_.push_back(node(i).slotSharingGroup.empty() ? inheritedGroup(i) : node(i).slotSharingGroup);
  }
  const std::string& groupOf(int32_t index) const { return slotSharingGroups_[static_cast<size_t>(index)]; }

  void findChains() {
    headOf_.resize(graph_.nodes_.size());
    for (int32_t i = 0; i < nodeCount(); ++i) {
      headOf_[static_cast<size_t>(i)] = i;
      for (size_t e : inEdges_[static_cast<size_t>(i)]) {
        edges_[e].chained = isChainable(edges_[e]);
        if (edges_[e].chained) headOf_[static_cast<size_t>(i)] = headOf_[static_cast<size_t>(edges_[e].program->source)];
      }
    }
  }

  void assignIds() {
    ids_.resize(graph_.nodes_.size());
    for (int32_t i = 0; i < nodeCount(); ++i) {
      std::vector<OperatorID> inputs;
      for (size_t e : inEdges_[static_cast<size_t>(i)]) inputs.push_back(ids_[static_cast<size_t>(edges_[e].program->source)]);
      int32_t chainedOutputs = 0;
      for (size_t e : outEdges_[static_cast<size_t>(i)]) chainedOutputs += edges_[e].chained;
      ids_[static_cast<size_t>(i)] = node(i).uid.empty() ? operatorIdOfPosition(i, chainedOutputs, inputs) : operatorIdOfUid(node(i).uid);
    }
  }

  static std::string displayName(const StreamNode& node) {
    return (node.factory->isSource() ? "Source: " : node.isSink ? "Sink: " : "") + node.name;
  }

  /// `a -> b`, and `a -> (b, c)` where more than one operator is chained to it.
  std::string chainName(int32_t index) const {
    std::vector<std::string> next;
    for (size_t e : outEdges_[static_cast<size_t>(index)])
      if (edges_[e].chained) next.push_back(chainName(edges_[e].program->target));
    const std::string name = displayName(node(index));
    if (next.empty()) return name;
    if (next.size() == 1) return name + " -> " + next.front();
    std::string all;
    for (const auto& one : next) all += (all.empty() ? "" : ", ") + one;
    return name + " -> (" + all + ")";
  }

  void buildVertices() {
    vertexOf_.resize(graph_.nodes_.size(), -1);
    positionInChain_.resize(graph_.nodes_.size(), -1);
    for (int32_t i = 0; i < nodeCount(); ++i) {
      const int32_t head = headOf_[static_cast<size_t>(i)];
      if (head == i) {
        JobVertex vertex;
        vertex.id = vertexIdOf(ids_[static_cast<size_t>(i)]);
        vertex.name = chainName(i);
        vertex.parallelism = node(i).parallelism;
        vertex.maxParallelism = maxParallelismOf(node(i));
        vertex.slotSharingGroup = groupOf(i);
        vertex.isSource = node(i).factory->isSource();
        vertexOf_[static_cast<size_t>(i)] = result_.addVertex(std::move(vertex));
        chains_.emplace_back();
        bufferTimeouts_.push_back(node(i).bufferTimeout);
      }
      const int32_t vertex = vertexOf_[static_cast<size_t>(i)] = vertexOf_[static_cast<size_t>(head)];
      ChainSpec& chain = chains_[static_cast<size_t>(vertex)];
      positionInChain_[static_cast<size_t>(i)] = static_cast<int>(chain.operators.size());
      ChainedOperatorSpec spec{
          ids_[static_cast<size_t>(i)], displayName(node(i)), node(i).uid, node(i).factory, node(i).cost, node(i).inputType, {}};
      result_.vertex(vertex).operators.push_back({spec.id, spec.name, spec.uid});
      chain.operators.push_back(std::move(spec));
    }
  }

  void connectVertices() {
    for (const Edge& edge : edges_) {
      const StreamEdge& program = *edge.program;
      const int32_t from = vertexOf_[static_cast<size_t>(program.source)], to = vertexOf_[static_cast<size_t>(program.target)];
      ChainEdge chainEdge;
      chainEdge.type = program.type;
      chainEdge.sideTag = program.sideTag;
      if (edge.chained) {
        chainEdge.chainedOperator = positionInChain_[static_cast<size_t>(program.target)];
        chainEdge.chainedInput = program.targetInput;
      } else {
        const PartitionerTraits traits = traitsOf(edge.partitioner->kind());
        const int32_t dataSet = result_.connect(
            from, to, traits.pointwise ? DistributionPattern::kPointwise : DistributionPattern::kAllToAll, std::string(traits.name));
        chainEdge.consumerMaxParallelism = result_.vertex(to).maxParallelism;
        chainEdge.partition = result_.dataSets()[static_cast<size_t>(dataSet)].output;
        chainEdge.partitioner = edge.partitioner;
        chainEdge.supportsUnaligned = supportsUnaligned(program.target);
        chains_[static_cast<size_t>(to)].inputs.push_back({program.type, program.targetInput, edge.partitioner});
      }
      ChainSpec& chain = chains_[static_cast<size_t>(from)];
      chain.operators[static_cast<size_t>(positionInChain_[static_cast<size_t>(program.source)])].edges.push_back(std::move(chainEdge));
    }
    for (size_t v = 0; v < chains_.size(); ++v)
      result_.vertex(static_cast<int32_t>(v)).factory = std::make_shared<TaskFactory>(std::move(chains_[v]), bufferTimeouts_[v]);
  }

  const StreamGraph& graph_;
  JobGraph result_;
  std::vector<Edge> edges_;
  std::vector<std::vector<size_t>> inEdges_, outEdges_;  ///< by node, indices into edges_
  std::vector<std::string> slotSharingGroups_;           ///< by node
  std::vector<int32_t> headOf_, vertexOf_;               ///< by node
  std::vector<int> positionInChain_;                     ///< by node
  std::vector<OperatorID> ids_;
  std::vector<ChainSpec> chains_;  ///< by vertex
  std::vector<BufferTimeout> bufferTimeouts_;
};

Result<JobGraph> StreamGraph::toJobGraph(const std::string& jobName) const { return JobGraphGenerator(*this, jobName).generate(); }

}  // namespace weir
