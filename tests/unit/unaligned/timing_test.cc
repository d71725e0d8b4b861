#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/unaligned/cut_job.h"

// How long a barrier waits, in virtual time, and what the statistics say of it.
namespace weir::cut {
namespace {

using ::testing::IsEmpty;
using std::chrono::microseconds;

/// The completed checkpoints but for the first one, which meets empty queues, and those after the end of the data.
std::vector<std::shared_ptr<const CheckpointStats>> underLoad(const Outcome& outcome, const char* source) {
  std::vector<std::shared_ptr<const CheckpointStats>> stats;
  for (const auto& checkpoint : outcome.history) {
    const bool loaded = checkpoint->status == CheckpointStatus::kCompleted && checkpoint->persistedData > 0;
    if (loaded && checkpoint->id > 1) stats.push_back(checkpoint);
  }
  EXPECT_FALSE(stats.empty()) << source;
  return stats;
}

/// One slow sink: a queue of about `queueMs` of work lies in front of it.
Job slowSink(Millis alignedTimeout) {
  Job job;
  job.vertices = {{.name = "source", .parallelism = 1, .records = 600}, {.name = "sink", .parallelism = 1, .cost = Millis(1)}};
  job.links = {{0, 1, PartitionerKind::kHash}};
  job.segmentSize = 256;
  job.spareSegments = 20;
  job.interval = Millis(100);
  job.alignedTimeout = alignedTimeout;
  return job;
}

// The barrier has not left the sender: only there it can overtake.
TEST(BarrierTiming, TimeoutInOutputQueue) {
  const Outcome outcome = simulate(slowSink(Millis(10)));
  ASSERT_THAT(outcome.problems, IsEmpty());
  for (const auto& checkpoint : underLoad(outcome, "source")) {
    EXPECT_GE(checkpoint->endToEndMs(), 9);
    EXPECT_LE(checkpoint->endToEndMs(), 14) << "the queue in front of it takes 100 ms and more";
    const SubtaskCheckpointStats &source = checkpoint->tasks[0].subtasks[0], &sink = checkpoint->tasks[1].subtasks[0];
    EXPECT_GT(source.persistedData, 1000) << "a queue full";
    EXPECT_GE(source.asyncMs, 8) << "its outputs stay open until the barrier has overtaken";
    EXPECT_NEAR(static_cast<double>(sink.startDelayMs), 10, 3);
  }
}

// The aligned barrier in the same place waits for all that is in front of it.
TEST(BarrierTiming, WithoutATimeoutTheBarrierWaitsForTheQueue) {
  Job job = slowSink(Millis(5'000));
  job.interval = Millis(300);
  const Outcome outcome = simulate(job);
  ASSERT_THAT(outcome.problems, IsEmpty());
  int64_t longest = 0;
  for (const auto& checkpoint : outcome.history) longest = std::max(longest, checkpoint->endToEndMs());
  EXPECT_GT(longest, 60);
  EXPECT_EQ(outcome.storedBytes(), 0u);
}

// A timer per hop would wait for the timeout at every slow stage; counted from the trigger they all turn at once.
TEST(BarrierTiming, LocalAlignmentTimerUseless) {
  Job job = slowSink(Millis(20));
  job.vertices = {{.name = "source", .parallelism = 1, .records = 500},
                  {.name = "first", .cost = microseconds(1800)},
                  {.name = "second", .cost = microseconds(1900)},
                  {.name = "sink", .parallelism = 1, .cost = Millis(1)}};
  job.links = {{0, 1, PartitionerKind::kHash}, {1, 2, PartitionerKind::kHash}, {2, 3, PartitionerKind::kHash}};
  const Outcome outcome = simulate(job);
  ASSERT_THAT(outcome.problems, IsEmpty());
  for (const auto& checkpoint : underLoad(outcome, "stages")) EXPECT_LE(checkpoint->endToEndMs(), 20 + 8);
}

// The type is what became of the checkpoint in each subtask, not what it was when its barrier left.
TEST(BarrierTiming, TypeReportedWrong) {
  const Outcome outcome = simulate(slowSink(Millis(10)));
  bool convertedInQueue = false;
  for (const auto& checkpoint : outcome.history)
    for (const TaskCheckpointStats& task : checkpoint->tasks)
      for (const SubtaskCheckpointStats& subtask : task.subtasks) {
        EXPECT_EQ(subtask.unaligned, subtask.persistedData > 0);
        convertedInQueue = convertedInQueue || (&task == &checkpoint->tasks[0] && subtask.unaligned);
      }
  EXPECT_TRUE(convertedInQueue) << "a source, whose barrier left as an aligned one";
}

/// An operator that sends many buffers for one record, and a slow reader behind it.
int64_t longestStartDelay(int32_t overdraft) {
  Job job;
  job.vertices = {{.name = "source", .parallelism = 1, .records = 40},
                  {.name = "flatmap", .parallelism = 1, .fanOut = 50, .largest = 400},
                  {.name = "sink", .parallelism = 1, .cost = microseconds(300)}};
  job.links = {{0, 1, PartitionerKind::kHash}, {1, 2, PartitionerKind::kHash}};
  job.segmentSize = 1024;
  job.spareSegments = 120;
  job.overdraft = overdraft;
  job.interval = Millis(10);
  const Outcome outcome = simulate(job);
  EXPECT_THAT(outcome.problems, IsEmpty());  // also: every buffer is given back
  int64_t longest = 0;
  for (const auto& checkpoint : outcome.history)
    if (checkpoint->status == CheckpointStatus::kCompleted)
      longest = std::max(longest, checkpoint->tasks[1].subtasks[0].startDelayMs);
  return longest;
}

// With buffers beyond its pool a task finishes the record that it has begun, and then finds the barrier.
TEST(BarrierTiming, OverdraftBuffers) {
  const int64_t without = longestStartDelay(0), with = longestStartDelay(20);
  EXPECT_GE(without, 4) << "it waits in the middle of a record";
  EXPECT_LE(with, 1);
}

}  // namespace
}  // namespace weir::cut
