#include <gtest/gtest.h>

#include "weir/snapshot/channel_state_write_result.h"

namespace weir {
namespace {

WrittenChannelState state(int64_t inputBytes, int64_t outputBytes) {
  WrittenChannelState written;
  written.inputs.push_back({0, inputBytes, {}, {}});
  written.outputs.push_back({0, outputBytes, {}, {}});
  return written;
}

TEST(ChannelStateWriteResult, countsTheBytesOfInputsAndOutputs) { EXPECT_EQ(state(10, 5).stateSize(), 15); }

TEST(ChannelStateWriteResult, tellsItsEndToWhomAskedBefore) {
  ChannelStateWriteResult result(1);
  int told = 0;
  EXPECT_TRUE(result.notifyWhenDone([&] { ++told; }));
  EXPECT_EQ(told, 0);
  EXPECT_TRUE(result.complete(state(1, 2)));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(result.failure(), nullptr);
  EXPECT_EQ(result.written().stateSize(), 3);
}

TEST(ChannelStateWriteResult, saysAtOnceThatItHasEnded) {
  ChannelStateWriteResult result(1);
  result.complete({});
  EXPECT_FALSE(result.notifyWhenDone([] { FAIL() << "must not be told"; }));
}

TEST(ChannelStateWriteResult, endsOnce) {
  ChannelStateWriteResult result(1);
  EXPECT_TRUE(result.fail(std::make_shared<Throwable>("java.io.IOException", "first")));
  EXPECT_FALSE(result.complete(state(1, 2)));
  EXPECT_FALSE(result.fail(std::make_shared<Throwable>("java.io.IOException", "second")));
  EXPECT_EQ(result.failure()->message(), "first");
}

}  // namespace
}  // namespace weir
