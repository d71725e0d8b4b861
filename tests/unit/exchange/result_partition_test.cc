#include "weir/exchange/result_partition.h"

#include <gtest/gtest.h>

#include "unit/exchange/exchange_fixture.h"
#include "weir/base/simulated_executor.h"
#include "weir/record/record_deserializer.h"

namespace weir {
namespace {

using namespace testing;

std::string hex(const Buffer& buffer) {
  std::string text;
  for (const uint8_t byte : buffer.bytes()) text += fmt::format("{:02x}", byte);
  return text;
}

/// A partition whose subpartitions are all read by one queue.
struct Written {
  explicit Written(int32_t subpartitions, LocalBufferPoolOptions options = {.required = 20, .max = 20}, bool flushAlways = false)
      : Written(subpartitions, flushAlways, [&] {
          options.subpartitions = subpartitions;
          return options;
        }()) {}
  Written(int32_t subpartitions, bool flushAlways, LocalBufferPoolOptions options)
      : partition(exchange.partition(subpartitions, options)), writer(partition, flushAlways),
        ready(std::make_shared<ReadyQueue>(subpartitions)) {
    for (int32_t i = 0; i < subpartitions; ++i) views.push_back(partition->createView(i, {ready, static_cast<uint32_t>(i)}));
    (void)notified();
  }
  std::vector<uint32_t> notified() {
    std::vector<uint32_t> data;
    ready->drain(data, priorities);
    return data;
  }
  std::string poll(int32_t subpartition) {
    const auto next = views[subpartition].getNextBuffer();
    return next ? hex(next->buffer) : "nothing";
  }

  Exchange exchange;
  std::shared_ptr<ResultPartition> partition;
  RecordWriter writer;
  std::shared_ptr<ReadyQueue> ready;
  std::vector<ReadyQueue::Priority> priorities;
  std::vector<PipelinedSubpartitionView> views;
};

// ---- rows of the state table of writer and builders (network-stack.md 19.1) ----------------------------------------------------------

TEST(RecordWriter, OpensABufferThatTheReaderSeesBeforeItIsFinished) {
  Written out(2);
  emitText(out.writer, 1, "x");
  EXPECT_EQ(out.partition->subpartition(0).queueLength(), 0);
  EXPECT_EQ(out.partition->subpartition(1).queueLength(), 1);
  EXPECT_TRUE(out.notified().empty());
  EXPECT_EQ(out.poll(1), "0000000178");
}

TEST(RecordWriter, ANewUnicastRecordClosesTheBroadcastBuffer) {
  Written out(2);
  out.writer.broadcastShared(1, [](uint8_t* at) { *at = 'b'; return at + 1; });
  emitText(out.writer, 0, "u");
  EXPECT_EQ(out.poll(0), "0000000162");
  EXPECT_EQ(out.poll(0), "0000000175");
  EXPECT_EQ(out.poll(1), "0000000162");
  EXPECT_EQ(out.poll(1), "nothing");
}

TEST(RecordWriter, ABroadcastRecordClosesAllUnicastBuffers) {
  Written out(3);
  emitText(out.writer, 0, "0");
  emitText(out.writer, 2, "2");
  out.writer.broadcastShared(1, [](uint8_t* at) { *at = 'b'; return at + 1; });
  EXPECT_EQ(out.partition->numBuffersOut(), 2);
  EXPECT_EQ(out.notified(), (std::vector<uint32_t>{0, 2}));
  for (const char* expected : {"0000000130", "0000000162"}) EXPECT_EQ(out.poll(0), expected);
  EXPECT_EQ(out.poll(1), "0000000162");
  for (const char* expected : {"0000000132", "0000000162"}) EXPECT_EQ(out.poll(2), expected);
}

TEST(RecordWriter, BroadcastToAnEdgeWithASelectorWritesIntoEachBufferOnItsOwn) {
  Written out(2);
  broadcastElement(out.writer, ForwardPartitioner(), Watermark{5});
  EXPECT_EQ(out.partition->pool().used(), 2);
  EXPECT_EQ(out.poll(0), "00000009020000000000000005");
  EXPECT_EQ(out.poll(1), "00000009020000000000000005");
}

TEST(RecordWriter, ChargesABroadcastBufferToSubpartitionZero) {
  Written out(2, {.required = 20, .max = 20, .maxBuffersPerChannel = 1});
  out.writer.broadcastShared(1, [](uint8_t* at) { *at = 'b'; return at + 1; });
  EXPECT_EQ(out.partition->pool().cappedSubpartitions(), 1);
  EXPECT_FALSE(out.partition->isAvailable());
  EXPECT_EQ(out.partition->pool().used(), 1);
}

// max-buffers-per-channel-block (FLINK-27522): the cap is looked at between records, never in the middle of one.
TEST(FailureMode, MaxBuffersPerChannelBlock) {
  Written out(2, {.required = 20, .max = 20, .maxBuffersPerChannel = 10});
  const uint32_t segment = out.exchange.network->segmentSize();
  emitText(out.writer, 0, std::string(12 * segment - 4, 'r'));
  EXPECT_EQ(out.partition->pool().used(), 12) << "it is over the cap, and the record is complete";
  EXPECT_FALSE(out.partition->isAvailable()) << "the next record waits where a barrier can be taken";
  for (int read = 1; read <= 12; ++read) {
    EXPECT_EQ(out.partition->isAvailable(), read > 3) << "below ten after three";
    ASSERT_NE(out.poll(0), "nothing");
  }
  EXPECT_TRUE(out.partition->isAvailable());
}

TEST(RecordWriter, AnEventClosesAllBuffersAndFollowsThemInIndexOrder) {
  Written out(3);
  emitText(out.writer, 1, "x");
  out.partition->broadcastEvent(CancelCheckpointMarker{9});
  EXPECT_EQ(out.notified(), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(out.poll(0), "000000040000000000000009");
  EXPECT_EQ(out.poll(1), "0000000178");
  EXPECT_EQ(out.poll(1), "000000040000000000000009");
}

TEST(RecordWriter, AnEventIsOneCopyOfHeapMemoryForAll) {
  Written out(3);
  const int32_t before = out.partition->pool().used();
  out.partition->broadcastEvent(CancelCheckpointMarker{9});
  const auto a = out.views[0].getNextBuffer(), b = out.views[2].getNextBuffer();
  EXPECT_EQ(a->buffer.data(), b->buffer.data());
  EXPECT_EQ(out.partition->pool().used(), before);
}

TEST(RecordWriter, CountsBytesAndBuffersWhenABufferIsFinished) {
  Written out(2);
  emitText(out.writer, 0, "abc");
  EXPECT_EQ(out.partition->numBytesOut(), 0);
  out.partition->broadcastEvent(CancelCheckpointMarker{1});
  EXPECT_EQ(out.partition->numBytesOut(), 7 + 2 * 12);
  EXPECT_EQ(out.partition->numBuffersOut(), 1 + 2);
  out.writer.broadcastShared(1, [](uint8_t* at) { *at = 'b'; return at + 1; });
  out.partition->broadcastEvent(CancelCheckpointMarker{1});
  EXPECT_EQ(out.partition->numBytesOut(), 7 + 4 * 12 + 2 * 5);
}

TEST(RecordWriter, WritesStraightIntoTheBufferOnlyWhereTheLargestElementFits) {
  Written out(1);
  emitText(out.writer, 0, std::string(40, 'a'));  // 44 of 64 bytes
  uint8_t* seen = nullptr;
  out.writer.emit(0, 100, [&](uint8_t* at) {
    seen = at;
    *at = 'x';
    return at + 1;
  });
  const auto next = out.views[0].getNextBuffer();
  EXPECT_EQ(next->buffer.size(), 49u);
  EXPECT_NE(next->buffer.data() + 48, seen) << "it might not have fitted: by the scratch area";
  out.writer.emit(0, 1, [&](uint8_t* at) {
    seen = at;
    *at = 'y';
    return at + 1;
  });
  EXPECT_EQ(out.views[0].getNextBuffer()->buffer.data() + 4, seen);
}

// ---- debloated sizes ------------------------------------------------------------------------------------------------------------------

struct Debloated {
  Debloated(int32_t segments) : exchange(64, 32768) {
    partition = exchange.partition(1, {.required = segments, .max = segments});
    view = partition->createView(0, {std::make_shared<ReadyQueue>(1), 0});
    view.notifyNewBufferSize(4096);
  }
  /// Polls the sizes of all buffers that are queued.
  std::vector<uint32_t> sizes() {
    std::vector<uint32_t> all;
    while (const auto next = view.getNextBuffer()) all.push_back(next->buffer.size());
    return all;
  }
  Exchange exchange;
  std::shared_ptr<ResultPartition> partition;
  PipelinedSubpartitionView view;
};

TEST(DebloatedBuffer, SplitsARecordWhileThePoolIsAvailable) {
  Debloated out(4);
  RecordWriter writer(out.partition);
  emitText(writer, 0, std::string(3996, 'a'));  // 4000 with its length
  emitText(writer, 0, std::string(296, 'b'));   // 300
  EXPECT_EQ(out.sizes(), (std::vector<uint32_t>{4096, 204}));
}

TEST(DebloatedBuffer, GrowsByTheMissingBytesAndOneWhileThePoolIsNot) {
  Debloated out(1);
  RecordWriter writer(out.partition);
  emitText(writer, 0, std::string(3996, 'a'));
  ASSERT_FALSE(out.partition->isAvailable());
  emitText(writer, 0, std::string(296, 'b'));
  EXPECT_EQ(out.sizes(), std::vector<uint32_t>{4300});
  EXPECT_EQ(out.partition->numBuffersOut(), 0) << "4301 bytes long, so it is not full";
}

TEST(DebloatedBuffer, IsNeverSmallerThanTheRecordThatOpensIt) {
  Debloated out(4);
  out.view.notifyNewBufferSize(10);
  RecordWriter writer(out.partition);
  emitText(writer, 0, std::string(96, 'a'));
  EXPECT_EQ(out.sizes(), std::vector<uint32_t>{100});
}

TEST(DebloatedBuffer, OfABroadcastHasTheSmallestSizeThatASubpartitionWants) {
  Exchange exchange(64, 32768);
  const auto partition = exchange.partition(3);
  std::vector<PipelinedSubpartitionView> views;
  for (uint32_t i = 0; i < 3; ++i) views.push_back(partition->createView(i, {std::make_shared<ReadyQueue>(3), i}));
  views[0].notifyNewBufferSize(100);
  views[1].notifyNewBufferSize(40);
  views[2].notifyNewBufferSize(10);
  views[2].release();
  RecordWriter writer(partition);
  const auto tenBytes = [](uint8_t* at) { return std::fill_n(at, 6, 'x'); };
  for (int i = 0; i < 5; ++i) writer.broadcastShared(6, tenBytes);
  EXPECT_EQ(views[0].getNextBuffer()->buffer.size(), 40u);
}

// ---- flushing -------------------------------------------------------------------------------------------------------------------------

TEST(FlushAll, TellsOnlyTheReadersOfWhatWasWrittenSinceTheLastTime) {
  Written out(3);
  emitText(out.writer, 0, "a");
  emitText(out.writer, 2, "c");
  out.partition->flushAll();
  EXPECT_EQ(out.notified(), (std::vector<uint32_t>{0, 2}));
  for (const int i : {0, 2}) (void)out.poll(i);
  out.partition->flushAll();
  EXPECT_TRUE(out.notified().empty());
  emitText(out.writer, 2, "d");
  out.partition->flushAll();
  EXPECT_EQ(out.notified(), std::vector<uint32_t>{2});
}

TEST(FlushAll, SeesABufferThatWasRewrittenToTheSamePosition) {
  Written out(1, {.required = 1, .max = 1});
  emitText(out.writer, 0, "a");
  out.partition->flushAll();
  (void)out.notified();
  EXPECT_EQ(out.poll(0), "0000000161");
  out.partition->broadcastEvent(CancelCheckpointMarker{1});
  EXPECT_EQ(out.poll(0), "000000040000000000000001");
  (void)out.notified();
  emitText(out.writer, 0, "b");  // the same segment again, the same length
  out.partition->flushAll();
  EXPECT_EQ(out.notified(), std::vector<uint32_t>{0});
}

TEST(FlushAll, IncludesABroadcastBuffer) {
  Written out(2);
  out.writer.broadcastShared(1, [](uint8_t* at) { *at = 'b'; return at + 1; });
  out.partition->flushAll();
  EXPECT_EQ(out.notified(), (std::vector<uint32_t>{0, 1}));
}

TEST(FlushAll, SeesTheRestOfARecordWhoseStartWasFlushedWhileItWaitedForABuffer) {
  SimulatedExecutor executor;
  executor.run("writer", [&](ExecutionContext& context) {
    Exchange exchange(1, 64);
    const auto partition = ResultPartition::create({.id = partitionId(0), .owningTask = "producer"});
    partition->setup(context, exchange.network->createBufferPool({.required = 1, .max = 1}).value());
    const auto ready = std::make_shared<ReadyQueue>(1);
    auto view = partition->createView(0, {ready, 0});
    const auto reader = executor.spawn({.name = "flusher and reader"}, [&](ExecutionContext&) {
      partition->flushAll();
      EXPECT_EQ(view.getNextBuffer()->buffer.size(), 64u);
    });
    RecordWriter writer(partition);
    emitText(writer, 0, std::string(96, 'a'));
    std::vector<uint32_t> channels;
    std::vector<ReadyQueue::Priority> priorities;
    ready->drain(channels, priorities);
    channels.clear();
    partition->flushAll();
    ready->drain(channels, priorities);
    EXPECT_EQ(channels.size(), 1u);
    EXPECT_EQ(view.getNextBuffer()->buffer.size(), 36u);
    partition->release();
    partition->close();
  });
}

TEST(FlushAlways, TellsTheTargetAfterEachRecord) {
  Written out(2, {.required = 20, .max = 20}, true);
  emitText(out.writer, 1, "a");
  EXPECT_EQ(out.notified(), std::vector<uint32_t>{1});
  EXPECT_EQ(out.poll(1), "0000000161");
  emitText(out.writer, 1, "b");
  EXPECT_EQ(out.notified(), std::vector<uint32_t>{1});
}

TEST(FlushAlways, FlushesAllAfterABroadcast) {
  Written out(2, {.required = 20, .max = 20}, true);
  broadcastElement(out.writer, ForwardPartitioner(), Watermark{5});
  EXPECT_EQ(out.notified(), (std::vector<uint32_t>{0, 1}));
}

// ---- back pressure and the end --------------------------------------------------------------------------------------------------------

TEST(ResultPartition, ARecordLargerThanThePoolWaitsForTheReader) {
  SimulatedExecutor executor;
  executor.run("writer", [&](ExecutionContext& context) {
    Exchange exchange(2, 64);
    const auto partition = ResultPartition::create({.id = partitionId(0), .owningTask = "producer"});
    partition->setup(context, exchange.network->createBufferPool({.required = 2, .max = 2}).value());
    const auto ready = std::make_shared<ReadyQueue>(1);
    std::string received;
    const auto reader = executor.spawn({.name = "reader"}, [&](ExecutionContext& other) {
      auto view = partition->createView(0, {ready, 0});
      std::vector<ReadyQueue::Priority> priorities;
      for (bool ended = false; !ended;) {
        std::vector<uint32_t> channels;
        ready->signals().available.reset();
        ready->drain(channels, priorities);
        if (channels.empty()) other.wait(WaitReason::kInputOrMail, {&ready->signals().available});
        while (const auto next = view.getNextBuffer()) {
          ended = next->buffer.dataType() == DataType::END_OF_PARTITION;
          if (!ended) received += asText(next->buffer);
        }
      }
    });
    RecordWriter writer(partition);
    emitText(writer, 0, std::string(1000, 'x'));
    partition->finish();
    context.wait(WaitReason::kInputOrMail, {&reader->done()});
    EXPECT_EQ(received.size(), 1004u);
    EXPECT_EQ(received.substr(4), std::string(1000, 'x'));
    partition->release();
    partition->close();
  });
}

TEST(ResultPartition, EmitsToAReleasedSubpartitionIntoNothing) {
  Written out(2);
  out.views[0].release();
  for (int i = 0; i < 50; ++i) emitText(out.writer, 0, std::string(30, 'x'));
  EXPECT_EQ(out.partition->subpartition(0).queueLength(), 0);
  EXPECT_LE(out.partition->pool().used(), 1);
}

TEST(ResultPartition, SendsEndOfDataOnce) {
  Written out(1);
  out.partition->notifyEndOfData(StopMode::NO_DRAIN);
  out.partition->notifyEndOfData(StopMode::DRAIN);
  EXPECT_EQ(out.poll(0), "0000000801");
  EXPECT_EQ(out.poll(0), "nothing");
}

TEST(ResultPartition, IsProcessedWhenAllItsConsumersSayso) {
  Written out(2);
  out.views[0].acknowledgeAllDataProcessed();
  EXPECT_FALSE(out.partition->isAllDataProcessed());
  out.views[1].acknowledgeAllDataProcessed();
  EXPECT_TRUE(out.partition->isAllDataProcessed());
  EXPECT_TRUE(out.partition->allDataProcessed().isSet());
}

TEST(ResultPartition, IsReleasedWhenAllSubpartitionsWereGivenUp) {
  Written out(2);
  out.views[0].release();
  EXPECT_EQ(out.exchange.manager->size(), 1u);
  out.views[1].release();
  EXPECT_TRUE(out.partition->isReleased());
  EXPECT_EQ(out.exchange.manager->size(), 0u);
}

TEST(ResultPartition, ReportsQueuedBuffersAndBytesNotPolledYet) {
  Written out(2);
  emitText(out.writer, 0, "abc");
  emitText(out.writer, 1, "d");
  out.partition->broadcastEvent(CancelCheckpointMarker{1});
  EXPECT_EQ(out.partition->queuedBuffers(), 4);
  EXPECT_EQ(out.partition->queuedBytes(), 7 + 5 + 2 * 12);
  (void)out.poll(0);
  EXPECT_EQ(out.partition->queuedBuffers(), 3);
  EXPECT_EQ(out.partition->queuedBytes(), 5 + 2 * 12);
}

TEST(ResultPartition, TheRecoveryEventComesFirstAndBlocksUntilResumed) {
  Written out(1);
  out.partition->broadcastEvent(EndOfChannelState{});
  emitText(out.writer, 0, "data");
  const auto first = out.views[0].getNextBuffer();
  EXPECT_EQ(first->buffer.dataType(), DataType::RECOVERY_COMPLETION);
  EXPECT_EQ(first->sequenceNumber, 0);
  EXPECT_EQ(out.poll(0), "nothing");
  out.views[0].resumeConsumption();
  EXPECT_EQ(out.poll(0), "0000000464617461");
}

TEST(ResultPartition, AChannelWithoutABufferCostsLessThanAKilobyte) {
  // Subpartition with room for its first elements, the writer's slot, the channel, the gate's and the queue's entries.
  const size_t bytes = sizeof(PipelinedSubpartition) + 4 * sizeof(BufferConsumer) + 64 + sizeof(LocalInputChannel) + sizeof(void*) + 64;
  EXPECT_LE(bytes, 1024u);
}

}  // namespace
}  // namespace weir
