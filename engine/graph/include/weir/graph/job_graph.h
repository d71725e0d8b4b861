#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"

namespace weir {

class TaskFactory;

/// Which subtasks of producer and consumer are connected. Flink: DistributionPattern.
enum class DistributionPattern { kAllToAll, kPointwise };
constexpr std::string_view toString(DistributionPattern pattern) {
  return pattern == DistributionPattern::kAllToAll ? "ALL_TO_ALL" : "POINTWISE";
}

/// Largest legal maximum parallelism: key groups are 15 bits wide.
constexpr int32_t kMaxKeyGroups = 1 << 15;

/// One operator of a chain.
struct ChainedOperator {
  OperatorID id;
  std::string name;
  std::string uid;  ///< empty: none given
};

/// A chain of operators that runs as one task per subtask. Flink: JobVertex.
struct JobVertex {
  JobVertexID id;
  std::string name;
  int32_t parallelism = 1;
  int32_t maxParallelism = 128;
  std::string slotSharingGroup = "default";
  std::vector<ChainedOperator> operators;  ///< head to tail
  bool isSource = false;
  std::shared_ptr<const TaskFactory> factory;  ///< makes the task of each subtask; opaque here
  std::vector<int32_t> inputs;   ///< indices into JobGraph::dataSets(), in gate order; filled by connect
  std::vector<int32_t> outputs;  ///< indices into JobGraph::dataSets(), in the order of the task's partitions; filled by connect
};

/// What flows along one edge between two vertices; each data set has one producer and one consumer. Flink: IntermediateDataSet, JobEdge.
struct IntermediateDataSet {
  IntermediateDataSetID id;
  int32_t producer = 0;  ///< index of the vertex
  int32_t consumer = 0;  ///< index of the vertex
  int32_t gate = 0;      ///< which input of the consumer
  int32_t output = 0;    ///< which output of the producer
  DistributionPattern pattern = DistributionPattern::kAllToAll;
  std::string shipStrategy;  ///< FORWARD, HASH, REBALANCE, ... as REST prints it
};

/// The job as it is deployed: vertices connected by data sets. A pure function of entry point, arguments and configuration, so that
/// another process rebuilds the same one and compares hash().
///
/// Flink: JobGraph. Threads: built by one, immutable after validate(). Vertices are named by their index (the order of addVertex) inside
/// one graph and by their id across processes.
class JobGraph {
 public:
  explicit JobGraph(std::string name = {}) : name_(std::move(name)) {}

  /// Returns the index of the new vertex.
  int32_t addVertex(JobVertex vertex);
  /// Adds an edge: the next output of `producer` is the next input gate of `consumer`. Requires: valid indices. Returns its index.
  int32_t connect(int32_t producer, int32_t consumer, DistributionPattern pattern, std::string shipStrategy);

  const std::string& name() const { return name_; }
  const std::vector<JobVertex>& vertices() const { return vertices_; }
  JobVertex& vertex(int32_t index) { return vertices_[index]; }
  const JobVertex& vertex(int32_t index) const { return vertices_[index]; }
  const std::vector<IntermediateDataSet>& dataSets() const { return dataSets_; }
  /// -1 where there is none.
  int32_t indexOf(const JobVertexID& id) const;
  /// All subtasks of all vertices.
  int64_t totalTasks() const;

  /// Indices of the vertices: sources first, in the order in which they were added, every vertex behind all its inputs. Vertices of a
  /// cycle are left out.
  std::vector<int32_t> topological() const;

  /// Covers everything but the factories. Equal in every process that builds the same graph.
  uint64_t hash() const;

  /// The first mistake as one sentence: no vertices, illegal parallelism, duplicate ids, cycles.
  Result<void> validate() const;

 private:
  Result<void> validateVertex(const JobVertex& vertex) const;

  std::string name_;
  std::vector<JobVertex> vertices_;
  std::vector<IntermediateDataSet> dataSets_;
  std::unordered_map<JobVertexID, int32_t> indices_;  ///< look-ups only, never iterated
};

}  // namespace weir
