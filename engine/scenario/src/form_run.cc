#include "form_run.h"

#include <algorithm>

#include "weir/api/make_executor.h"
#include "weir/api/mini_cluster.h"
#include "weir/base/log_sinks.h"
#include "weir/config/weir_options.h"
#include "weir/scenario/job_builder.h"

namespace weir {
namespace {

constexpr double kVirtualSeconds = 10;

/// Counters of the attempts seen so far: they live on when their tasks have ended.
class Observer {
 public:
  /// `partitions`: of tasks that run in this very thread.
  Observer(const JobGraph& graph, bool partitions) : graph_(graph), partitions_(partitions) {}

  void look(ExecutionContext& context, MiniCluster& cluster) {
    for (const auto& task : cluster.runningTasks(context)) {
      TaskEnvironment& environment = task->environment();
      if (partitions_) outputs_[{indexOf(*task), environment.subtask()}] = environment.partitions;
      const bool isSource = task->factory().chain().operators.front().factory->isSource();
      for (const auto& metrics : environment.operatorMetrics->all()) {
        const bool head = isSource && metrics->id == task->factory().chain().operators.front().id;
        seen_[metrics->name][environment.subtask()] = {metrics, head};
      }
    }
  }
  int64_t sourceRecords() const {
    int64_t records = 0;
    for (const auto& [name, subtasks] : seen_)
      for (const auto& [subtask, seen] : subtasks)
        if (seen.isSource) records += seen.metrics->numRecordsOut.load();
    return records;
  }
  void report(FormRun& run) const {
    run.sourceRecords = sourceRecords();
    for (const auto& [name, subtasks] : seen_) {
      for (const auto& [subtask, seen] : subtasks) {
        run.recordsIn[name][subtask] = seen.metrics->numRecordsIn.load();
        run.lateRecords += seen.metrics->numLateRecordsDropped.load();
      }
    }
    for (const auto& [producer, partitions] : outputs_) {
      for (size_t i = 0; i < partitions.size(); ++i) {
        const auto& to = graph_.dataSets()[static_cast<size_t>(graph_.vertex(producer.first).outputs[i])];
        for (const ChainedOperator& into : graph_.vertex(to.consumer).operators) run.bytesInto[into.name] += partitions[i]->numBytesOut();
      }
    }
  }

 private:
  struct Seen {
    std::shared_ptr<OperatorMetrics> metrics;
    bool isSource = false;
  };
  int32_t indexOf(const Task& task) const {
    const OperatorID head = task.factory().chain().operators.front().id;
    const auto& vertices = graph_.vertices();
    const auto found = std::find_if(vertices.begin(), vertices.end(), [&](const JobVertex& v) { return v.operators.front().id == head; });
    return static_cast<int32_t>(found - vertices.begin());
  }

  const JobGraph& graph_;
  const bool partitions_;
  std::map<std::pair<int32_t, int32_t>, std::vector<std::shared_ptr<ResultPartition>>> outputs_;  ///< by vertex and subtask
  std::map<std::string, std::map<int32_t, Seen>> seen_;
};

std::string rootOf(const Throwable& failure) {
  const Throwable* at = &failure;
  while (at->cause()) at = at->cause().get();
  return at->message().empty() ? at->what() : at->message();
}

class Client {
 public:
  Client(World world, const std::shared_ptr<const JobGraph>& graph, const Configuration& configuration, const FormRunOptions& options,
         FormRun& run)
      : world_(world), graph_(graph), configuration_(configuration), options_(options), run_(run) {}

  Result<void> operator()(ExecutionContext& context) {
    WEIR_ASSIGN(const auto cluster, MiniCluster::start(world_, configuration_, slotsNeeded(*graph_)));
    auto master = cluster->submit(graph_, configuration_);
    if (master.has_value()) watch(context, *cluster, **master);
    cluster->stop(context);
    if (master.has_error()) return master.error();
    return {};
  }

 private:
  void watch(ExecutionContext& context, MiniCluster& cluster, JobMaster& master) {
    Observer observer(*graph_, options_.executor == "simulated");
    bool failed = options_.fail.empty();
    while (!master.done().isSet()) {
      context.wait(WaitReason::kInputOrMail, {&master.done()}, Deadline::housekeeping(context.clock().monotonic() + Millis(5)));
      if (master.done().isSet()) break;
      observer.look(context, cluster);
      if (failed || observer.sourceRecords() * 2 < options_.spreadOver) continue;
      failed = cluster.failSubtask(context, options_.fail, options_.failSubtask,
                                   std::make_shared<Throwable>("java.lang.Exception", "failed by weir validate"));
    }
    observer.report(run_);
    const JobResult& result = master.result();
    run_.restarts = result.restarts;
    if (result.status != JobStatus::kFinished) run_.failure = result.failure ? rootOf(*result.failure) : "the job did not finish";
    const auto reply = master.requestSnapshot();
    context.wait(WaitReason::kInputOrMail, {&reply->ready()});
    const JobSnapshot snapshot = reply->take();
    if (!snapshot.checkpoints) return;
    for (const auto& checkpoint : snapshot.checkpoints->history) run_.stateBytes = std::max(run_.stateBytes, checkpoint->stateSize);
  }

  World world_;
  const std::shared_ptr<const JobGraph>& graph_;
  const Configuration& configuration_;
  const FormRunOptions& options_;
  FormRun& run_;
};

Configuration configured(const Configuration& configuration, const FormRunOptions& options) {
  Configuration result = configuration;
  // A run for comparison leaves nothing behind and begins with nothing.
  for (const char* key : {"execution.checkpointing.dir", "state.checkpoints.dir", "execution.checkpointing.interval",
                          "execution.state-recovery.path", "weir.trace.path", "restart-strategy.type"})
    result.remove(key);
  result.setText(kExecutor.key, options.executor);
  if (options.spreadOver == 0) return result;
  if (options.checkpoints) result.setText("execution.checkpointing.interval", "1 s");
  result.setText("restart-strategy.type", "fixed-delay");
  result.setText("restart-strategy.fixed-delay.attempts", "3");
  result.setText("restart-strategy.fixed-delay.delay", "10 ms");
  return result;
}

void gather(const BuiltJob& built, size_t groupColumns, bool stamps, FormRun& run) {
  const auto& [sink, rows] = *built.printed.begin();
  run.schema = built.schemas.at(sink);
  for (Row& row : rows->values()) {
    RowKey group;
    group.first = std::move(row.values[0]);
    for (size_t i = 1; i < groupColumns; ++i) group.rest.push_back(std::move(row.values[i]));
    if (stamps) {
      run.times[group].push_back(std::get<int64_t>(row.values.back()));
      row.values.pop_back();
    }
    row.values.erase(row.values.begin(), row.values.begin() + static_cast<ptrdiff_t>(groupColumns));
    run.groups[std::move(group)].push_back(std::move(row.values));
  }
}

}  // namespace

Result<FormRun> runForm(const ScenarioFile& file, const Configuration& configuration, FileSystem& files, size_t groupColumns,
                        const FormRunOptions& options) {
  const Configuration full = configured(configuration, options);
  StreamExecutionEnvironment env(full);
  BuildOptions build{.collectPrints = true, .stampPrints = options.stamps};
  if (options.spreadOver > 0) build.recordsPerSecond = std::max(1.0, static_cast<double>(options.spreadOver) / kVirtualSeconds);
  WEIR_ASSIGN(const BuiltJob built, buildJob(file, env, files, build));
  WEIR_ASSIGN(const auto graph, env.getJobGraph(file.name));
  WEIR_ASSIGN(const auto executor, makeExecutor(full, options.seed));
  NullLogSink log;
  FormRun run;
  Result<void> ran;
  try {
    executor->run("client", [&](ExecutionContext& context) { ran = Client({*executor, files, log}, graph, full, options, run)(context); });
  } catch (const std::exception& e) {  // a deadlock or livelock that the simulation has found
    run.failure = e.what();
  }
  if (ran.has_error()) return ran.error();
  gather(built, groupColumns, options.stamps, run);
  return run;
}

}  // namespace weir
