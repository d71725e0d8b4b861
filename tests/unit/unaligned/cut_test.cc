#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/unaligned/cut_job.h"

namespace weir::cut {
namespace {

using ::testing::IsEmpty;
using std::chrono::microseconds;

/// A source, a relay and a slow sink: what is in flight piles up in front of the sink.
Job backPressured(uint64_t seed) {
  Job job;
  job.seed = seed;
  job.vertices = {{.name = "source", .records = 2000, .largest = 30}, {.name = "relay", .largest = 100},
                  {.name = "sink", .cost = microseconds(50)}};
  job.links = {{0, 1, PartitionerKind::kRebalance}, {1, 2, PartitionerKind::kHash}};
  return job;
}

TEST(Cut, OneUnalignedBarrierCarriesWhatItOvertakes) {
  Job job = backPressured(1);
  const Outcome outcome = simulate(job);
  EXPECT_EQ(outcome.status, JobStatus::kFinished);
  EXPECT_THAT(outcome.problems, IsEmpty());
  EXPECT_GE(outcome.checkpoints.size(), 3u);
  EXPECT_GT(outcome.storedBytes(), 1000u);
}

TEST(Cut, HoldsInAnyOrderOfEvents) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = simulate(backPressured(seed));
    EXPECT_EQ(outcome.status, JobStatus::kFinished);
    ASSERT_THAT(outcome.problems, IsEmpty()) << "seed " << seed << "\n" << outcome.log;
  }
}

TEST(Cut, HoldsWhereBarriersTurnUnaligned) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Job job = backPressured(seed);
    job.alignedTimeout = Millis(1 + seed % 5);
    const Outcome outcome = simulate(job);
    EXPECT_EQ(outcome.status, JobStatus::kFinished);
    ASSERT_THAT(outcome.problems, IsEmpty()) << "seed " << seed << "\n" << outcome.log;
  }
}

}  // namespace
}  // namespace weir::cut
