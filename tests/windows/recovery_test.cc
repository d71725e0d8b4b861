// Contents and timers of windows, in whole jobs, through failures and at other parallelisms.
#include <gtest/gtest.h>

#include "event_time/windowed_job.h"

namespace weir {
namespace {

struct SummingJob : WindowedJob {
  SummingJob(int64_t recordsPerSplit, double recordsPerSecond, uint64_t seed = 1) : WindowedJob(recordsPerSplit, recordsPerSecond, seed) {
    windowOperator = true;
  }
};

TEST(WindowsInJobs, SurviveAFailureAtEveryStep) {
  // The job takes 120 ms; whichever task is killed at whichever millisecond, with checkpoints every 10 ms.
  int failed = 0;
  for (int step = 0; step < 120; step += 3) {
    SummingJob job(40, 1000, static_cast<uint64_t>(step) + 1);
    job.program(2, 2);
    job.env.configure("execution.checkpointing.interval", "10 ms");
    job.run(
        [&] {
          job.sleep(step * kMillisecond);
          failed += job.kill(step % 2 ? "sums" : "source", step / 2 % 2);
        },
        false);
    ASSERT_EQ(job.result.status, JobStatus::kFinished) << "step " << step << ": " << job.failure();
    job.expectEveryWindowOnce();
  }
  EXPECT_GT(failed, 15) << "most of them hit";
}

TEST(WindowsInJobs, GoOnAtAnyOtherParallelism) {
  for (const auto& [before, after] : {std::pair{2, 3}, {3, 1}, {1, 4}}) {
    SummingJob job(200, 1000);
    job.program(2, before);
    std::string folder;
    job.run([&] {
      ASSERT_TRUE(job.waitForFirstCheckpoint());
      job.sleep(200 * kMillisecond);
      const int64_t id = job.triggerCheckpoint();
      ASSERT_TRUE(job.waitForLog("Completed checkpoint " + std::to_string(id) + " "));
      folder = job.folderOf(id);
    });
    job.restoreFrom(folder, 3, after);
    ASSERT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
    job.expectEveryWindowOnce();
  }
}

}  // namespace
}  // namespace weir
