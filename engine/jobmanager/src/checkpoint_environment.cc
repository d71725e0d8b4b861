#include "weir/jobmanager/checkpoint_environment.h"

#include "weir/base/check.h"

namespace weir {

std::string CheckpointVertex::taskName(int32_t subtask) const {
  return name + " (" + std::to_string(subtask + 1) + "/" + std::to_string(parallelism) + ")";
}

std::shared_ptr<const CheckpointTopology> CheckpointTopology::build(std::vector<CheckpointVertex> vertices) {
  auto topology = std::make_shared<CheckpointTopology>();
  topology->vertices = std::move(vertices);
  for (int32_t v = 0; v < static_cast<int32_t>(topology->vertices.size()); ++v) {
    CheckpointVertex& vertex = topology->vertices[v];
    for (const auto& input : vertex.inputs) WEIR_CHECK_LT(input.vertex, v);
    vertex.firstTask = topology->taskCount();
    topology->vertexOfTask.insert(topology->vertexOfTask.end(), vertex.parallelism, v);
    WEIR_CHECK(topology->indexOf.emplace(vertex.id, v).second, "two vertices with the id {}", vertex.id.toString());
  }
  return topology;
}

std::shared_ptr<const CheckpointTopology> CheckpointTopology::of(const JobGraph& graph) {
  const std::vector<int32_t> order = graph.topological();
  std::vector<int32_t> position(graph.vertices().size(), -1);
  std::vector<CheckpointVertex> vertices;
  for (const int32_t index : order) {
    const JobVertex& from = graph.vertex(index);
    position[index] = static_cast<int32_t>(vertices.size());
    CheckpointVertex vertex{from.id, from.name, from.parallelism, from.maxParallelism, from.operators, {}, 0};
    for (const int32_t set : from.inputs) {
      const IntermediateDataSet& data = graph.dataSets()[set];
      // A strategy that no partitioner has cannot be rescaled either.
      const PartitionerKind kind = partitionerNamed(data.shipStrategy).value_or(PartitionerKind::kForward);
      vertex.inputs.push_back({position[data.producer], data.pattern, data.output, kind});
    }
    vertices.push_back(std::move(vertex));
  }
  return build(std::move(vertices));
}

int32_t CheckpointTopology::taskOf(const ExecutionAttemptID& attempt) const {
  const auto found = indexOf.find(attempt.vertex);
  if (found == indexOf.end()) return -1;
  const CheckpointVertex& vertex = vertices[found->second];
  return attempt.subtask >= 0 && attempt.subtask < vertex.parallelism ? vertex.firstTask + attempt.subtask : -1;
}

}  // namespace weir
