#include "weir/exchange/union_input_gate.h"

#include <gtest/gtest.h>

#include "unit/exchange/gate_fixture.h"

namespace weir {
namespace {

using namespace testing;

struct Union {
  Union() {
    for (int i = 0; i < 5; ++i) {
      partitions.push_back(exchange.partition(1));
      writers.push_back(std::make_unique<RecordWriter>(partitions.back()));
    }
    first = exchange.gate({{0, 0}, {1, 0}, {2, 0}}, 0);
    second = exchange.gate({{3, 0}, {4, 0}}, 1);
    all = std::make_unique<UnionInputGate>(std::vector<SingleInputGate*>{first.get(), second.get()});
    EXPECT_FALSE(all->requestPartitions());
  }
  void send(int32_t partition, std::string_view text) {
    emitText(*writers[partition], 0, text);
    partitions[partition]->broadcastEvent(CancelCheckpointMarker{0});
  }
  std::string next() {
    const auto got = all->pollNext();
    return got ? Gate::describe(*got) : "nothing";
  }
  Exchange exchange;
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  std::vector<std::unique_ptr<RecordWriter>> writers;
  std::unique_ptr<SingleInputGate> first, second;
  std::unique_ptr<UnionInputGate> all;
};

TEST(UnionInputGate, CountsChannelsOnFromGateToGate) {
  Union in;
  EXPECT_EQ(in.all->numberOfChannels(), 5);
  EXPECT_EQ(in.all->channelIndexOf({1, 1}), 4);
  EXPECT_EQ(in.all->channel(3).info(), (InputChannelInfo{1, 0}));
  in.send(4, "x");
  const auto got = in.all->pollNext();
  EXPECT_EQ(got->channelIndex, 4);
  EXPECT_EQ(got->channel, (InputChannelInfo{1, 1}));
}

TEST(UnionInputGate, LetsGatesTakeTurnsHoweverManyChannelsTheyHave) {
  Union in;
  for (int partition : {0, 1, 2}) in.send(partition, "a");
  in.send(3, "b");
  EXPECT_EQ(in.next(), "0:a");
  EXPECT_EQ(in.next(), "3:b");
  EXPECT_EQ(in.next(), "1:a");
  EXPECT_EQ(in.next(), "3:EVENT_BUFFER");
  EXPECT_EQ(in.next(), "2:a");
}

TEST(UnionInputGate, APriorityEventOfAnyGateComesFirst) {
  Union in;
  in.send(0, "a");
  in.send(3, "b");
  in.partitions[4]->broadcastEvent(barrier(1, AlignmentType::kUnaligned), true);
  EXPECT_TRUE(in.all->priorityAvailable().isSet());
  const auto got = in.all->pollPriority();
  ASSERT_TRUE(got);
  EXPECT_EQ(Gate::describe(*got), "4:PRIORITIZED_EVENT_BUFFER");
  EXPECT_FALSE(in.all->pollPriority());
  EXPECT_FALSE(in.all->priorityAvailable().isSet());
}

TEST(UnionInputGate, ItsSignalFollowsBothGates) {
  Union in;
  EXPECT_EQ(in.next(), "nothing");
  EXPECT_FALSE(in.all->available().isSet());
  in.send(4, "x");
  EXPECT_TRUE(in.all->available().isSet());
  EXPECT_EQ(in.next(), "4:x");
  EXPECT_EQ(in.next(), "4:EVENT_BUFFER");
  EXPECT_EQ(in.next(), "nothing");
  EXPECT_FALSE(in.all->available().isSet());
}

TEST(UnionInputGate, FinishesWhenAllGatesHave) {
  Union in;
  for (int i = 0; i < 5; ++i) {
    in.partitions[i]->notifyEndOfData(StopMode::DRAIN);
    in.partitions[i]->finish();
  }
  int ends = 0;
  while (!in.all->isFinished()) ends += in.all->pollNext()->dataType() == DataType::END_OF_PARTITION;
  EXPECT_EQ(ends, 5);
  EXPECT_EQ(in.all->hasReceivedEndOfData(), EndOfDataStatus::kDrained);
  EXPECT_TRUE(in.all->available().isSet());
  EXPECT_EQ(in.next(), "nothing");
}

}  // namespace
}  // namespace weir
