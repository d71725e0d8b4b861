#include <gtest/gtest.h>

#include "unit/exchange/gate_fixture.h"
#include "weir/snapshot/checkpoint_failure.h"

// What a local channel stores of its in-flight data.
namespace weir {
namespace {

using namespace testing;

TEST(LocalChannel, StoresDataBetweenTheStartOfACheckpointAndItsBarrier) {
  RecordingChannelStateWriter state;
  Gate in(1, &state);
  in.send(0, "before");
  EXPECT_EQ(in.next(), "0:before");
  in.gate->checkpointStarted(barrier(4, AlignmentType::kUnaligned));
  in.send(0, "in-flight");
  EXPECT_EQ(in.next(), "0:in-flight");
  in.sendEvent(0, barrier(4, AlignmentType::kUnaligned), true);
  EXPECT_EQ(in.next(), "0:PRIORITIZED_EVENT_BUFFER");
  in.send(0, "after");
  EXPECT_EQ(in.next(), "0:after");
  ASSERT_EQ(state.calls.size(), 1u);
  EXPECT_EQ(state.calls[0], "input 4 0 " + std::string("\0\0\0\x09", 4) + "in-flight");
}

TEST(LocalChannel, StopsStoringWhenTheCheckpointStops) {
  RecordingChannelStateWriter state;
  Gate in(1, &state);
  in.gate->checkpointStarted(barrier(4, AlignmentType::kUnaligned));
  in.gate->checkpointStopped(4);
  in.send(0, "data");
  EXPECT_EQ(in.next(), "0:data");
  EXPECT_TRUE(state.calls.empty());
}

TEST(LocalChannel, RefusesACheckpointOlderThanABarrierItHasSeen) {
  Gate in(1);
  in.sendEvent(0, barrier(5, AlignmentType::kUnaligned), true);
  EXPECT_EQ(in.next(), "0:PRIORITIZED_EVENT_BUFFER");
  try {
    in.gate->checkpointStarted(barrier(4, AlignmentType::kUnaligned));
    FAIL() << "should have been subsumed";
  } catch (const CheckpointException& error) {
    EXPECT_EQ(error.reason(), CheckpointFailureReason::kCheckpointSubsumed);
  }
}

}  // namespace
}  // namespace weir
