#include <gtest/gtest.h>

#include "weir/task/virtual_channels.h"

// The watermarks of channels of before a rescale that come through one channel of now.
namespace weir {
namespace {

TEST(VirtualChannelsTest, TheirWatermarkIsTheSmallestOfAllAndNoneBeforeEachHasOne) {
  InFlightRescaling rescaling;
  rescaling.oldSubtasks = {0, 1};
  rescaling.oldChannels = {{0, 1}};
  VirtualChannels channels(rescaling, 0, "channel 0");
  const auto watermark = [&](int32_t subtask, int32_t sender, int64_t time) {
    channels.select(subtask, sender);
    return channels.inputWatermark(time);
  };
  EXPECT_EQ(watermark(0, 0, 50), std::nullopt);
  EXPECT_EQ(watermark(1, 0, 30), std::nullopt);
  EXPECT_EQ(watermark(0, 1, 70), std::nullopt);
  EXPECT_EQ(watermark(1, 1, 60), 30) << "the smallest, now that all have one";
  EXPECT_EQ(watermark(0, 1, 90), 30);
  EXPECT_EQ(watermark(1, 0, 80), 50);
}

TEST(VirtualChannelsTest, TheyAreIdleWhenAllAre) {
  InFlightRescaling rescaling;
  rescaling.oldSubtasks = {0, 1};
  rescaling.oldChannels = {{0}};
  VirtualChannels channels(rescaling, 0, "channel 0");
  channels.select(0, 0);
  EXPECT_EQ(channels.inputStatus({true}), WatermarkStatus{false});
  channels.select(1, 0);
  EXPECT_EQ(channels.inputStatus({true}), WatermarkStatus{true});
  EXPECT_EQ(channels.inputStatus({false}), WatermarkStatus{false});
}

}  // namespace
}  // namespace weir
