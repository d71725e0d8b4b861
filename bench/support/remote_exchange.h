#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "limits/common.hpp"
#include "support/job.h"
#include "weir/exchange/record_writer.h"
#include "weir/exchange/result_partition_manager.h"
#include "weir/exchange/single_input_gate.h"
#include "weir/record/record_deserializer.h"
#include "weir/transport/connection_manager.h"
#include "weir/transport/remote_input_channel.h"
#include "weir/transport/socket_transport.h"

namespace weir::bench {

constexpr uint32_t kSegmentBytes = 32 * 1024;  // taskmanager.memory.segment-size

/// A TaskManager as far as its network goes: who connects to it, what its tasks produce, and its segments.
class Node {
 public:
  Node(Executor& executor, std::shared_ptr<Transport> transport, const std::string& name, int32_t segments)
      : network_(NetworkBufferPool::create(segments, kSegmentBytes).value()) {
    ConnectionManagerOptions options;
    options.self = name;
    connections_ = std::make_shared<ConnectionManager>(executor, std::move(transport), partitions_, options);
    if (const auto started = connections_->start(); started.has_error()) Jobs::exitWith(started.error().message);
  }

  std::shared_ptr<ResultPartition> partition(ExecutionContext& context, int32_t index, int32_t subpartitions) {
    auto made = ResultPartition::create({.id = idOf(index), .owningTask = "writer", .subpartitions = subpartitions});
    made->setup(context, network_->createBufferPool(LocalBufferPoolOptions::forResultPartition(subpartitions)).value());
    partitions_->registerResultPartition(made);
    return made;
  }
  /// Reads every subpartition of a partition of `peer`; connects.
  std::unique_ptr<SingleInputGate> gate(ExecutionContext& context, const std::string& peer, int32_t partition, int32_t channels) {
    const NetworkBufferSettings buffers;
    const int32_t exclusive = channels * buffers.buffersPerChannel;
    exclusive_.push_back(network_->createBufferPool({.required = exclusive, .max = exclusive}).value());
    auto floating = network_->createBufferPool(LocalBufferPoolOptions::forInputGate(buffers)).value();
    auto gate = std::make_unique<SingleInputGate>("reader", 0);
    std::vector<std::unique_ptr<InputChannel>> inputs;
    for (int32_t i = 0; i < channels; ++i) {
      auto channel = std::make_unique<RemoteInputChannel>(
          InputChannelDescriptor{.info = {0, i}, .partition = idOf(partition), .subpartition = static_cast<uint32_t>(i)},
          RemoteInputChannel::Remote{peer, InputChannelID::of(static_cast<uint64_t>(partition), static_cast<uint64_t>(i) + 1),
                                     Millis(10'000)},
          connections_);
      channel->setup(exclusive_.back(), buffers.buffersPerChannel, floating);
      inputs.push_back(std::move(channel));
    }
    gate->setInputChannels(std::move(inputs));
    if (const auto set = gate->setup(context, std::move(floating)); set.has_error()) Jobs::exitWith(set.error().message);
    (void)gate->requestPartitions();
    return gate;
  }
  void give(ResultPartition& partition) {
    partitions_->releasePartition(partition.descriptor().id);
    partition.release();
    partition.close();
  }
  void stop(ExecutionContext& context) {
    for (const auto& pool : exclusive_) pool->lazyDestroy();
    const auto stopped = std::make_shared<Signal>("stopped");
    connections_->stop([stopped] { stopped->set(); });
    context.wait(WaitReason::kInputOrMail, {stopped.get()});
  }

 private:
  static ResultPartitionID idOf(int32_t index) {
    return {{IntermediateDataSetID::of(0, 1), index}, {ExecutionGraphID::of(0, 1), JobVertexID::of(0, 1), index, 0}};
  }

  const std::shared_ptr<NetworkBufferPool> network_;
  const std::shared_ptr<ResultPartitionManager> partitions_ = std::make_shared<ResultPartitionManager>();
  std::shared_ptr<ConnectionManager> connections_;
  std::vector<std::shared_ptr<LocalBufferPool>> exclusive_;
};

/// A writing task on one node and a reading one on another, connected by a loopback socket. Each node is pinned to a CPU: its task and its
/// end of the connection share it, as the two threads of the limits have one each.
class RemoteExchange {
 public:
  using Write = std::function<void(RecordWriter&)>;
  struct Rate {
    int64_t records = 0;
    double seconds = 0;  ///< from the first buffer that the reader sees to the last
    double millions() const { return static_cast<double>(records) / seconds / 1e6; }
  };

  /// `reads` is called with each record, on the reading task. `atStart` is told of the partition before anything is written into it.
  template <class Reads>
  static Rate run(int32_t channels, const Write& write, Reads reads,
                  const std::function<void(Executor&, const std::shared_ptr<ResultPartition>&)>& atStart = nullptr) {
    Rate rate;
    ThreadExecutor executor;
    NullLogSink log;
    executor.run("writer", [&](ExecutionContext& context) {
      pin(0);
      SocketTransportOptions options;
      options.limits.payload = kSegmentBytes;
      const auto transport = std::make_shared<SocketTransport>(executor, log, options);
      Node producer(executor, transport, "producer", channels * 2 + 64);
      const auto partition = producer.partition(context, 0, channels);
      if (atStart) atStart(executor, partition);
      const auto reader = executor.spawn({.name = "reader"}, [&](ExecutionContext& own) {
        pin(1);
        Node consumer(executor, transport, "consumer", channels * 2 + 64);
        rate = read(own, *consumer.gate(own, "producer", 0, channels), reads);
        consumer.stop(own);
      });
      RecordWriter writer(partition);
      write(writer);
      partition->finish();
      context.wait(WaitReason::kInputOrMail, {&reader->done()});
      producer.give(*partition);
      producer.stop(context);
    });
    return rate;
  }

 private:
  template <class Reads>
  static Rate read(ExecutionContext& context, SingleInputGate& gate, Reads& reads) {
    Rate rate;
    std::vector<RecordDeserializer> channels;
    for (int32_t i = 0; i < gate.numberOfChannels(); ++i) channels.emplace_back("channel");
    uint64_t first = 0;
    while (!gate.isFinished()) {
      const auto polled = gate.pollNext();
      if (!polled) {
        if (!gate.isFinished()) context.wait(WaitReason::kInputOrMail, {&gate.available()});
        continue;
      }
      if (!polled->isBuffer()) continue;
      if (first == 0) first = now_ns();
      RecordDeserializer& channel = channels[static_cast<size_t>(polled->channelIndex)];
      channel.setNextBuffer(polled->buffer.bytes());
      std::span<const uint8_t> record;
      while (channel.next(record) == RecordDeserializer::Next::kRecord) {
        reads(record);
        ++rate.records;
      }
    }
    rate.seconds = static_cast<double>(now_ns() - first) / 1e9;
    return rate;
  }
};

}  // namespace weir::bench
