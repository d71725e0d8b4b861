#include <gtest/gtest.h>

#include "unit/exchange/gate_fixture.h"
#include "weir/base/simulated_executor.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {
namespace {

using namespace testing;

TEST(InputGate, TakesOneBufferOfEachChannelInTurn) {
  Gate in(3);
  for (const char* text : {"a", "b", "c"}) {
    for (int channel : {0, 1}) {
      emitText(*in.writers[channel], 0, text);
      in.partitions[channel]->broadcastEvent(CancelCheckpointMarker{1});
    }
  }
  in.send(2, "late");
  EXPECT_EQ(in.next(), "0:a");
  EXPECT_EQ(in.next(), "1:a");
  EXPECT_EQ(in.next(), "2:late");
  EXPECT_EQ(in.next(), "0:EVENT_BUFFER");
  EXPECT_EQ(in.next(), "1:EVENT_BUFFER");
  EXPECT_EQ(in.next(), "0:b");
}

TEST(InputGate, SaysWhetherMoreIsAvailable) {
  Gate in(2);
  in.send(0, "a");
  in.send(1, "b");
  EXPECT_TRUE(in.gate->pollNext()->moreAvailable);
  EXPECT_FALSE(in.gate->pollNext()->moreAvailable);
  EXPECT_EQ(in.next(), "nothing");
}

TEST(InputGate, ItsSignalIsSetWhileThereIsSomethingAndResetOnceNothingIsFound) {
  Gate in(1);
  EXPECT_FALSE(in.gate->available().isSet());
  in.send(0, "a");
  EXPECT_TRUE(in.gate->available().isSet());
  EXPECT_EQ(in.next(), "0:a");
  EXPECT_EQ(in.next(), "nothing");
  EXPECT_FALSE(in.gate->available().isSet());
}

TEST(InputGate, AChannelThatReportsTwiceIsPolledOnce) {
  Gate in(1);
  in.gate->readyQueue()->add(0);
  in.gate->readyQueue()->add(0);
  in.send(0, "a");
  EXPECT_EQ(in.next(), "0:a");
  EXPECT_FALSE(in.gate->looksReady());
}

TEST(InputGate, AChannelThatReportsWhileItIsQueuedHasNoSecondTurn) {
  Gate in(2);
  for (const char* text : {"a", "b"}) {
    for (int channel : {0, 1}) {
      emitText(*in.writers[channel], 0, text);
      in.partitions[channel]->broadcastEvent(CancelCheckpointMarker{1});
    }
  }
  in.gate->refresh();
  in.gate->readyQueue()->add(0);
  EXPECT_EQ(in.next(), "0:a");
  EXPECT_EQ(in.next(), "1:a");
  EXPECT_EQ(in.next(), "0:EVENT_BUFFER");
  EXPECT_EQ(in.next(), "1:EVENT_BUFFER");
}

TEST(InputGate, AChannelThatReportsWhileItsEndIsQueuedIsNotAskedAgain) {
  Gate in(2);
  in.partitions[0]->finish();
  in.gate->refresh();
  in.gate->readyQueue()->add(0);
  EXPECT_EQ(in.next(), "0:END_OF_PARTITION");
  EXPECT_EQ(in.next(), "nothing");
}

TEST(InputGate, AReportWithNothingBehindItIsHarmless) {
  Gate in(1);
  in.gate->readyQueue()->add(0);
  EXPECT_EQ(in.next(), "nothing");
}

TEST(InputGate, PassesEventsWithTheirSequenceNumbers) {
  Gate in(1);
  in.send(0, "a");
  in.sendEvent(0, CancelCheckpointMarker{3});
  EXPECT_EQ(in.gate->pollNext()->sequenceNumber, 0);
  const auto event = in.gate->pollNext();
  EXPECT_EQ(event->sequenceNumber, 1);
  EXPECT_EQ(std::get<CancelCheckpointMarker>(EventSerializer::decode(event->buffer.bytes()).value()).checkpointId, 3);
}

// ---- blocking -------------------------------------------------------------------------------------------------------------------------

TEST(InputGate, ABlockedChannelIsSilentUntilItIsResumed) {
  Gate in(2);
  in.sendEvent(0, barrier(1));
  in.send(0, "behind");
  in.send(1, "other");
  EXPECT_EQ(in.next(), "0:ALIGNED_CHECKPOINT_BARRIER");
  EXPECT_EQ(in.next(), "1:other");
  EXPECT_EQ(in.next(), "nothing");
  in.gate->resumeConsumption({0, 0});
  EXPECT_TRUE(in.gate->available().isSet());
  EXPECT_EQ(in.next(), "0:behind");
}

TEST(InputGate, AResumedChannelWithNothingToReadIsNotQueued) {
  Gate in(1);
  in.sendEvent(0, barrier(1));
  EXPECT_EQ(in.next(), "0:ALIGNED_CHECKPOINT_BARRIER");
  in.gate->resumeConsumption({0, 0});
  EXPECT_FALSE(in.gate->looksReady());
}

TEST(InputGate, TheRecoveryHandshakeLetsDataThroughOnlyAfterAllChannelsAreThere) {
  Gate in(2);
  for (int channel : {0, 1}) {
    in.sendEvent(channel, EndOfChannelState{});
    in.send(channel, "data");
  }
  EXPECT_EQ(in.next(), "0:RECOVERY_COMPLETION");
  EXPECT_EQ(in.next(), "1:RECOVERY_COMPLETION");
  EXPECT_EQ(in.next(), "nothing");
  for (int channel : {0, 1}) in.gate->resumeConsumption({0, channel});
  EXPECT_EQ(in.next(), "0:data");
  EXPECT_EQ(in.next(), "1:data");
}

// ---- priority -------------------------------------------------------------------------------------------------------------------------

TEST(InputGate, APriorityEventComesFirstOfAllChannels) {
  Gate in(3);
  for (int channel : {0, 1, 2}) in.send(channel, "data");
  in.sendEvent(2, barrier(1, AlignmentType::kUnaligned), true);
  EXPECT_TRUE(in.gate->priorityAvailable().isSet());
  EXPECT_EQ(in.next(), "2:PRIORITIZED_EVENT_BUFFER");
  EXPECT_EQ(in.next(), "0:data");
}

TEST(InputGate, PollingForPriorityFindsNothingElse) {
  Gate in(2);
  in.send(0, "data");
  EXPECT_EQ(in.next(true), "nothing");
  for (int channel : {0, 1}) in.sendEvent(channel, barrier(1, AlignmentType::kUnaligned), true);
  const auto first = in.gate->pollPriority();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->morePriorityEvents);
  const auto second = in.gate->pollPriority();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->morePriorityEvents);
  EXPECT_TRUE(second->moreAvailable);
  EXPECT_EQ(in.next(true), "nothing");
  EXPECT_FALSE(in.gate->priorityAvailable().isSet());
  EXPECT_EQ(in.next(), "0:data") << "and what was queued before stays queued";
}

TEST(InputGate, AStalePriorityReportIsIgnored) {
  Gate in(1);
  in.sendEvent(0, barrier(1, AlignmentType::kUnaligned), true);
  in.send(0, "data");
  EXPECT_EQ(in.next(), "0:PRIORITIZED_EVENT_BUFFER");
  in.gate->readyQueue()->addPriority(0, 0);  // number 0 was just taken
  EXPECT_EQ(in.next(true), "nothing");
  EXPECT_EQ(in.next(), "0:data");
}

TEST(InputGate, StalenessSurvivesTheWrapOfSequenceNumbers) {
  Gate in(1);
  in.sendEvent(0, barrier(1, AlignmentType::kUnaligned), true);
  EXPECT_EQ(in.next(), "0:PRIORITIZED_EVENT_BUFFER");
  in.gate->readyQueue()->addPriority(0, std::numeric_limits<int32_t>::max());
  in.gate->refresh();
  EXPECT_TRUE(in.gate->hasPriorityQueued()) << "far ahead of 0";
  (void)in.next();
  in.gate->readyQueue()->addPriority(0, -5);
  in.gate->refresh();
  EXPECT_FALSE(in.gate->hasPriorityQueued()) << "behind 0";
}

TEST(InputGate, AForcedPriorityReportIsNeverStale) {
  Gate in(1);
  in.sendEvent(0, barrier(1, AlignmentType::kUnaligned), true);
  EXPECT_EQ(in.next(), "0:PRIORITIZED_EVENT_BUFFER");
  in.gate->readyQueue()->addPriority(0, 0, true);
  in.gate->refresh();
  EXPECT_TRUE(in.gate->hasPriorityQueued());
}

TEST(InputGate, APriorityEventPassesABlockedChannel) {
  Gate in(1);
  in.sendEvent(0, barrier(1));
  EXPECT_EQ(in.next(), "0:ALIGNED_CHECKPOINT_BARRIER");
  in.send(0, "data");
  in.sendEvent(0, barrier(2, AlignmentType::kUnaligned), true);
  EXPECT_EQ(in.next(), "0:PRIORITIZED_EVENT_BUFFER");
  EXPECT_EQ(in.next(), "nothing");
}

// ---- the end --------------------------------------------------------------------------------------------------------------------------

TEST(InputGate, FinishesWhenAllChannelsHaveEnded) {
  Gate in(2);
  in.partitions[0]->finish();
  EXPECT_EQ(in.next(), "0:END_OF_PARTITION");
  EXPECT_FALSE(in.gate->isFinished());
  EXPECT_TRUE(in.gate->channel(0).isReleased());
  in.partitions[1]->finish();
  EXPECT_EQ(in.next(), "1:END_OF_PARTITION");
  EXPECT_TRUE(in.gate->isFinished());
  EXPECT_TRUE(in.gate->available().isSet());
  EXPECT_EQ(in.next(), "nothing");
  EXPECT_TRUE(in.gate->available().isSet()) << "it stays available";
  EXPECT_EQ(in.exchange.manager->size(), 0u) << "consumed partitions are released";
}

TEST(InputGate, IgnoresReportsOfAnEndedChannel) {
  Gate in(2);
  in.partitions[0]->finish();
  EXPECT_EQ(in.next(), "0:END_OF_PARTITION");
  in.gate->readyQueue()->add(0);
  EXPECT_EQ(in.next(), "nothing");
}

TEST(InputGate, DrainsOnlyIfAllChannelsSaidSo) {
  for (const bool drain : {true, false}) {
    Gate in(2);
    EXPECT_EQ(in.gate->hasReceivedEndOfData(), EndOfDataStatus::kNotEndOfData);
    in.partitions[0]->notifyEndOfData(StopMode::DRAIN);
    EXPECT_EQ(in.next(), "0:END_OF_DATA");
    EXPECT_EQ(in.gate->hasReceivedEndOfData(), EndOfDataStatus::kNotEndOfData);
    in.partitions[1]->notifyEndOfData(drain ? StopMode::DRAIN : StopMode::NO_DRAIN);
    EXPECT_EQ(in.next(), "1:END_OF_DATA");
    EXPECT_EQ(in.gate->hasReceivedEndOfData(), drain ? EndOfDataStatus::kDrained : EndOfDataStatus::kStopped);
  }
}

TEST(InputGate, TellsTheProducerThatItsRecordsWereProcessed) {
  Gate in(1);
  in.partitions[0]->notifyEndOfData(StopMode::DRAIN);
  EXPECT_EQ(in.next(), "0:END_OF_DATA");
  EXPECT_FALSE(in.partitions[0]->isAllDataProcessed());
  in.gate->acknowledgeAllRecordsProcessed({0, 0});
  EXPECT_TRUE(in.partitions[0]->isAllDataProcessed());
}

TEST(InputGate, WhenClosedReleasesItsChannelsAndTakesNoReports) {
  Gate in(2);
  in.send(0, "a");
  in.gate->close();
  EXPECT_EQ(in.next(), "nothing");
  EXPECT_TRUE(in.partitions[0]->isReleased());
  in.gate->readyQueue()->add(0);
  EXPECT_FALSE(in.gate->looksReady());
}

// ---- connecting and failing -----------------------------------------------------------------------------------------------------------

TEST(InputGate, AsksAgainForAMissingPartitionWithDoublingPausesAndThenGivesUp) {
  Exchange exchange;
  const auto gate = exchange.gate({{0, 0}});
  std::vector<int64_t> pauses;
  for (int i = 0; i < 8; ++i) pauses.push_back(gate->requestPartitions()->count());
  EXPECT_EQ(pauses, (std::vector<int64_t>{100, 200, 400, 800, 1600, 3200, 6400, 10000}));
  try {
    gate->requestPartitions();
    FAIL() << "should have given up";
  } catch (const Throwable& error) {
    EXPECT_EQ(error.className(), "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException");
    EXPECT_EQ(error.message(),
              "Partition " + partitionId(0).partition.toString() + "@" + partitionId(0).producer.toString() + " not found.");
  }
}

TEST(InputGate, ConnectsToAPartitionThatComesLater) {
  Exchange exchange;
  const auto gate = exchange.gate({{0, 0}});
  EXPECT_TRUE(gate->requestPartitions());
  const auto partition = exchange.partition(1);
  RecordWriter writer(partition);
  emitText(writer, 0, "a");
  EXPECT_FALSE(gate->requestPartitions());
  EXPECT_TRUE(gate->available().isSet()) << "what was queued before is reported at once";
  EXPECT_EQ(asText(gate->pollNext()->buffer).substr(4), "a");
}

TEST(InputGate, AFailedProducerIsThrownWithItsCause) {
  Gate in(1);
  in.exchange.manager->releasePartition(partitionId(0), std::make_shared<Throwable>("java.lang.RuntimeException", "boom"));
  in.gate->readyQueue()->add(0);
  try {
    in.gate->pollNext();
    FAIL() << "should have failed";
  } catch (const Throwable& error) {
    EXPECT_EQ(error.className(), "org.apache.flink.runtime.io.network.partition.PartitionConnectionException");
    EXPECT_EQ(error.cause()->message(), "boom");
  }
}

TEST(InputGate, AReleasedPartitionCancelsItsReader) {
  Gate in(1);
  in.exchange.manager->releasePartition(partitionId(0));
  in.gate->readyQueue()->add(0);
  try {
    in.gate->pollNext();
    FAIL() << "should have been cancelled";
  } catch (const Throwable& error) {
    EXPECT_EQ(error.className(), "org.apache.flink.runtime.execution.CancelTaskException");
  }
}

// ---- numbers --------------------------------------------------------------------------------------------------------------------------

TEST(InputGate, ReportsTheQueueOfTheSubpartitionsAndNoBytesForLocalChannels) {
  Gate in(2);
  in.send(0, "a");
  in.sendEvent(0, CancelCheckpointMarker{1});
  in.send(1, "b");
  EXPECT_EQ(in.gate->queueLength(), 3);
  EXPECT_EQ(in.gate->buffersInUse(), 3);
  EXPECT_EQ(in.gate->queuedBytes(), 0);
  EXPECT_EQ(in.next(), "0:a");
  EXPECT_EQ(in.gate->channel(0).numBytesIn(), 5);
  EXPECT_EQ(in.gate->channel(0).numBuffersIn(), 1);
}

TEST(InputGate, PassesADesiredBufferSizeToTheProducers) {
  Gate in(2);
  in.gate->announceBufferSize(512);
  EXPECT_EQ(in.partitions[1]->subpartition(0).desiredBufferSize(), 512);
}

}  // namespace
}  // namespace weir
