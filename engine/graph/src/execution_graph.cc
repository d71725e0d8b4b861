#include "weir/graph/execution_graph.h"

#include "weir/base/check.h"
#include "weir/graph/connections.h"

namespace weir {
namespace {

using S = ExecutionState;
using J = JobStatus;

bool isLegal(S from, S to) {
  if (isTerminal(from)) return false;
  switch (to) {
    case S::kCreated: return false;
    case S::kScheduled: return from == S::kCreated;
    case S::kDeploying: return from == S::kScheduled;
    case S::kInitializing: return from == S::kDeploying;
    case S::kRunning: return from == S::kInitializing;
    case S::kFinished: return from == S::kDeploying || from == S::kInitializing || from == S::kRunning;
    case S::kCanceling: return from != S::kCanceling;
    case S::kCanceled: return from == S::kCanceling;
    case S::kFailed: return from != S::kCanceling;
  }
  return false;
}

bool isLegal(J from, J to) {
  if (isTerminal(from)) return false;
  switch (to) {
    case J::kInitializing: return false;
    case J::kCreated: return from == J::kInitializing;
    case J::kRunning: return from == J::kCreated || from == J::kRestarting;
    case J::kRestarting: return from == J::kRunning;
    case J::kFailing: return from == J::kCreated || from == J::kRunning || from == J::kRestarting;
    case J::kFailed: return from == J::kFailing;
    case J::kCancelling: return from != J::kCancelling && from != J::kInitializing;
    case J::kCanceled: return from == J::kCancelling;
    case J::kFinished: return from == J::kRunning;
  }
  return false;
}

}  // namespace

ExecutionGraph::ExecutionGraph(std::shared_ptr<const JobGraph> graph, JobID job, ExecutionGraphID id, LogSink& log, const Clock& clock,
                               size_t maxPriorAttempts)
    : graph_(std::move(graph)), graphHash_(graph_->hash()), job_(job), id_(id),
      log_(log, "org.apache.flink.runtime.executiongraph.ExecutionGraph"), clock_(clock), maxPriorAttempts_(maxPriorAttempts),
      allProducers_(graph_->dataSets().size()) {
  buildTasks();
  buildRegions();
  statusTimestampsMs_[static_cast<size_t>(J::kCreated)] = clock_.epochMillis();
  log_.info("Created execution graph {} for job {}.", id_.toString(), job_.toString());
}

void ExecutionGraph::buildTasks() {
  const int64_t now = clock_.epochMillis();
  firstTask_.resize(graph_->vertices().size());
  tasks_.reserve(static_cast<size_t>(graph_->totalTasks()));
  for (const int32_t v : graph_->topological()) {
    const JobVertex& vertex = graph_->vertex(v);
    firstTask_[v] = taskCount();
    for (int32_t i = 0; i < vertex.parallelism; ++i) {
      ExecutionVertex& task = tasks_.emplace_back();
      task.vertex = v;
      task.subtask = i;
      task.name = fmt::format("{} ({}/{})", vertex.name, i + 1, vertex.parallelism);
      task.current.id = {id_, vertex.id, i, 0};
      task.current.timestampsMs[static_cast<size_t>(S::kCreated)] = now;
    }
  }
  WEIR_CHECK_EQ(static_cast<int64_t>(tasks_.size()), graph_->totalTasks());
  counts_[static_cast<size_t>(S::kCreated)] = taskCount();
}

void ExecutionGraph::buildRegions() {
  std::vector<int32_t> leader(tasks_.size());
  for (size_t i = 0; i < leader.size(); ++i) leader[i] = static_cast<int32_t>(i);
  const auto find = [&](int32_t t) {
    while (leader[t] != t) t = leader[t] = leader[leader[t]];
    return t;
  };
  // The smaller index leads, so that the leader of a region is its first task.
  const auto join = [&](int32_t a, int32_t b) {
    a = find(a);
    b = find(b);
    leader[std::max(a, b)] = std::min(a, b);
  };
  for (const IntermediateDataSet& set : graph_->dataSets()) {
    const int32_t producers = graph_->vertex(set.producer).parallelism;
    const int32_t consumers = graph_->vertex(set.consumer).parallelism;
    // An all-to-all edge connects everything: a star through the first producer says the same with a step per task, not per pair.
    const bool star = set.pattern == DistributionPattern::kAllToAll;
    for (int32_t p = 0; star && p < producers; ++p) join(taskOf(set.producer, p), taskOf(set.producer, 0));
    for (int32_t c = 0; c < consumers; ++c) {
      const auto read = consumedBy(set.pattern, producers, consumers, c);
      const int32_t count = star ? 1 : read.producers;
      for (int32_t p = 0; p < count; ++p) join(taskOf(set.consumer, c), taskOf(set.producer, read.firstProducer + p));
    }
  }
  std::vector<int32_t> regionOfLeader(tasks_.size(), -1);
  std::vector<int32_t> sizes;
  for (int32_t t = 0; t < taskCount(); ++t) {
    int32_t& region = regionOfLeader[find(t)];
    if (region < 0) {
      region = static_cast<int32_t>(sizes.size());
      sizes.push_back(0);
    }
    tasks_[t].region = region;
    ++sizes[region];
  }
  regionStart_.assign(1, 0);
  for (const int32_t size : sizes) regionStart_.push_back(regionStart_.back() + size);
  regionTasks_.resize(tasks_.size());
  std::vector<int32_t> next(regionStart_.begin(), regionStart_.end() - 1);
  for (int32_t t = 0; t < taskCount(); ++t) regionTasks_[next[tasks_[t].region]++] = t;
}

std::span<const int32_t> ExecutionGraph::region(int32_t region) const {
  return std::span(regionTasks_).subspan(regionStart_[region], regionStart_[region + 1] - regionStart_[region]);
}

int32_t ExecutionGraph::find(const ExecutionAttemptID& attempt) const {
  if (attempt.graph != id_) return -1;
  const int32_t vertex = graph_->indexOf(attempt.vertex);
  if (vertex < 0 || attempt.subtask < 0 || attempt.subtask >= graph_->vertex(vertex).parallelism) return -1;
  const int32_t task = taskOf(vertex, attempt.subtask);
  return tasks_[task].current.id.attempt == attempt.attempt ? task : -1;
}

bool ExecutionGraph::allTerminal() const {
  return countIn(S::kFinished) + countIn(S::kCanceled) + countIn(S::kFailed) == taskCount();
}

bool ExecutionGraph::transition(int32_t index, ExecutionState to, std::shared_ptr<const Throwable> failure) {
  ExecutionVertex& task = tasks_[index];
  Execution& execution = task.current;
  const ExecutionState from = execution.state;
  if (!isLegal(from, to)) return false;
  execution.state = to;
  execution.timestampsMs[static_cast<size_t>(to)] = clock_.epochMillis();
  --counts_[static_cast<size_t>(from)];
  ++counts_[static_cast<size_t>(to)];
  if (to == S::kFailed) execution.failure = failure;
  logTransition(task, from, failure);
  if (listener_) listener_->onTaskState(index, from, to);
  return true;
}

void ExecutionGraph::logTransition(const ExecutionVertex& task, ExecutionState from,
                                   const std::shared_ptr<const Throwable>& failure) const {
  if (!log_.enabled(LogLevel::kInfo)) return;
  const Execution& e = task.current;
  const std::string line = fmt::format("{} ({}) switched from {} to {}", task.name, e.id.toString(), toString(from), toString(e.state));
  if (e.state == S::kFailed) {
    log_.info("{} on {}.{}{}", line, e.location.empty() ? "[unassigned resource]" : e.location, failure ? "\n" : "",
              failure ? failure->trace() : "");
    return;
  }
  log_.info("{}.", line);
  if (e.state == S::kDeploying) {
    log_.info("Deploying {} (attempt #{}) with attempt id {} and vertex id {}_{} to {} with allocation id {}", task.name, e.id.attempt,
              e.id.toString(), e.id.vertex.toString(), task.subtask, e.location, e.allocation.toString());
  }
}

void ExecutionGraph::assignSlot(int32_t task, const AllocationID& allocation, std::string location, std::string taskManager) {
  tasks_[task].current.allocation = allocation;
  tasks_[task].current.location = std::move(location);
  tasks_[task].current.taskManager = std::move(taskManager);
}

void ExecutionGraph::assignRestore(int32_t task, int64_t checkpointId, std::shared_ptr<const TaskStateSnapshot> state) {
  tasks_[task].current.restoreCheckpointId = checkpointId;
  tasks_[task].current.restore = std::move(state);
}

void ExecutionGraph::startNextAttempt(int32_t index) {
  ExecutionVertex& task = tasks_[index];
  WEIR_CHECK(isTerminal(task.current.state), "{} is still {}", task.name, toString(task.current.state));
  Execution next;
  next.id = task.current.id;
  ++next.id.attempt;
  next.timestampsMs[static_cast<size_t>(S::kCreated)] = clock_.epochMillis();
  --counts_[static_cast<size_t>(task.current.state)];
  ++counts_[static_cast<size_t>(S::kCreated)];
  task.current.restore = nullptr;  // an old attempt keeps no state alive
  task.prior.push_back(std::move(task.current));
  if (task.prior.size() > maxPriorAttempts_) task.prior.pop_front();
  task.current = std::move(next);
  for (const int32_t set : graph_->vertex(task.vertex).outputs) allProducers_[set] = {};
}

ResultPartitionID ExecutionGraph::partitionOf(const IntermediateDataSet& set, int32_t producerSubtask) const {
  return {{set.id, producerSubtask}, tasks_[taskOf(set.producer, producerSubtask)].current.id};
}

std::vector<ResultPartitionDeployment> ExecutionGraph::outputsOf(const ExecutionVertex& task) const {
  std::vector<ResultPartitionDeployment> outputs;
  for (const int32_t index : graph_->vertex(task.vertex).outputs) {
    const IntermediateDataSet& set = graph_->dataSets()[index];
    const int32_t producers = graph_->vertex(set.producer).parallelism, consumers = graph_->vertex(set.consumer).parallelism;
    outputs.push_back({{set.id, task.subtask}, subpartitionsOf(set.pattern, producers, consumers, task.subtask)});
  }
  return outputs;
}

InputGateDeployment ExecutionGraph::gateOf(const ExecutionVertex& task, int32_t index) {
  const IntermediateDataSet& set = graph_->dataSets()[index];
  const int32_t producers = graph_->vertex(set.producer).parallelism, consumers = graph_->vertex(set.consumer).parallelism;
  const auto read = consumedBy(set.pattern, producers, consumers, task.subtask);
  const bool shared = set.pattern == DistributionPattern::kAllToAll;
  Producers from = shared ? allProducers_[index] : Producers();
  if (!from.partitions) {
    from = producersOf(set, read.firstProducer, read.producers);
    if (shared) allProducers_[index] = from;
  }
  return {set.id, std::move(from.partitions), read.subpartition, std::move(from.taskManagers)};
}

ExecutionGraph::Producers ExecutionGraph::producersOf(const IntermediateDataSet& set, int32_t first, int32_t count) const {
  std::vector<ResultPartitionID> partitions;
  std::vector<std::string> taskManagers;
  partitions.reserve(count);
  taskManagers.reserve(count);
  for (int32_t p = first; p < first + count; ++p) {
    partitions.push_back(partitionOf(set, p));
    taskManagers.push_back(tasks_[taskOf(set.producer, p)].current.taskManager);
  }
  return {std::make_shared<const std::vector<ResultPartitionID>>(std::move(partitions)),
          std::make_shared<const std::vector<std::string>>(std::move(taskManagers))};
}

TaskDeployment ExecutionGraph::deploymentOf(int32_t index) {
  const ExecutionVertex& task = tasks_[index];
  const JobVertex& vertex = graph_->vertex(task.vertex);
  TaskDeployment d;
  d.job = job_;
  d.jobName = graph_->name();
  d.graphHash = graphHash_;
  d.attempt = task.current.id;
  d.vertexName = vertex.name;
  d.parallelism = vertex.parallelism;
  d.maxParallelism = vertex.maxParallelism;
  d.allocation = task.current.allocation;
  d.outputs = outputsOf(task);
  for (const int32_t set : vertex.inputs) d.inputs.push_back(gateOf(task, set));
  d.restoreCheckpointId = task.current.restoreCheckpointId;
  d.restore = task.current.restore;
  return d;
}

void ExecutionGraph::switchJob(JobStatus to, const std::shared_ptr<const Throwable>& failure) {
  const JobStatus from = status_;
  WEIR_CHECK(isLegal(from, to), "job {} from {} to {}", graph_->name(), toString(from), toString(to));
  status_ = to;
  statusTimestampsMs_[static_cast<size_t>(to)] = clock_.epochMillis();
  log_.info("Job {} ({}) switched from state {} to {}.{}{}", graph_->name(), job_.toString(), toString(from), toString(to),
            failure ? "\n" : "", failure ? failure->trace() : "");
  if (listener_) listener_->onJobStatus(from, to);
}

}  // namespace weir
