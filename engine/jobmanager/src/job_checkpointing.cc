#include "weir/jobmanager/job_checkpointing.h"

#include <map>

#include "weir/base/check.h"
#include "weir/rescale/state_assignment.h"

namespace weir {

class JobCheckpointing::Timer final : public CheckpointTimer {
 public:
  Timer(ActorLoop& loop) : loop_(loop) {}

  Id schedule(Nanos at, std::function<void()> action) override {
    const Id id = ++last_;
    timers_[id] = loop_.postAt(Deadline::work(at), {"checkpoint timer", [this, id, action = std::move(action)] {
                                                      timers_.erase(id);
                                                      action();
                                                    }});
    return id;
  }
  void cancel(Id id) override {
    const auto found = timers_.find(id);
    if (found == timers_.end()) return;
    loop_.cancel(found->second);
    timers_.erase(found);
  }

 private:
  ActorLoop& loop_;
  Id last_ = kNone;
  std::map<Id, ActorLoop::TimerId> timers_;
};

/// One actor, so that what is written is not deleted before it is there. Shared with that actor, which may be in a call when the job ends.
class JobCheckpointing::Io final : public CheckpointIo {
 public:
  explicit Io(JobMaster& master) : master_(master), loop_(std::make_shared<Loop>()) {
    master.world().executor.spawn({.name = "checkpoint io " + master.job().toString(), .clock = &master.clock(), .process = "jobmanager"},
                                  [loop = loop_](ExecutionContext& context) {
                                    loop->context = &context;
                                    loop->mails.run(context);
                                  });
  }
  ~Io() { loop_->mails.stop(); }

  void run(std::function<void()> work, std::function<void()> done) override {
    // The JobMaster may be gone when the work is: its mailbox is not, as long as it is held here.
    auto self = master_.shared_from_this();
    loop_->mails.post({"checkpoint io", [self, loop = loop_.get(), work = std::move(work), done = std::move(done)]() mutable {
                         loop->context->blocking(work);
                         self->loop().post({"checkpoint io done", std::move(done)});
                       }});
  }

 private:
  struct Loop {
    ActorLoop mails;
    ExecutionContext* context = nullptr;
  };
  JobMaster& master_;
  std::shared_ptr<Loop> loop_;
};

class JobCheckpointing::Executions final : public CheckpointPlanSource {
 public:
  explicit Executions(const Scheduler& scheduler) : scheduler_(scheduler) {}
  CheckpointExecution execution(int32_t task) const override {
    const Execution& current = scheduler_.graph().task(task).current;
    return {current.id, current.state, scheduler_.gatewayOf(task)};
  }

 private:
  const Scheduler& scheduler_;
};

namespace {

/// The scheduler hears of it as a mail: the coordinator may be in the middle of something that the failure would change.
CheckpointFailureCallback failuresTo(JobMaster& master, Scheduler& scheduler) {
  return {[&](std::shared_ptr<const Throwable> why) {
            master.loop().post({"checkpoint failure", [&scheduler, why] { scheduler.failGlobally(why); }});
          },
          [&](std::shared_ptr<const Throwable> why, const ExecutionAttemptID& attempt) {
            master.loop().post({"checkpoint failure", [&scheduler, why, attempt] { scheduler.failGloballyIfRunning(attempt, why); }});
          }};
}

JobEnd endOf(JobStatus status) {
  switch (status) {
    case JobStatus::kFinished:
      return JobEnd::kFinished;
    case JobStatus::kCanceled:
      return JobEnd::kCanceled;
    case JobStatus::kFailed:
      return JobEnd::kFailed;
    default:
      return JobEnd::kSuspended;
  }
}

}  // namespace

JobCheckpointing::JobCheckpointing(JobMaster& master, Scheduler& scheduler, JobCheckpointingOptions options)
    : scheduler_(scheduler), initial_(std::move(options.initial)), allowNonRestoredState_(initial_ && initial_->allowNonRestoredState),
      topology_(CheckpointTopology::of(scheduler.graph().graph())), timer_(std::make_unique<Timer>(master.loop())),
      io_(std::make_unique<Io>(master)), executions_(std::make_unique<Executions>(scheduler)),
      coordinator_(master.job(), options.configuration,
                   {.log = master.world().log,
                    .clock = master.clock(),
                    .random = Random(master.world().executor.seed(), "checkpoint coordinator " + master.job().toString()),
                    .timer = *timer_,
                    .io = *io_,
                    .storage = options.storage,
                    .topology = topology_,
                    .executions = *executions_,
                    .failure = failuresTo(master, scheduler),
                    .sharedState = options.sharedState,
                    .trace = options.trace}),
      deactivator_(master.world().log, coordinator_) {
  WEIR_CHECK_EQ(topology_->taskCount(), scheduler.graph().taskCount());
}

JobCheckpointing::~JobCheckpointing() = default;

JobMaster::CheckpointingFactory JobCheckpointing::factory(JobCheckpointingOptions options) {
  return [options = std::move(options)](JobMaster& master, Scheduler& scheduler) mutable {
    return std::make_unique<JobCheckpointing>(master, scheduler, std::move(options));
  };
}

void JobCheckpointing::onTaskState(int32_t task, ExecutionState, ExecutionState to) {
  deactivator_.onTaskState(scheduler_.graph().task(task).current.id, to);
}

void JobCheckpointing::onTaskLost(const ExecutionAttemptID& attempt, const std::shared_ptr<const Throwable>& cause) {
  coordinator_.failUnacknowledgedPendingCheckpointsFor(attempt, cause);
}

void JobCheckpointing::onJobStatus(JobStatus, JobStatus to) { deactivator_.onJobStatus(toString(to)); }

Result<std::vector<RestoredTask>> JobCheckpointing::restoreFor(std::span<const int32_t> tasks) {
  std::shared_ptr<const CompletedCheckpoint> checkpoint;
  if (initial_) {
    InitialCheckpoint from = *std::exchange(initial_, std::nullopt);
    checkpoint = coordinator_.restoreFrom(from.path, from.checkpointId, std::move(from.operators), from.mode, from.allowNonRestoredState);
  } else {
    checkpoint = coordinator_.restoreLatest();
  }
  if (!checkpoint) return std::vector<RestoredTask>(tasks.size());
  return assign(*checkpoint, tasks);
}

Result<std::vector<RestoredTask>> JobCheckpointing::assign(const CompletedCheckpoint& checkpoint, std::span<const int32_t> tasks) const {
  // A region concerns few vertices: only theirs are worked out. A checkpoint's operators were checked when the job started from it, or are
  // this job's own.
  std::vector<int32_t> targetOf(topology_->vertices.size(), -1);
  std::vector<RestoreTarget> targets;
  for (const int32_t task : tasks) {
    int32_t& target = targetOf[topology_->vertexOfTask[task]];
    if (target >= 0) continue;
    target = static_cast<int32_t>(targets.size());
    const CheckpointVertex& vertex = topology_->vertexOf(task);
    RestoreTarget& made = targets.emplace_back(RestoreTarget{vertex.name, vertex.parallelism, vertex.maxParallelism, true, {}, {}});
    for (const ChainedOperator& op : vertex.operators) made.operators.push_back(op.id);
  }
  for (const int32_t task : tasks) {
    const int32_t vertex = topology_->vertexOfTask[task];
    auto& inputs = targets[targetOf[vertex]].inputs;
    if (!inputs.empty()) continue;
    for (const auto& input : topology_->vertices[vertex].inputs)
      inputs.push_back({targetOf[input.vertex], input.output, input.partitioner});
  }
  const bool isWhole = targets.size() == topology_->vertices.size();
  WEIR_ASSIGN(auto assignments, assignStates(checkpoint.operators, targets, allowNonRestoredState_ || !isWhole, checkpoint.toString()));
  std::vector<RestoredTask> restored;
  restored.reserve(tasks.size());
  for (const int32_t task : tasks) {
    const int32_t vertex = topology_->vertexOfTask[task];
    auto& subtasks = assignments[targetOf[vertex]].subtasks;
    restored.push_back(
        {checkpoint.id, std::make_shared<TaskStateSnapshot>(std::move(subtasks[task - topology_->vertices[vertex].firstTask]))});
  }
  return restored;
}

void JobCheckpointing::shutdown(JobStatus status, std::function<void()> done) { coordinator_.shutdown(endOf(status), std::move(done)); }

}  // namespace weir
