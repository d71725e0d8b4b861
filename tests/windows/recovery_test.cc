// Contents and timers of windows, in whole jobs, through failures and at other parallelisms.
#include <gtest/gtest.h>

#include "event_time/windowed_job.h"

namespace weir {
namespace {

TEST(WindowsInJobs, SurviveAFailureAtEveryStep) { surviveAFailureAtEveryStep(true); }
TEST(WindowsInJobs, SurviveAKillAtAnyTime) { surviveAKillAtAnyTime(true); }
TEST(WindowsInJobs, GoOnAtAnyOtherParallelism) { goOnAtAnyOtherParallelism(true); }

}  // namespace
}  // namespace weir
