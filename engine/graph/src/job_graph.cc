#include "weir/graph/job_graph.h"


#include "weir/base/check.h"
#include "weir/graph/stable_hash.h"

namespace weir {

int32_t JobGraph::addVertex(JobVertex vertex) {
  const auto index = static_cast<int32_t>(vertices_.size());
  indices_.try_emplace(vertex.id, index);
  vertices_.push_back(std::move(vertex));
  return index;
}

int32_t JobGraph::connect(int32_t producer, int32_t consumer, DistributionPattern pattern, std::string shipStrategy) {
  const auto count = static_cast<int32_t>(vertices_.size());
  WEIR_CHECK(producer >= 0 && producer < count && consumer >= 0 && consumer < count, "edge {} -> {} of {} vertices", producer,
             consumer, count);
  const auto index = static_cast<int32_t>(dataSets_.size());
  JobVertex& from = vertices_[producer];
  JobVertex& to = vertices_[consumer];
  IntermediateDataSet set;
  set.producer = producer;
  set.consumer = consumer;
  set.output = static_cast<int32_t>(from.outputs.size());
  set.gate = static_cast<int32_t>(to.inputs.size());
  set.pattern = pattern;
  set.shipStrategy = std::move(shipStrategy);
  const std::string_view producerId(reinterpret_cast<const char*>(from.id.bytes.data()), from.id.bytes.size());
  set.id = {StableHasher().putBytes(producerId).putInt(set.output).digest()};
  from.outputs.push_back(index);
  to.inputs.push_back(index);
  dataSets_.push_back(std::move(set));
  return index;
}

int32_t JobGraph::indexOf(const JobVertexID& id) const {
  const auto found = indices_.find(id);
  return found == indices_.end() ? -1 : found->second;
}

int64_t JobGraph::totalTasks() const {
  int64_t tasks = 0;
  for (const JobVertex& v : vertices_) tasks += v.parallelism;
  return tasks;
}

std::vector<int32_t> JobGraph::topological() const {
  std::vector<int32_t> order;
  std::vector<size_t> missing(vertices_.size());
  for (size_t i = 0; i < vertices_.size(); ++i) {
    missing[i] = vertices_[i].inputs.size();
    if (missing[i] == 0) order.push_back(static_cast<int32_t>(i));
  }
  for (size_t next = 0; next < order.size(); ++next) {
    for (const int32_t set : vertices_[order[next]].outputs) {
      const int32_t consumer = dataSets_[set].consumer;
      if (--missing[consumer] == 0) order.push_back(consumer);
    }
  }
  return order;
}

uint64_t JobGraph::hash() const {
  const auto textOf = [](const auto& id) { return std::string_view(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()); };
  StableHasher hasher;
  hasher.putText(name_).putLong(vertices_.size()).putLong(dataSets_.size());
  for (const JobVertex& v : vertices_) {
    hasher.putBytes(textOf(v.id)).putText(v.name).putInt(v.parallelism).putInt(v.maxParallelism).putText(v.slotSharingGroup);
    hasher.putInt(v.isSource ? 1 : 0).putLong(v.operators.size());
    for (const ChainedOperator& op : v.operators) hasher.putBytes(textOf(op.id)).putText(op.name).putText(op.uid);
  }
  for (const IntermediateDataSet& s : dataSets_) {
    hasher.putBytes(textOf(s.id)).putInt(s.producer).putInt(s.consumer).putInt(s.gate).putInt(s.output);
    hasher.putInt(static_cast<int32_t>(s.pattern)).putText(s.shipStrategy);
  }
  uint64_t value = 0;
  const auto digest = hasher.digest();
  for (int i = 0; i < 8; ++i) value |= static_cast<uint64_t>(digest[i]) << (8 * i);
  return value;
}

Result<void> JobGraph::validateVertex(const JobVertex& v) const {
  const auto wrong = [](std::string text) { return Error{ErrorCode::kInvalidArgument, std::move(text)}; };
  if (v.parallelism < 1) return wrong(fmt::format("vertex '{}': parallelism {} is not positive; use 1 or more", v.name, v.parallelism));
  if (v.maxParallelism < 1 || v.maxParallelism > kMaxKeyGroups) {
    return wrong(fmt::format("vertex '{}': maximum parallelism {} is outside 1..{}", v.name, v.maxParallelism, kMaxKeyGroups));
  }
  if (v.parallelism > v.maxParallelism) {
    return wrong(fmt::format("vertex '{}': parallelism {} is above its maximum parallelism {}; lower the one or raise the other", v.name,
                             v.parallelism, v.maxParallelism));
  }
  if (v.operators.empty()) return wrong(fmt::format("vertex '{}' has no operators", v.name));
  if (v.isSource != v.inputs.empty()) {
    return wrong(fmt::format("vertex '{}' is {}", v.name, v.isSource ? "a source but has inputs" : "no source but has no input"));
  }
  return {};
}

Result<void> JobGraph::validate() const {
  const auto wrong = [](std::string text) { return Error{ErrorCode::kInvalidArgument, std::move(text)}; };
  if (vertices_.empty()) return wrong(fmt::format("job '{}' has no operators; add a source and a sink", name_));
  std::unordered_map<OperatorID, const ChainedOperator*> seen;
  for (size_t i = 0; i < vertices_.size(); ++i) {
    const JobVertex& v = vertices_[i];
    WEIR_TRY(validateVertex(v));
    if (indices_.at(v.id) != static_cast<int32_t>(i)) {
      return wrong(fmt::format("vertices '{}' and '{}' have the same id {}", vertices_[indices_.at(v.id)].name, v.name, v.id.toString()));
    }
    for (const ChainedOperator& op : v.operators) {
      const auto [other, isNew] = seen.try_emplace(op.id, &op);
      if (isNew) continue;
      const std::string& first = other->second->name;
      return wrong(op.uid.empty() ? fmt::format("operators '{}' and '{}' have the same id {}", first, op.name, op.id.toString())
                                  : fmt::format("uid '{}' is used by the operators '{}' and '{}'; give each its own", op.uid, first,
                                                op.name));
    }
  }
  if (const auto order = topological(); order.size() != vertices_.size()) {
    std::vector<bool> sorted(vertices_.size());
    for (const int32_t i : order) sorted[i] = true;
    for (size_t i = 0; i < vertices_.size(); ++i) {
      if (!sorted[i]) return wrong(fmt::format("vertex '{}' is on or behind a cycle; a job graph has none", vertices_[i].name));
    }
  }
  return {};
}

}  // namespace weir
