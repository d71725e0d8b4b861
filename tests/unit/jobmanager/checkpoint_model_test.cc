#include "checkpoint_fixture.h"
#include "support/seeds.h"

// A job whose tasks, storage, timers and I/O actor do what they like in any order, and what must hold all the same.
namespace weir::checkpointtest {
namespace {

using namespace std::chrono_literals;

class Model {
 public:
  explicit Model(uint64_t seed)
      : random_(seed, "model"), config_(randomConfig()), job_(config_, pipeline(static_cast<int32_t>(1 + random_.below(2))), seed) {
    job_.gateway->onTrigger = [this](const auto& m) { onTrigger(m); };
    job_.gateway->onConfirm = [this](const auto& m) { onConfirm(m); };
    job_.gateway->onAbort = [this](const auto& m) { onAbort(m); };
    job_.coordinator->startCheckpointScheduler();
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      step();
      checkRetained();
    }
    settle();
    checkNothingIsLeftBehind();
    checkFailureCounter();
  }

 private:
  struct Checkpoint {
    bool savepoint = false, synchronous = false;
    std::vector<ExecutionAttemptID> asked;      ///< who should acknowledge
    std::set<ExecutionAttemptID> acknowledged;  ///< with delivered messages
    bool confirmed = false, aborted = false;
  };

  CheckpointCoordinatorConfiguration randomConfig() {
    auto config = every(Millis(random_.between(10, 60)));
    config.minPause = Millis(random_.oneIn(2) ? 0 : random_.between(1, 80));
    config.timeout = Millis(random_.between(20, 200));
    config.maxConcurrentCheckpoints = static_cast<int32_t>(random_.between(1, 3));
    config.numRetained = static_cast<int32_t>(random_.between(1, 3));
    config.tolerableFailedCheckpoints = static_cast<int32_t>(random_.between(0, 3));
    return config;
  }

  // --- what may happen

  void step() {
    switch (random_.below(15)) {
      case 0:
      case 1:
        passTime(Nanos(random_.between(0, 30'000'000)));
        break;
      case 2:
      case 3:
      case 4:
        answer();
        break;
      case 5:
        answer(true);
        break;
      case 6:
      case 7:
        io_().workOne(random_.below(io_().waiting() + 1));
        break;
      case 8:
      case 9:
        io_().deliverOne(random_.below(io_().undelivered() + 1));
        break;
      case 10:
        acknowledgeAll();
        break;
      case 11:
        decline();
        break;
      case 12:
        toggleFault();
        break;
      case 13:
        if (random_.oneIn(3)) savepoint();
        break;
      default:
        if (random_.oneIn(6)) disturb();
        break;
    }
  }

  /// Work of the I/O actor may take any time, so nothing of it runs here.
  void passTime(Nanos by) {
    const Nanos until = job_.clock.now + by;
    while (job_.timer.runOne(until)) {
    }
    job_.clock.now = until;
  }

  /// Of all that was ever triggered, mostly the newest.
  int64_t someId() {
    if (checkpoints_.empty()) return 0;
    const int64_t newest = checkpoints_.rbegin()->first;
    return random_.oneIn(4) ? random_.between(1, newest) : std::max<int64_t>(1, newest - random_.between(0, 2));
  }

  void answer(bool stale = false) {
    const int64_t id = someId();
    if (id == 0) return;
    const auto task = static_cast<int32_t>(random_.below(job_.executions.tasks.size()));
    ExecutionAttemptID attempt = job_.executions.tasks[task].attempt;
    if (stale && attempt.attempt > 0) --attempt.attempt;
    acknowledge(id, task, attempt);
  }

  void acknowledge(int64_t id, int32_t task, const ExecutionAttemptID& attempt) {
    auto& state = sent_[{id, attempt}];  // a repeated message carries the same state
    if (!state) state = stateIn("/" + std::to_string(id) + "-" + attempt.toString(), OperatorID::of(0xdef, vertexOf(task)));
    if (const auto found = checkpoints_.find(id); found != checkpoints_.end()) found->second.acknowledged.insert(attempt);
    job_.coordinator->receiveAcknowledgeMessage({attempt, id, {}, state});
  }

  uint64_t vertexOf(int32_t task) const { return static_cast<uint64_t>(job_.topology->vertexOfTask[task]); }

  void acknowledgeAll() {
    const int64_t id = someId();
    if (id == 0) return;
    for (int32_t task = 0; task < job_.topology->taskCount(); ++task) acknowledge(id, task, job_.executions.tasks[task].attempt);
  }

  void decline() {
    const int64_t id = someId();
    constexpr Reason kReasons[] = {Reason::kCheckpointDeclined, Reason::kCheckpointAsyncException, Reason::kCheckpointDeclinedTaskNotReady,
                                   Reason::kCheckpointDeclinedOnCancellationBarrier};
    const auto task = random_.below(job_.executions.tasks.size());
    if (id > 0)
      job_.coordinator->receiveDeclineMessage(
          {job_.executions.tasks[task].attempt, id, std::make_shared<CheckpointException>(kReasons[random_.below(4)])});
  }

  void toggleFault() {
    const auto fault = random_.oneIn(2) ? FakeStorage::Fault::kInitialize : FakeStorage::Fault::kMetadata;
    auto& faults = job_.storage->faults;
    if (faults.erase(fault) == 0 && random_.oneIn(2)) faults.insert(fault);
  }

  void savepoint() {
    const auto format = random_.oneIn(2) ? SavepointFormat::kCanonical : SavepointFormat::kNative;
    if (random_.oneIn(4)) {
      job_.coordinator->triggerStopWithSavepoint("/sp", format, random_.oneIn(2), nullptr);
    } else {
      job_.coordinator->triggerSavepoint("/sp", format, nullptr);
    }
  }

  void disturb() {
    switch (random_.below(4)) {
      case 0: {
        const auto restored = job_.coordinator->restoreLatest();
        EXPECT_EQ(restored ? restored->id : 0, lastCompleted_);
        job_.restart();
        break;
      }
      case 1:
        job_.coordinator->stopCheckpointScheduler();
        break;
      case 2: {
        const auto task = random_.below(job_.executions.tasks.size());
        job_.coordinator->failUnacknowledgedPendingCheckpointsFor(job_.executions.tasks[task].attempt, nullptr);
        break;
      }
      default:
        break;
    }
    job_.coordinator->startCheckpointScheduler();
  }

  // --- what the tasks are told

  void onTrigger(const TriggerCheckpoint& message) {
    const int64_t id = message.checkpoint.checkpointId;
    if (checkpoints_.contains(id)) return;
    if (!checkpoints_.empty()) {
      EXPECT_GT(id, checkpoints_.rbegin()->first) << "ids grow";
    }
    Checkpoint& checkpoint = checkpoints_[id];
    checkpoint.savepoint = isSavepoint(message.options.type);
    checkpoint.synchronous = isSynchronous(message.options.type);
    for (const auto& task : job_.executions.tasks) checkpoint.asked.push_back(task.attempt);
    EXPECT_TRUE(checkpoint.savepoint || job_.storage->folders.contains(id)) << "the folder is made first";
    if (checkpoint.savepoint) return;
    EXPECT_LE(job_.coordinator->pendingCheckpoints(), config_.maxConcurrentCheckpoints);
    // Its folder may have been long in the making: only what had completed before its trigger matters.
    const auto before = completedAtMs_.lower_bound(message.checkpoint.timestampMs);
    if (before != completedAtMs_.begin()) {
      EXPECT_GE(message.checkpoint.timestampMs + 1, *std::prev(before) + config_.minPause.count());
    }
  }

  void onConfirm(const NotifyCheckpointComplete& message) {
    const int64_t id = message.checkpoint.checkpointId;
    Checkpoint& checkpoint = checkpoints_.at(id);
    EXPECT_TRUE(!checkpoint.savepoint || checkpoint.synchronous) << "a plain savepoint tells nobody";
    EXPECT_FALSE(checkpoint.aborted) << id;
    for (const auto& attempt : checkpoint.asked)
      EXPECT_TRUE(checkpoint.acknowledged.contains(attempt)) << "an acknowledgement of " << id << " is missing";
    EXPECT_TRUE(checkpoint.savepoint ? job_.storage->savepoints.at("/sp/savepoint-" + std::to_string(id)) : job_.storage->folders.at(id))
        << "_metadata of " << id << " is not durable";
    int64_t& last = told_[message.attempt];
    EXPECT_GT(id, last) << "completions of a task grow";
    last = id;
    if (message.subsumedCheckpointId >= 0) {
      EXPECT_LT(message.subsumedCheckpointId, id);
    }
    checkpoint.confirmed = true;
    if (!checkpoint.savepoint) lastCompleted_ = id;
  }

  void onAbort(const NotifyCheckpointAborted& message) {
    const auto found = checkpoints_.find(message.checkpoint.checkpointId);
    if (found != checkpoints_.end()) {
      EXPECT_FALSE(found->second.confirmed) << message.checkpoint.checkpointId;
      found->second.aborted = true;
    }
    // During a completion the older ones are aborted just before the tasks hear of it.
    EXPECT_EQ(message.latestCompletedCheckpointId, job_.coordinator->completedCheckpoints().latestId());
    EXPECT_GE(message.latestCompletedCheckpointId, lastCompleted_);
  }

  // --- what must hold

  void checkRetained() {
    for (const auto& kept : job_.coordinator->completedCheckpoints().all()) {
      EXPECT_TRUE(job_.storage->folders.contains(kept->id) && job_.storage->folders.at(kept->id)) << "retained " << kept->id;
      for (const OperatorState& op : kept->operators)
        for (const auto& [subtask, state] : op.subtasks)
          for (const auto& handle : state.managedOperator)
            EXPECT_FALSE(job_.storage->discardedFiles.contains(std::get<FileHandle>(handle.stream).path)) << "of retained " << kept->id;
    }
    const auto completed = job_.stats().counts.completed;
    if (completed != seenCompleted_) completedAtMs_.insert(job_.clock.epochMillis());
    seenCompleted_ = completed;
  }

  /// Without faults, with tasks that answer, checkpoints complete again within a bounded time.
  void settle() {
    job_.storage->faults.clear();
    io_().drain();
    if (!job_.coordinator->isPeriodicCheckpointingStarted()) job_.coordinator->startCheckpointScheduler();
    const int64_t before = lastCompleted_;
    const Nanos until = job_.clock.now + 10 * (config_.timeout + config_.baseInterval() + config_.minPause);
    while (lastCompleted_ == before && job_.clock.now < until && !::testing::Test::HasFailure()) {
      job_.advance(1ms);
      if (!checkpoints_.empty()) {
        const int64_t newest = checkpoints_.rbegin()->first;
        for (int32_t task = 0; task < job_.topology->taskCount(); ++task) acknowledge(newest, task, job_.executions.tasks[task].attempt);
      }
      io_().drain();
      checkRetained();
    }
    EXPECT_GT(lastCompleted_, before) << "no progress";
  }

  void checkNothingIsLeftBehind() {
    job_.coordinator->stopCheckpointScheduler();
    io_().drain();
    std::set<int64_t> kept, found;
    for (const auto& checkpoint : job_.coordinator->completedCheckpoints().all()) kept.insert(checkpoint->id);
    for (const auto& [id, metadata] : job_.storage->folders) found.insert(id);
    EXPECT_EQ(found, kept);
    EXPECT_LE(kept.size(), static_cast<size_t>(config_.numRetained));
    for (const auto& [path, metadata] : job_.storage->savepoints) EXPECT_TRUE(metadata) << path << " was aborted";
    EXPECT_EQ(job_.coordinator->checkpointsBeingCleaned(), 0);
    EXPECT_EQ(job_.coordinator->pendingCheckpoints(), 0);
    const auto counts = job_.stats().counts;
    EXPECT_EQ(counts.total, counts.completed + counts.failed);
    EXPECT_EQ(counts.inProgress, 0);
  }

  /// Counts the failures that the log tells of once more, and compares with what it printed and with how often the job failed.
  void checkFailureCounter() {
    int64_t lastSuccess = 0;
    std::set<int64_t> counted;
    size_t jobFailures = 0;
    int64_t declined = -1;
    for (const auto& line : job_.log.lines()) {
      int64_t id = 0;
      int consecutive = 0;
      if (std::sscanf(line.message.c_str(), "Decline checkpoint %ld", &id) == 1) declined = id;
      if (std::sscanf(line.message.c_str(), "Completed checkpoint %ld", &id) == 1 && id > lastSuccess) {
        lastSuccess = id;
        counted.clear();
      }
      if (std::sscanf(line.message.c_str(), "Failed to trigger or complete checkpoint %ld for job %*32s (%d", &id, &consecutive) < 1)
        continue;
      const std::string marker = ". (" + std::to_string(counted.size()) + " consecutive failed attempts so far)";
      EXPECT_NE(line.message.find(marker), std::string::npos) << line.message;
      const Checkpoint& checkpoint = checkpoints_[id];
      const bool byTask = declined == id;
      declined = -1;
      const bool savepoint = checkpoint.savepoint || savepointIds().contains(id);
      if (byTask && checkpoint.synchronous) {
        ++jobFailures;
        continue;
      }
      if ((savepoint && !byTask) || id <= lastSuccess) continue;
      bool counts = false;
      for (const char* text : {"IO-problem detected.", "Asynchronous task checkpoint failed.", "Checkpoint expired before completing.",
                               "Checkpoint was declined.", "Failure to finalize checkpoint."})
        counts = counts || line.message.find(text) != std::string::npos;
      if (counts) counted.insert(id);
      if (static_cast<int32_t>(counted.size()) > config_.tolerableFailedCheckpoints) {
        counted.clear();
        ++jobFailures;
      }
    }
    EXPECT_EQ(job_.failures.size(), jobFailures);
  }

  /// Also those that failed before any task heard of them.
  std::set<int64_t> savepointIds() const {
    std::set<int64_t> ids;
    int64_t id = 0;
    for (const auto& line : job_.log.lines())
      if (line.message.find("type=SavepointType") != std::string::npos &&
          std::sscanf(line.message.c_str(), "Triggering checkpoint %ld", &id) == 1)
        ids.insert(id);
    return ids;
  }

  ManualIo& io_() { return job_.io; }

  Random random_;
  CheckpointCoordinatorConfiguration config_;
  Job job_;
  std::map<int64_t, Checkpoint> checkpoints_;
  std::map<std::pair<int64_t, ExecutionAttemptID>, std::shared_ptr<const TaskStateSnapshot>> sent_;
  std::map<ExecutionAttemptID, int64_t> told_;
  int64_t lastCompleted_ = 0;
  int64_t seenCompleted_ = 0;
  std::set<int64_t> completedAtMs_;
};

TEST(CheckpointModel, HoldsItsInvariantsWhateverTheOrder) {
  for (const uint64_t seed : weir::testing::seeds(400)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model(seed).run(300);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weir::checkpointtest
