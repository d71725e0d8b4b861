#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "unit/exchange/exchange_fixture.h"
#include "weir/exchange/union_input_gate.h"
#include "weir/record/record_deserializer.h"

// A whole exchange under a hostile load: producers, a flusher and consumers as actors of any executor. Records carry who sent them, through
// which channel and a running number; the consumers check order, content and completeness, and that an aligned barrier cuts exactly.
namespace weir::testing {

struct TrafficOptions {
  uint64_t seed = 1;
  int32_t producers = 3;
  int32_t consumers = 2;
  int32_t records = 200;       ///< of each producer
  uint32_t segmentSize = 32;
  uint32_t largestRecord = 100;
  int32_t barriers = 3;        ///< of each producer
  bool unionOfTwo = false;     ///< each consumer reads the producers through two gates
  bool flushAlways = false;

  static TrafficOptions random(uint64_t seed) {
    Random random(seed);
    TrafficOptions options;
    options.seed = seed;
    options.producers = static_cast<int32_t>(random.between(1, 4));
    options.consumers = static_cast<int32_t>(random.between(1, 4));
    options.segmentSize = static_cast<uint32_t>(random.between(9, 64));
    options.largestRecord = static_cast<uint32_t>(random.between(12, 150));
    options.barriers = static_cast<int32_t>(random.between(0, 5));
    options.unionOfTwo = options.producers > 1 && random.oneIn(3);
    options.flushAlways = random.oneIn(4);
    return options;
  }
};

class Traffic {
 public:
  Traffic(Executor& executor, TrafficOptions options)
      : executor_(executor), options_(options), manager_(std::make_shared<ResultPartitionManager>()) {
    const int32_t perPartition = options_.consumers + 1, gates = options_.consumers * 2;
    segments_ = options_.producers * perPartition + gates + static_cast<int32_t>(Random(options.seed).below(20));
    network_ = NetworkBufferPool::create(segments_, options_.segmentSize).value();
  }

  void run(ExecutionContext& context) {
    std::vector<std::shared_ptr<Actor>> actors;
    for (int32_t p = 0; p < options_.producers; ++p) {
      partitions_.push_back(ResultPartition::create(
          {.id = partitionId(p), .owningTask = "producer", .subpartitions = options_.consumers}));
      manager_->registerResultPartition(partitions_.back());
    }
    // Before anybody produces: a gate that is set up late may wait for segments that lie in front of it, unread (as in Flink).
    for (int32_t i = 0; i < options_.consumers * 2; ++i) {
      gatePools_.push_back(network_->createBufferPool(LocalBufferPoolOptions::forInputGate()).value());
      ASSERT_TRUE(gatePools_.back()->reserveFirstSegment(context).has_value());
    }
    for (int32_t p = 0; p < options_.producers; ++p)
      actors.push_back(executor_.spawn({.name = "producer " + std::to_string(p)}, [this, p](ExecutionContext& own) { produce(own, p); }));
    for (int32_t c = 0; c < options_.consumers; ++c)
      actors.push_back(executor_.spawn({.name = "consumer " + std::to_string(c)}, [this, c](ExecutionContext& own) { consume(own, c); }));
    const auto flusher = executor_.spawn({.name = "flusher"}, [this](ExecutionContext& own) { flush(own); });
    for (const auto& actor : actors) context.wait(WaitReason::kInputOrMail, {&actor->done()});
    stopFlusher_.store(true);
    context.wait(WaitReason::kInputOrMail, {&flusher->done()});
    EXPECT_EQ(recordsRead_.load(), emitted_.load());
    EXPECT_EQ(network_->availableSegments(), segments_) << "some segment is not back";
    EXPECT_EQ(network_->requiredSegments(), 0);
    EXPECT_EQ(manager_->size(), 0u) << "some partition was not consumed";
  }

 private:
  static constexpr uint32_t kHeader = 12;  // producer, number, checksum
  static constexpr uint32_t kAll = ~0u;    // a channel: all of them
  static constexpr uint32_t kBroadcastBit = 1u << 31;  // in a number: counts among the broadcast records of its producer
  /// What the next records of a channel are numbered.
  struct Expected {
    uint32_t own = 0, broadcast = 0;
  };

  static uint32_t checksum(std::span<const uint8_t> bytes) {
    uint32_t sum = 17;
    for (const uint8_t byte : bytes) sum = sum * 31 + byte;
    return sum;
  }

  void emitOne(RecordWriter& writer, Random& random, uint32_t channel, int32_t producer, uint32_t number) {
    const auto body = static_cast<uint32_t>(random.below(options_.largestRecord));
    const uint32_t slack = random.oneIn(3) ? static_cast<uint32_t>(random.below(20)) : 0;  // a bound that is not reached
    const auto write = [&](uint8_t* at) {
      uint8_t* end = at + kHeader;
      for (uint32_t i = 0; i < body; ++i) *end++ = static_cast<uint8_t>(number * 7 + i);
      storeBigEndian(at, producer);
      storeBigEndian(at + 4, static_cast<int32_t>(number));
      storeBigEndian(at + 8, static_cast<int32_t>(checksum({at + kHeader, end})));
      return end;
    };
    const size_t maxSize = kHeader + body + slack;
    if (channel == kAll) writer.broadcastShared(maxSize, write);
    else writer.emit(channel, maxSize, write);
  }

  void produce(ExecutionContext& context, int32_t producer) {
    ResultPartition& partition = *partitions_[producer];
    auto options = LocalBufferPoolOptions::forResultPartition(options_.consumers);
    options.maxOverdraft = 2;
    partition.setup(context, network_->createBufferPool(options).value());
    RecordWriter writer(partitions_[producer], options_.flushAlways);
    Random random(options_.seed, context.name());
    std::vector<uint32_t> numbers(options_.consumers, 0);
    uint32_t broadcasts = 0;
    int32_t barriers = 0;
    partition.broadcastEvent(EndOfChannelState{});
    for (int32_t i = 0; i < options_.records; ++i) {
      const auto channel = static_cast<uint32_t>(random.below(options_.consumers));
      if (random.oneIn(20)) emitOne(writer, random, kAll, producer, kBroadcastBit | broadcasts++);
      else emitOne(writer, random, channel, producer, numbers[channel]++);
      if (random.oneIn(10)) partition.flushAll();
      if (random.oneIn(5)) context.interleave("between records");
      if (barriers < options_.barriers && random.oneIn(options_.records / (options_.barriers + 1)))
        writer.broadcastEvent(barrier(++barriers));
      if (random.oneIn(20) && !writer.isAvailable()) {
        partition.available().reset();
        if (!writer.isAvailable()) context.wait(WaitReason::kOutput, {&partition.available()});
      }
      context.bill(1);
    }
    while (barriers < options_.barriers) writer.broadcastEvent(barrier(++barriers));
    emitted_.fetch_add(broadcasts * options_.consumers);
    for (const uint32_t count : numbers) emitted_.fetch_add(count);
    partition.notifyEndOfData(StopMode::DRAIN);
    while (!partition.isAllDataProcessed()) {
      partition.allDataProcessed().reset();
      if (!partition.isAllDataProcessed()) context.wait(WaitReason::kInputOrMail, {&partition.allDataProcessed()});
    }
    partition.finish();
    partition.close();
  }

  void flush(ExecutionContext& context) {
    while (!stopFlusher_.load()) {
      context.wait(WaitReason::kInputOrMail, {}, Deadline::housekeeping(context.clock().monotonic() + std::chrono::microseconds(300)));
      for (const auto& partition : partitions_) partition->flushAll();
    }
  }

  std::unique_ptr<SingleInputGate> makeGate(int32_t consumer, int32_t index, int32_t from, int32_t to) {
    auto gate = std::make_unique<SingleInputGate>("consumer", index);
    std::vector<std::unique_ptr<InputChannel>> channels;
    for (int32_t p = from; p < to; ++p)
      channels.push_back(std::make_unique<LocalInputChannel>(InputChannelDescriptor{.info = {index, p - from},
                                                                                    .partition = partitionId(p),
                                                                                    .subpartition = static_cast<uint32_t>(consumer)},
                                                             manager_));
    gate->setInputChannels(std::move(channels));
    return gate;
  }

  void consume(ExecutionContext& context, int32_t consumer) {
    const int32_t n = options_.producers, split = options_.unionOfTwo ? n / 2 : n;
    std::vector<std::unique_ptr<SingleInputGate>> gates;
    gates.push_back(makeGate(consumer, 0, 0, split));
    if (split < n) gates.push_back(makeGate(consumer, 1, split, n));
    std::unique_ptr<UnionInputGate> both;
    InputGate* input = gates[0].get();
    if (split < n) {
      both = std::make_unique<UnionInputGate>(std::vector<SingleInputGate*>{gates[0].get(), gates[1].get()});
      input = both.get();
    }
    for (size_t i = 0; i < gates.size(); ++i) ASSERT_TRUE(gates[i]->setup(context, gatePools_[consumer * 2 + i]).has_value());
    ASSERT_FALSE(input->requestPartitions());
    readToTheEnd(context, *input);
    input->close();
    for (int i : {0, 1}) gatePools_[consumer * 2 + i]->lazyDestroy();
  }

  void readToTheEnd(ExecutionContext& context, InputGate& input) {
    Random random(options_.seed, context.name());
    const int32_t n = options_.producers;
    std::vector<RecordDeserializer> deserializers;
    for (int32_t i = 0; i < n; ++i) deserializers.emplace_back("channel " + std::to_string(i));
    std::vector<Expected> expected(n);
    std::vector<int32_t> sequence(n, 0), atBarrier(n, 0);
    std::vector<InputChannelInfo> blocked;
    int32_t processed = 0;
    while (!input.isFinished()) {
      const auto got = input.pollNext();
      if (!got) {
        context.wait(WaitReason::kInputOrMail, {&input.available()});
        continue;
      }
      const int32_t channel = got->channelIndex;
      ASSERT_EQ(got->sequenceNumber, sequence[channel]++);
      if (got->isBuffer()) {
        readRecords(deserializers[channel], got->buffer, channel, expected[channel]);
        context.bill(1);
      } else if (isBlockingUpstream(got->dataType())) {
        // All channels stand at the same barrier before any goes on.
        const int32_t id = got->dataType() == DataType::RECOVERY_COMPLETION
                               ? 0
                               : static_cast<int32_t>(std::get<CheckpointBarrier>(EventSerializer::decode(got->buffer.bytes()).value()).id);
        ASSERT_EQ(id, atBarrier[channel]++);
        blocked.push_back(got->channel);
        if (blocked.size() < static_cast<size_t>(n)) continue;
        for (int32_t i = 0; i < n; ++i) ASSERT_EQ(atBarrier[i], id + 1);
        for (const InputChannelInfo& info : blocked) input.resumeConsumption(info);
        blocked.clear();
      } else if (got->dataType() == DataType::END_OF_DATA) {
        input.acknowledgeAllRecordsProcessed(got->channel);
        ++processed;
      }
      if (random.oneIn(7)) context.interleave("between buffers");
    }
    EXPECT_EQ(processed, n);
    EXPECT_EQ(input.hasReceivedEndOfData(), EndOfDataStatus::kDrained);
    for (int32_t i = 0; i < n; ++i) EXPECT_EQ(atBarrier[i], options_.barriers + 1);
    int64_t records = 0;
    for (const Expected& count : expected) records += count.own + count.broadcast;
    recordsRead_.fetch_add(records);
  }

  void readRecords(RecordDeserializer& deserializer, const Buffer& buffer, int32_t channel, Expected& expected) {
    deserializer.setNextBuffer(buffer.bytes());
    std::span<const uint8_t> record;
    RecordDeserializer::Next next;
    while ((next = deserializer.next(record)) == RecordDeserializer::Next::kRecord) {
      ASSERT_GE(record.size(), kHeader);
      ASSERT_EQ(loadBigEndian<int32_t>(record.data()), channel) << "from another producer";
      const auto number = static_cast<uint32_t>(loadBigEndian<int32_t>(record.data() + 4));
      ASSERT_EQ(number, number & kBroadcastBit ? kBroadcastBit | expected.broadcast++ : expected.own++) << "lost, repeated or out of order";
      ASSERT_EQ(loadBigEndian<int32_t>(record.data() + 8), static_cast<int32_t>(checksum(record.subspan(kHeader))));
    }
    ASSERT_EQ(next, RecordDeserializer::Next::kNeedBuffer);
  }

  Executor& executor_;
  const TrafficOptions options_;
  std::shared_ptr<ResultPartitionManager> manager_;
  std::shared_ptr<NetworkBufferPool> network_;
  int32_t segments_ = 0;
  std::vector<std::shared_ptr<ResultPartition>> partitions_;
  std::vector<std::shared_ptr<LocalBufferPool>> gatePools_;  ///< two for each consumer
  std::atomic<bool> stopFlusher_{false};
  std::atomic<int64_t> recordsRead_{0}, emitted_{0};
};

}  // namespace weir::testing
