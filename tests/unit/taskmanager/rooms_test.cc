#include "unit/taskmanager/cluster.h"

// The parts of a TaskManager, each alone.
namespace weir::tmtest {
namespace {

ResultPartitionID partitionId(int32_t index) {
  return {{IntermediateDataSetID::of(0, 1), index}, {ExecutionGraphID::of(0, 2), JobVertexID::of(0, 3), index, 0}};
}

std::shared_ptr<ResultPartition> partition(int32_t index) {
  ResultPartitionDescriptor descriptor;
  descriptor.id = partitionId(index);
  return ResultPartition::create(descriptor);
}

struct PartitionBoardTest : ::testing::Test {
  SimulatedExecutor executor{{.seed = 2}};
  std::shared_ptr<PartitionBoard> board = std::make_shared<PartitionBoard>();
  const std::vector<ResultPartitionID> three = {partitionId(0), partitionId(1), partitionId(2)};
};

TEST_F(PartitionBoardTest, DoesNotWaitForWhatIsThere) {
  executor.run("test", [&](ExecutionContext& ctx) {
    for (int32_t i = 0; i < 3; ++i) board->add(partition(i));
    const Nanos before = ctx.clock().monotonic();
    EXPECT_TRUE(board->await(ctx, three, Deadline::never()));
    EXPECT_EQ(ctx.clock().monotonic(), before);
  });
}

TEST_F(PartitionBoardTest, WaitsForTheLastOneAndIsToldAtOnce) {
  executor.run("test", [&](ExecutionContext& ctx) {
    board->add(partition(1));
    executor.spawn({.name = "producer"}, [&](ExecutionContext& own) {
      for (const int32_t i : {2, 0}) {
        own.wait(WaitReason::kInputOrMail, std::initializer_list<Signal*>{}, Deadline::work(own.clock().monotonic() + Millis(10)));
        board->add(partition(i));
      }
    });
    const Nanos before = ctx.clock().monotonic();
    EXPECT_TRUE(board->await(ctx, three, Deadline::work(before + Millis(1000))));
    EXPECT_GE(ctx.clock().monotonic() - before, Millis(20));
    EXPECT_LT(ctx.clock().monotonic() - before, Millis(21));
  });
  EXPECT_EQ(board->awaited(), 0u);
}

TEST_F(PartitionBoardTest, EverybodyWhoWaitsForAPartitionIsTold) {
  executor.run("test", [&](ExecutionContext& ctx) {
    int told = 0;
    for (int i = 0; i < 3; ++i) {
      executor.spawn({.name = "consumer " + std::to_string(i)}, [&](ExecutionContext& own) {
        told += board->await(own, three, Deadline::work(own.clock().monotonic() + Millis(1000)));
      });
    }
    ctx.wait(WaitReason::kInputOrMail, std::initializer_list<Signal*>{}, Deadline::work(ctx.clock().monotonic() + Millis(1)));
    for (int32_t i = 0; i < 3; ++i) board->add(partition(i));
    ctx.wait(WaitReason::kInputOrMail, std::initializer_list<Signal*>{}, Deadline::work(ctx.clock().monotonic() + Millis(1)));
    EXPECT_EQ(told, 3);
  });
}

TEST_F(PartitionBoardTest, GivesUpAtTheDeadlineAndForgetsTheWaiter) {
  executor.run("test", [&](ExecutionContext& ctx) {
    board->add(partition(0));
    EXPECT_FALSE(board->await(ctx, three, Deadline::work(ctx.clock().monotonic() + Millis(50))));
  });
  EXPECT_EQ(board->awaited(), 0u);
}

TEST_F(PartitionBoardTest, ACancelledWaiterIsForgotten) {
  executor.run("test", [&](ExecutionContext& ctx) {
    const auto waiter = executor.spawn({.name = "consumer"}, [&](ExecutionContext& own) { board->await(own, three, Deadline::never()); });
    ctx.wait(WaitReason::kInputOrMail, std::initializer_list<Signal*>{}, Deadline::work(ctx.clock().monotonic() + Millis(1)));
    EXPECT_EQ(board->awaited(), 3u);
    waiter->cancel();
    while (!waiter->isDone()) ctx.wait(WaitReason::kInputOrMail, {&waiter->done()});
    EXPECT_EQ(board->awaited(), 0u);
  });
}

struct SnapshotWorkerPoolTest : ::testing::Test {
  SimulatedExecutor executor{{.seed = 2}};
  std::shared_ptr<SnapshotWorkerPool> pool = std::make_shared<SnapshotWorkerPool>();
  static void pause(ExecutionContext& ctx, Nanos time) {
    ctx.wait(WaitReason::kFile, std::initializer_list<Signal*>{}, Deadline::work(ctx.clock().monotonic() + time));
  }
};

TEST_F(SnapshotWorkerPoolTest, RunsAsMuchAtATimeAsItHasWorkers) {
  executor.run("test", [&](ExecutionContext& ctx) {
    pool->start(executor, {.name = "worker"}, 3);
    int running = 0, most = 0, done = 0;
    for (int i = 0; i < 10; ++i) {
      pool->submit([&](ExecutionContext& own) {
        most = std::max(most, ++running);
        pause(own, Millis(10));
        --running;
        ++done;
      });
    }
    pause(ctx, Millis(35));
    EXPECT_EQ(done, 9);
    pause(ctx, Millis(10));
    EXPECT_EQ(done, 10);
    EXPECT_EQ(most, 3);
    pool->submit([&](ExecutionContext&) { ++done; });
    pause(ctx, Millis(1));
    EXPECT_EQ(done, 11) << "an idle worker is woken";
    pool->stop();
  });
}

TEST_F(SnapshotWorkerPoolTest, StopDropsWhatHasNotBegunAndEndsItsActors) {
  executor.run("test", [&](ExecutionContext& ctx) {
    pool->start(executor, {.name = "worker"}, 1);
    int begun = 0, done = 0;
    const std::weak_ptr<SnapshotWorkerPool> weak = pool;
    for (int i = 0; i < 3; ++i) {
      pool->submit([&](ExecutionContext& own) {
        ++begun;
        pause(own, Millis(10));
        ++done;
      });
    }
    pause(ctx, Millis(5));
    pool->stop();
    pool->submit([&](ExecutionContext&) { ++done; });
    pool = nullptr;
    pause(ctx, Millis(100));
    EXPECT_EQ(begun, 1);
    EXPECT_EQ(done, 0);
    EXPECT_TRUE(weak.expired()) << "no actor holds it any more";
  });
}

}  // namespace
}  // namespace weir::tmtest
