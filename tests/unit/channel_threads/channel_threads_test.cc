#include "unit/channel/writer_run.h"
#include "weir/base/thread_executor.h"

// Apart from the other tests of the room, so that the thread sanitizer sees it: it does not follow fibers.
namespace weir {
namespace {

TEST(FailureMode, PersisterRacesOnThreads) {
  ThreadExecutor executor;
  int written = 0;
  for (uint64_t round = 1; round <= 20; ++round) written += persisterRaces(executor, round);
  EXPECT_GT(written, 0);
}

}  // namespace
}  // namespace weir
