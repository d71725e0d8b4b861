#include "weir/operators/two_phase_commit_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/operator_harness.h"
#include "weir/operators/transactional_collect_sink.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Log = std::vector<std::string>;

/// Writes down what is asked of it; transactions are t1, t2, ... over all attempts.
class LoggingSink final : public TwoPhaseCommitSink<std::string, std::string> {
 public:
  struct Journal {
    Log calls;
    int begun = 0;
    std::string failing;  ///< the commit of this transaction fails

    Log take() { return std::exchange(calls, {}); }
  };
  LoggingSink(OperatorSetup setup, Journal& journal) : TwoPhaseCommitSink(std::move(setup)), journal_(journal) {}

 protected:
  std::string beginTransaction() override {
    const std::string id = "t" + std::to_string(++journal_.begun);
    journal_.calls.push_back("begin " + id);
    return id;
  }
  void write(std::string& current, std::span<StreamRecord<std::string>> records) override {
    for (const auto& record : records) journal_.calls.push_back("write " + record.value + " in " + current);
  }
  void preCommit(std::string& id) override { journal_.calls.push_back("preCommit " + id); }
  void commit(std::string& id) override {
    journal_.calls.push_back("commit " + id);
    if (id == journal_.failing) throw Throwable("java.io.IOException", "the store refuses " + id);
  }
  void abort(std::string& id) override { journal_.calls.push_back("abort " + id); }
  void recoverAndCommit(std::string& id) override { journal_.calls.push_back("recoverAndCommit " + id); }
  void recoverAndAbort(std::string& id) override { journal_.calls.push_back("recoverAndAbort " + id); }

 private:
  Journal& journal_;
};

class TwoPhaseCommitSinkTest : public ::testing::Test {
 protected:
  using Harness = testing::OperatorHarness<std::string>;
  std::unique_ptr<Harness> attempt(testing::HarnessOptions options = {}) {
    return std::make_unique<Harness>(
        machine_, [this](OperatorSetup setup) { return std::make_unique<LoggingSink>(std::move(setup), journal_); }, options);
  }
  testing::OperatorMachine machine_;
  LoggingSink::Journal journal_;
};

TEST_F(TwoPhaseCommitSinkTest, BeginsAtTheStartAndWritesIntoTheCurrentTransaction) {
  auto sink = attempt();
  sink->start();
  sink->process({"a", "b"});
  EXPECT_THAT(journal_.take(), ElementsAre("begin t1", "write a in t1", "write b in t1"));
}

TEST_F(TwoPhaseCommitSinkTest, SnapshotPreCommitsAndBeginsTheNextAndDoesNotCommit) {
  auto sink = attempt();
  sink->start();
  journal_.take();
  sink->snapshot(1);
  sink->process({"a"});
  EXPECT_THAT(journal_.take(), ElementsAre("preCommit t1", "begin t2", "write a in t2"));
}

TEST_F(TwoPhaseCommitSinkTest, CompletionCommitsTheTransactionOfThatCheckpoint) {
  auto sink = attempt();
  sink->start();
  sink->snapshot(1);
  journal_.take();
  sink->complete(1);
  EXPECT_THAT(journal_.take(), ElementsAre("commit t1"));
}

TEST_F(TwoPhaseCommitSinkTest, CompletionCommitsOlderOnesTooInOrderAndLeavesYoungerOnes) {
  auto sink = attempt();
  sink->start();
  for (int64_t id : {1, 2, 3}) sink->snapshot(id);
  journal_.take();
  sink->complete(2);
  EXPECT_THAT(journal_.take(), ElementsAre("commit t1", "commit t2"));
}

TEST_F(TwoPhaseCommitSinkTest, LateNotificationOfASubsumedCheckpointDoesNothing) {
  auto sink = attempt();
  sink->start();
  for (int64_t id : {1, 2}) sink->snapshot(id);
  sink->complete(2);
  journal_.take();
  sink->complete(1);
  EXPECT_THAT(journal_.take(), IsEmpty());
}

TEST_F(TwoPhaseCommitSinkTest, AbortedCheckpointKeepsItsTransactionForTheNextThatCompletes) {
  auto sink = attempt();
  sink->start();
  sink->snapshot(1);
  journal_.take();
  sink->abort(1);
  EXPECT_THAT(journal_.take(), IsEmpty());
  sink->snapshot(2);
  sink->complete(2);
  EXPECT_THAT(journal_.take(), ElementsAre("preCommit t2", "begin t3", "commit t1", "commit t2"));
}

TEST_F(TwoPhaseCommitSinkTest, FailedCommitDoesNotKeepOthersFromBeingCommittedAndIsThrownAtTheEnd) {
  auto sink = attempt();
  sink->start();
  for (int64_t id : {1, 2, 3}) sink->snapshot(id);
  journal_.take();
  journal_.failing = "t2";
  try {
    sink->complete(3);
    FAIL() << "the failure was swallowed";
  } catch (const Throwable& error) {
    EXPECT_THAT(error.message(), HasSubstr("checkpoint 2"));
    EXPECT_THAT(error.trace(), HasSubstr("the store refuses t2"));
  }
  EXPECT_THAT(journal_.take(), ElementsAre("commit t1", "commit t2", "commit t3"));
}

TEST_F(TwoPhaseCommitSinkTest, CloseAbortsTheCurrentTransactionAndNotThePendingOnes) {
  auto sink = attempt();
  sink->start();
  sink->snapshot(1);
  journal_.take();
  sink->close();
  EXPECT_THAT(journal_.take(), ElementsAre("abort t2"));
  sink->close();
  EXPECT_THAT(journal_.take(), IsEmpty());
}

TEST_F(TwoPhaseCommitSinkTest, CloseOfAnAttemptThatNeverStartedAbortsNothing) {
  attempt()->close();
  EXPECT_THAT(journal_.take(), IsEmpty());
}

TEST_F(TwoPhaseCommitSinkTest, RestoreCommitsThePendingOnesAbortsTheCurrentOneAndBeginsANewOne) {
  auto sink = attempt();
  sink->start();
  sink->snapshot(1);
  const auto state = sink->snapshot(2);
  journal_.take();
  auto next = attempt();
  next->restore(state);
  EXPECT_THAT(journal_.take(), ElementsAre("recoverAndCommit t1", "recoverAndCommit t2", "recoverAndAbort t3", "begin t4"));
}

TEST_F(TwoPhaseCommitSinkTest, WhatWasRecoveredIsNotInTheNextSnapshot) {
  auto sink = attempt();
  sink->start();
  const auto first = sink->snapshot(1);
  auto second = attempt();
  second->restore(first);
  const auto state = second->snapshot(2);
  journal_.take();
  auto third = attempt();
  third->restore(state);
  EXPECT_THAT(journal_.take(), ElementsAre("recoverAndCommit t3", "recoverAndAbort t4", "begin t5"));
}

TEST_F(TwoPhaseCommitSinkTest, OneSubtaskTakesOverTheTransactionsOfAllWhereTheParallelismShrinks) {
  std::vector<OperatorSubtaskState> states;
  for (int32_t subtask : {0, 1}) {
    auto sink = attempt({.subtask = subtask, .parallelism = 2});
    sink->start();
    states.push_back(sink->snapshot(1));
  }
  journal_.take();
  auto sink = attempt();
  sink->restore(testing::rescaled(states, 1).at(0));
  EXPECT_THAT(journal_.take(),
              ElementsAre("recoverAndCommit t1", "recoverAndAbort t2", "recoverAndCommit t3", "recoverAndAbort t4", "begin t5"));
}

TEST_F(TwoPhaseCommitSinkTest, AfterTheEndOfTheInputNoTransactionIsBegunAndTheFinalCheckpointCommitsTheLast) {
  auto sink = attempt();
  sink->start();
  sink->process({"a"});
  sink->finish();
  journal_.take();
  const auto state = sink->snapshot(1);
  EXPECT_THAT(journal_.take(), ElementsAre("preCommit t1"));
  sink->snapshot(2);
  EXPECT_THAT(journal_.take(), IsEmpty());
  sink->complete(2);
  sink->close();
  EXPECT_THAT(journal_.take(), ElementsAre("commit t1"));
  auto next = attempt();
  next->restore(state);
  EXPECT_THAT(journal_.take(), ElementsAre("recoverAndCommit t1", "begin t2"));
}

TEST_F(TwoPhaseCommitSinkTest, WithoutCheckpointingTheEndOfTheInputCommits) {
  auto sink = attempt({.checkpointing = false});
  sink->start();
  sink->process({"a"});
  journal_.take();
  sink->finish();
  sink->close();
  EXPECT_THAT(journal_.take(), ElementsAre("preCommit t1", "commit t1"));
}

/// Failure modes of exactly-once sinks, each against a store that outlives the attempts.
class FailureModeTest : public ::testing::Test {
 protected:
  using Harness = testing::OperatorHarness<int64_t>;
  std::unique_ptr<Harness> attempt(testing::HarnessOptions options = {}) {
    return std::make_unique<Harness>(machine_, TransactionalCollectSink<int64_t>(store_), options);
  }
  static std::vector<int64_t> range(int64_t from, int64_t to) {
    std::vector<int64_t> values;
    for (int64_t i = from; i < to; ++i) values.push_back(i);
    return values;
  }
  testing::OperatorMachine machine_;
  std::shared_ptr<TransactionalCollectResult<int64_t>> store_ = std::make_shared<TransactionalCollectResult<int64_t>>();
};

TEST_F(FailureModeTest, SinglePhaseCommit_AnotherTaskFailsBetweenSnapshotAndCompletion) {
  auto sink = attempt();
  sink->start();
  sink->process({1, 2});
  const auto first = sink->snapshot(1);
  sink->complete(1);
  sink->process({3, 4});
  sink->snapshot(2);  // of this subtask; another one failed, so that the job goes back to checkpoint 1
  EXPECT_THAT(store_->values(), ElementsAre(1, 2));
  sink->close();

  auto next = attempt();
  next->restore(first);
  next->process({3, 4});  // the source is where it was
  next->snapshot(3);
  next->complete(3);
  EXPECT_THAT(store_->values(), ElementsAre(1, 2, 3, 4));
}

TEST_F(FailureModeTest, FlushOnNextRecord_NothingIsVisibleBeforeTheGlobalNotice) {
  std::vector<std::unique_ptr<Harness>> sinks;
  std::vector<OperatorSubtaskState> states;
  for (int32_t subtask = 0; subtask < 3; ++subtask) {
    sinks.push_back(attempt({.subtask = subtask, .parallelism = 3}));
    sinks.back()->start();
    sinks.back()->process({subtask});
    states.push_back(sinks.back()->snapshot(41));
  }
  for (auto& sink : sinks) sink->complete(41);
  for (int32_t subtask = 0; subtask < 3; ++subtask) {
    sinks[static_cast<size_t>(subtask)]->process({10 + subtask});
    if (subtask != 2) sinks[static_cast<size_t>(subtask)]->snapshot(42);  // subtask 2 declines
  }
  for (auto& sink : sinks) sink->process({99});
  for (auto& sink : sinks) sink->abort(42);
  EXPECT_THAT(store_->values(), ElementsAre(0, 1, 2));
  for (auto& sink : sinks) sink->close();

  sinks.clear();
  for (int32_t subtask = 0; subtask < 3; ++subtask) {
    sinks.push_back(attempt({.subtask = subtask, .parallelism = 3}));
    sinks.back()->restore(states[static_cast<size_t>(subtask)]);
    sinks.back()->process({10 + subtask});
    sinks.back()->snapshot(43);
  }
  for (auto& sink : sinks) sink->complete(43);
  EXPECT_THAT(store_->values(), ElementsAre(0, 1, 2, 10, 11, 12));
}

TEST_F(FailureModeTest, SubsumedNotification_TheNoticeOfTheOlderCheckpointIsLostOrLate) {
  auto sink = attempt();
  sink->start();
  sink->process({1});
  sink->snapshot(1);
  sink->process({2});
  sink->snapshot(2);
  sink->complete(2);
  EXPECT_THAT(store_->values(), ElementsAre(1, 2));
  EXPECT_NO_THROW(sink->complete(1));
  EXPECT_THAT(store_->values(), ElementsAre(1, 2));
}

TEST_F(FailureModeTest, TailDataNeverCommitted_OnlyTheFinalCheckpointShowsTheLastRecords) {
  auto run = [&](bool withFinalCheckpoint) {
    store_ = std::make_shared<TransactionalCollectResult<int64_t>>();
    auto sink = attempt();
    sink->start();
    for (int64_t id = 1; id <= 10; ++id) {
      sink->process(range(100 * (id - 1), 100 * id));
      sink->snapshot(id);
      sink->complete(id);
    }
    sink->process(range(1000, 1050));
    sink->finish();
    EXPECT_EQ(store_->values().size(), 1000u) << "other tasks may still fail";
    if (withFinalCheckpoint) {
      sink->snapshot(11);
      EXPECT_EQ(store_->values().size(), 1000u);
      sink->complete(11);
    }
    sink->close();
    return store_->values();
  };
  EXPECT_EQ(run(false), range(0, 1000));
  EXPECT_EQ(run(true), range(0, 1050));
}

TEST_F(FailureModeTest, TailDataNeverCommitted_AFailureBeforeTheFinalCheckpointDuplicatesNothing) {
  auto sink = attempt();
  sink->start();
  sink->process(range(0, 100));
  const auto state = sink->snapshot(1);
  sink->complete(1);
  sink->process(range(100, 150));
  sink->finish();
  sink->snapshot(2);  // never completes
  sink->close();
  auto next = attempt();
  next->restore(state);
  next->process(range(100, 150));
  next->finish();
  next->snapshot(3);
  next->complete(3);
  next->close();
  EXPECT_EQ(store_->values(), range(0, 150));
}

TEST_F(FailureModeTest, ACrashBetweenCompletionAndItsNoticeIsMadeUpForByTheRestore) {
  auto sink = attempt();
  sink->start();
  sink->process({1});
  const auto state = sink->snapshot(1);
  sink->close();  // the checkpoint completed, the notice did not come
  for (int i = 0; i < 2; ++i) {  // and the second restore finds everything committed
    auto next = attempt();
    next->restore(state);
    EXPECT_THAT(store_->values(), ElementsAre(1));
    next->close();
  }
  EXPECT_EQ(store_->openTransactions(), 0u);
}

TEST_F(FailureModeTest, ATransactionThatTheStoreHasForgottenFailsTheTask) {
  auto sink = attempt();
  sink->start();
  sink->process({1});
  const auto state = sink->snapshot(1);
  store_ = std::make_shared<TransactionalCollectResult<int64_t>>();
  EXPECT_THROW(attempt()->restore(state), Throwable);
}

/// Invariant H7: after every crash point what is visible is exactly the records up to the last completed checkpoint, once.
TEST_F(FailureModeTest, VisibleIsExactlyWhatTheLastCompletedCheckpointCoversAfterAnyCrash) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    store_ = std::make_shared<TransactionalCollectResult<int64_t>>();
    auto sink = attempt();
    sink->start();
    int64_t next = 0, completed = 0, checkpoint = 0;
    struct Snapshot {
      OperatorSubtaskState state;
      int64_t next;
    };
    std::map<int64_t, Snapshot> taken;
    std::optional<Snapshot> latest;
    for (int step = 0; step < 40; ++step) {
      switch (random.below(6)) {
        case 0:
        case 1: sink->process({next}), ++next; break;
        case 2: ++checkpoint, taken[checkpoint] = {sink->snapshot(checkpoint), next}; break;
        case 3:  // one of the running checkpoints completes and subsumes the older ones; its notice may be lost
          if (!taken.empty()) {
            auto chosen = taken.begin();
            std::advance(chosen, random.below(taken.size()));
            const int64_t id = chosen->first;
            latest = chosen->second;
            taken.erase(taken.begin(), std::next(chosen));
            if (random.oneIn(3)) break;
            sink->complete(id);
            completed = latest->next;
          }
          break;
        case 4:
          if (!taken.empty()) {
            sink->abort(taken.begin()->first);
            taken.erase(taken.begin());
          }
          break;
        case 5:  // crash
          sink->close();
          sink = attempt();
          if (latest) {
            sink->restore(latest->state);
            next = completed = latest->next;
          } else {
            sink->start();
            next = 0;
          }
          taken.clear();
          break;
      }
      ASSERT_EQ(store_->values(), range(0, completed)) << "seed " << seed << " step " << step;
    }
    sink->close();
  }
}

}  // namespace
}  // namespace weir
