#include "weir/jobmanager/job_master.h"

#include "weir/jobmanager/checkpoint_coordinator.h"

#include "weir/base/check.h"

namespace weir {
namespace {

/// Answers a question even where its mail is dropped because the actor has ended.
class Question {
 public:
  Question(std::shared_ptr<Reply<JobSnapshot>> reply, std::function<JobSnapshot()> otherwise)
      : reply_(std::move(reply)), otherwise_(std::move(otherwise)) {}
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question() {
    if (!answered_) reply_->set(otherwise_());
  }
  void answer(JobSnapshot snapshot) {
    answered_ = true;
    reply_->set(std::move(snapshot));
  }

 private:
  std::shared_ptr<Reply<JobSnapshot>> reply_;
  std::function<JobSnapshot()> otherwise_;
  bool answered_ = false;
};

}  // namespace

std::shared_ptr<JobMaster> JobMaster::create(World world, std::shared_ptr<const JobGraph> graph, JobID job, Options options,
                                             CheckpointingFactory checkpointing) {
  return std::shared_ptr<JobMaster>(new JobMaster(world, std::move(graph), job, std::move(options), std::move(checkpointing)));
}

JobMaster::JobMaster(World world, std::shared_ptr<const JobGraph> graph, JobID job, Options options, CheckpointingFactory checkpointing)
    : world_(world), clock_(options.clock ? *options.clock : world.executor.clock()), graph_(std::move(graph)), job_(job),
      options_(std::move(options)), checkpointingFactory_(std::move(checkpointing)),
      log_(world.log, "org.apache.flink.runtime.jobmaster.JobMaster") {
  final_.job = job_;
  final_.graph = graph_;
  log_.info("Initializing job '{}' ({}).", graph_->name(), job_.toString());
  scheduler_ = std::make_unique<Scheduler>(Scheduler::Environment{loop_, clock_, world_.log, world_.executor.seed()}, graph_, job_,
                                           options_.scheduler, [this] { onTerminal(); });
}

JobMaster::~JobMaster() = default;

void JobMaster::start() {
  post("start job", [this] { initialize(); });
  world_.executor.spawn({.name = "job master " + job_.toString(), .clock = options_.clock, .process = "jobmanager"},
                        [self = shared_from_this()](ExecutionContext& context) { self->run(context); });
}

void JobMaster::run(ExecutionContext& context) {
  // Also where the process is killed: who waits for the job is told.
  struct Finish {
    JobMaster& master;
    ~Finish() { master.finish(); }
  } finish{*this};
  loop_.run(context);
}

void JobMaster::initialize() {
  if (checkpointingFactory_) {
    checkpointing_ = checkpointingFactory_(*this, *scheduler_);
    scheduler_->setCheckpointing(checkpointing_.get());
  }
  scheduler_->start();
}

void JobMaster::onTerminal() {
  const auto stop = [this] {
    const std::string why = fmt::format("Stopping JobMaster for job '{}' ({}).", graph_->name(), job_.toString());
    log_.info("Stopping the JobMaster for job '{}' ({}).", graph_->name(), job_.toString());
    for (const std::string& id : taskManagers_) log_.info("Disconnect TaskExecutor {} because: {}", id, why);
    publish();  // before stop(), which answers the questions that are queued
    loop_.stop();
  };
  if (checkpointing_) checkpointing_->shutdown(scheduler_->graph().status(), stop);
  else stop();
}

void JobMaster::publish() {
  JobSnapshot last = snapshot();
  Lock lock(mutex_);
  final_ = std::move(last);
}

void JobMaster::finish() {
  publish();
  const JobSnapshot last = finalSnapshot();
  result_.status = last.status;
  result_.failure = last.failure;
  result_.exceptions = last.exceptions;
  result_.restarts = last.restarts;
  const int64_t startedMs = last.statusTimestampsMs[static_cast<size_t>(JobStatus::kRunning)];
  const int64_t endedMs = last.statusTimestampsMs[static_cast<size_t>(last.status)];
  if (startedMs > 0 && endedMs > startedMs) result_.runtimeMs = endedMs - startedMs;
  loop_.stop();
  // Its timers are mails of this loop and its I/O actor holds this: it goes with the actor.
  scheduler_->setCheckpointing(nullptr);
  checkpointing_.reset();
  done_.set();
}

const JobResult& JobMaster::result() const {
  WEIR_CHECK(done_.isSet(), "the job has not ended");
  return result_;
}

JobSnapshot JobMaster::snapshot() const {
  const ExecutionGraph& graph = scheduler_->graph();
  JobSnapshot s;
  s.job = job_;
  s.graph = graph_;
  s.status = graph.status();
  for (size_t i = 0; i < s.statusTimestampsMs.size(); ++i) s.statusTimestampsMs[i] = graph.statusTimestampMs(static_cast<JobStatus>(i));
  s.nowMs = clock_.epochMillis();
  s.tasks.reserve(graph.taskCount());
  for (int32_t t = 0; t < graph.taskCount(); ++t) s.tasks.push_back(graph.task(t));
  s.failure = scheduler_->failure();
  s.exceptions = {scheduler_->history().entries().begin(), scheduler_->history().entries().end()};
  s.restarts = scheduler_->restarts();
  if (CheckpointCoordinator* coordinator = checkpointing_ ? checkpointing_->coordinator() : nullptr)
    s.checkpoints = coordinator->stats().snapshot();
  return s;
}

JobSnapshot JobMaster::finalSnapshot() const {
  Lock lock(mutex_);
  return final_;
}

std::shared_ptr<Reply<JobSnapshot>> JobMaster::requestSnapshot() {
  auto reply = std::make_shared<Reply<JobSnapshot>>();
  // The mail may be dropped by an actor that has just ended: `self` outlives it in the question.
  auto question = std::make_shared<Question>(reply, [self = shared_from_this()] { return self->finalSnapshot(); });
  post("snapshot of the job", [this, question] { question->answer(snapshot()); });
  return reply;
}

bool JobMaster::withCoordinator(std::function<void(CheckpointCoordinator*)> request) {
  return loop_.post({"request to the checkpoint coordinator", [this, request = std::move(request)] {
                       request(checkpointing_ ? checkpointing_->coordinator() : nullptr);
                     }});
}

void JobMaster::cancel() {
  post("cancel job", [this] { scheduler_->cancel(); });
}

void JobMaster::failGlobally(std::shared_ptr<const Throwable> failure) {
  post("fail job", [this, failure = std::move(failure)] { scheduler_->failGlobally(failure); });
}

void JobMaster::addTaskManager(TaskManagerSlots taskManager) {
  post("add TaskManager", [this, taskManager = std::move(taskManager)] {
    taskManagers_.push_back(taskManager.id);
    scheduler_->addTaskManager(taskManager);
  });
}

void JobMaster::taskManagerLost(std::string id, std::string why) {
  post("TaskManager lost", [this, id = std::move(id), why = std::move(why)] {
    std::erase(taskManagers_, id);
    scheduler_->taskManagerLost(id, why);
  });
}

void JobMaster::updateTaskExecutionState(TaskStateUpdate update) {
  post("task state", [this, update = std::move(update)] { scheduler_->updateTaskState(update); });
}

void JobMaster::acknowledgeCheckpoint(AcknowledgeCheckpoint message) {
  post("acknowledge checkpoint", [this, message = std::move(message)]() mutable {
    if (checkpointing_) checkpointing_->acknowledgeCheckpoint(std::move(message));
  });
}

void JobMaster::declineCheckpoint(DeclineCheckpoint message) {
  post("decline checkpoint", [this, message = std::move(message)]() mutable {
    if (checkpointing_) checkpointing_->declineCheckpoint(std::move(message));
  });
}

void JobMaster::reportWatermark(ReportWatermark message) {
  post("watermark report", [this, message = std::move(message)] {
    const int32_t task = scheduler_->graph().find(message.attempt);
    if (task < 0) return;  // of an attempt that is over
    const int64_t allowed = aligner_.report(message.attempt, message.report);
    if (const auto& taskManager = scheduler_->gatewayOf(task)) taskManager->announceAlignment({message.attempt, allowed});
  });
}

void JobMaster::reportCheckpointMetrics(ReportCheckpointMetrics message) {
  post("checkpoint metrics", [this, message = std::move(message)]() mutable {
    if (checkpointing_) checkpointing_->reportCheckpointMetrics(std::move(message));
  });
}

}  // namespace weir
