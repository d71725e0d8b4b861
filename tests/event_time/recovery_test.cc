#include <gtest/gtest.h>

#include "event_time/windowed_job.h"

// Timers and what they keep, through failures and other parallelisms.
namespace weir {
namespace {

TEST(TimersInJobs, EveryWindowComesOutOnceAlsoTheLastOneAtTheEndOfTheInput) {
  WindowedJob job(100, StreamExecutionEnvironment::kUnlimited);
  job.program(2, 3);
  ASSERT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
  job.expectEveryWindowOnce();
}

TEST(TimersInJobs, SurviveAFailureAtEveryStep) { surviveAFailureAtEveryStep(false); }
TEST(TimersInJobs, SurviveAKillAtAnyTime) { surviveAKillAtAnyTime(false); }
TEST(TimersInJobs, FireOnceAtAnyOtherParallelism) { goOnAtAnyOtherParallelism(false); }

TEST(TimersInJobs, WatermarksInFlightComeBackWithTheirRecordsAtAnyOtherParallelism) {
  for (const auto& [before, after] : {std::pair{2, 2}, {2, 3}, {3, 2}, {1, 3}}) {
    for (const int32_t sources : {2, 3}) {  // with 1, splits that have got apart would come from one subtask, out of order
      WindowedJob job(300, StreamExecutionEnvironment::kUnlimited, static_cast<uint64_t>(before * 10 + after));
      job.runner.cluster.segmentSize = 256;
      job.cost = kMillisecond;
      job.program(2, before);
      job.env.configure("execution.checkpointing.unaligned.enabled", "true");
      std::string folder;
      job.run([&] {
        for (int tries = 0; tries < 20 && folder.empty(); ++tries) {
          job.sleep(60 * kMillisecond);
          if (!job.allRunning()) continue;
          const int64_t id = job.triggerCheckpoint();
          ASSERT_TRUE(job.waitUntil([&] { return job.checkpoint(id)->status != CheckpointStatus::kInProgress; }));
          if (job.checkpoint(id)->status == CheckpointStatus::kCompleted) folder = job.folderOf(id);
        }
        job.sleep(20 * kMillisecond);  // until its sinks have committed
      });
      ASSERT_FALSE(folder.empty());
      SCOPED_TRACE(fmt::format("{} sources, {} -> {}", sources, before, after));
      job.restoreFrom(folder, sources, after);
      job.env.configure("execution.checkpointing.unaligned.enabled", "true").configure("execution.checkpointing.interval", "20 ms");
      ASSERT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
      job.expectEveryWindowOnce();
    }
  }
}

}  // namespace
}  // namespace weir
