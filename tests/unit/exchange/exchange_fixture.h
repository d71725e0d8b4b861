#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "support/no_wait_context.h"
#include "weir/exchange/local_input_channel.h"
#include "weir/exchange/partitioner.h"
#include "weir/exchange/record_writer.h"
#include "weir/exchange/result_partition_manager.h"
#include "weir/exchange/single_input_gate.h"
#include "weir/record/event_serializer.h"

namespace weir::testing {

inline ResultPartitionID partitionId(int32_t partition) {
  return {{IntermediateDataSetID::of(0, 7), partition}, {ExecutionGraphID::of(0, 1), JobVertexID::of(0, 2), partition, 0}};
}

inline std::span<const uint8_t> asBytes(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }
inline std::string asText(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.data()), buffer.size()}; }

inline Buffer eventBuffer(const RuntimeEvent& event, bool priority = false) {
  return Buffer::copyOf(EventSerializer::encodeForSend(event), dataTypeOf(event, priority));
}
inline CheckpointBarrier barrier(int64_t id, AlignmentType alignment = AlignmentType::kAligned,
                                 int64_t timeoutMs = CheckpointOptions::kNoTimeout) {
  CheckpointOptions options;
  options.alignment = alignment;
  options.alignedTimeoutMs = timeoutMs;
  return {id, 0, options};
}

/// A subpartition alone, with builders of its own memory and a reader whose notifications can be counted.
struct Subpartition {
  explicit Subpartition(bool attached = true) {
    queue.init({0, 3}, false);
    if (attached) attach();
  }
  void attach() {
    NotificationBatch batch;
    queue.attachReader({ready, 0}, batch);
  }
  /// An unfinished data buffer with this text.
  BufferBuilder open(std::string_view text = "") {
    BufferBuilder builder(MemorySegment::allocate(64));
    builder.append(asBytes(text));
    return builder;
  }
  int32_t add(BufferConsumer consumer) {
    NotificationBatch batch;
    return queue.add(std::move(consumer), batch);
  }
  int32_t addData(std::string_view text) {
    BufferBuilder builder = open(text);
    BufferConsumer consumer = builder.createConsumer();
    builder.finish();
    return add(std::move(consumer));
  }
  int32_t addEvent(const RuntimeEvent& event, bool priority = false) { return add(BufferConsumer(eventBuffer(event, priority))); }
  void flush() {
    NotificationBatch batch;
    queue.flush(batch);
  }
  void finish() {
    NotificationBatch batch;
    queue.finish(eventBuffer(EndOfPartition{}), batch);
  }
  /// How often the reader was told of data since the last call.
  int notified() {
    std::vector<uint32_t> data;
    ready->drain(data, priorities);
    return static_cast<int>(data.size());
  }
  /// The notifications of priority events since the last call.
  std::vector<int32_t> notifiedPriorities() {
    (void)notified();
    std::vector<int32_t> numbers;
    for (const auto& priority : priorities) numbers.push_back(priority.sequenceNumber);
    priorities.clear();
    return numbers;
  }

  std::shared_ptr<ReadyQueue> ready = std::make_shared<ReadyQueue>(1);
  std::vector<ReadyQueue::Priority> priorities;
  PipelinedSubpartition queue;
};

/// The text of the next buffer.
inline std::string polled(Subpartition& sub) {
  const auto next = sub.queue.poll();
  return next ? asText(next->buffer) : "nothing";
}

/// Remembers what it was told.
class RecordingChannelStateWriter final : public ChannelStateWriter {
 public:
  void start(int64_t, const CheckpointOptions&) override {}
  void addInputData(int64_t id, InputChannelInfo channel, std::vector<Buffer> data) override {
    note("input " + std::to_string(id) + " " + std::to_string(channel.channel), data);
    if (const auto meanwhile = std::exchange(onInput, nullptr)) meanwhile();
  }
  void addOutputData(int64_t id, ResultSubpartitionInfo, std::vector<Buffer> data) override { note("output " + std::to_string(id), data); }
  void expectOutputData(int64_t id, ResultSubpartitionInfo) override {
    calls.push_back("expect " + std::to_string(id));
    if (onExpect) onExpect();
  }
  void completeOutputData(int64_t id, ResultSubpartitionInfo, std::vector<Buffer> data) override {
    note("complete " + std::to_string(id), data);
  }
  void failOutputData(int64_t id, ResultSubpartitionInfo, std::shared_ptr<const Throwable>) override {
    calls.push_back("fail " + std::to_string(id));
  }
  void finishInput(int64_t) override {}
  void finishOutput(int64_t) override {}
  void abort(int64_t, std::shared_ptr<const Throwable>, bool) override {}
  std::shared_ptr<ChannelStateWriteResult> getAndRemoveWriteResult(int64_t) override { return nullptr; }
  void close() override {}

  std::vector<std::string> calls;
  std::function<void()> onExpect;
  std::function<void()> onInput;  ///< what others do while the first input data is taken

 private:
  void note(std::string what, const std::vector<Buffer>& data) {
    for (const Buffer& buffer : data) what += " " + asText(buffer);
    calls.push_back(std::move(what));
  }
};

/// Partitions and a network pool in one place. What is not given back by the end fails in the pool's destructor.
struct Exchange {
  explicit Exchange(int32_t segments = 64, uint32_t segmentSize = 64)
      : network(NetworkBufferPool::create(segments, segmentSize).value()), manager(std::make_shared<ResultPartitionManager>()) {}
  ~Exchange() {
    for (const auto& partition : partitions) {
      partition->release();
      partition->close();
    }
  }

  std::shared_ptr<ResultPartition> partition(int32_t subpartitions) {
    const auto options = LocalBufferPoolOptions::forResultPartition(subpartitions);
    return partition(subpartitions, options);
  }
  std::shared_ptr<ResultPartition> partition(int32_t subpartitions, const LocalBufferPoolOptions& options) {
    const auto index = static_cast<int32_t>(partitions.size());
    auto made = ResultPartition::create({.id = partitionId(index), .owningTask = "producer", .subpartitions = subpartitions});
    made->setup(context, network->createBufferPool(options).value());
    manager->registerResultPartition(made);
    partitions.push_back(made);
    return made;
  }
  /// A gate whose channel c reads the subpartition c.second of partition c.first.
  std::unique_ptr<SingleInputGate> gate(const std::vector<std::pair<int32_t, uint32_t>>& sources, int32_t index = 0,
                                        ChannelStateWriter* writer = nullptr) {
    auto made = std::make_unique<SingleInputGate>("consumer", index);
    std::vector<std::unique_ptr<InputChannel>> channels;
    for (const auto& [partition, subpartition] : sources)
      channels.push_back(std::make_unique<LocalInputChannel>(
          InputChannelDescriptor{
              .info = {index, static_cast<int32_t>(channels.size())}, .partition = partitionId(partition), .subpartition = subpartition},
          manager, writer));
    made->setInputChannels(std::move(channels));
    return made;
  }

  NoWaitContext context;
  std::shared_ptr<NetworkBufferPool> network;
  std::shared_ptr<ResultPartitionManager> manager;
  std::vector<std::shared_ptr<ResultPartition>> partitions;
};

/// Writes raw bytes as one record: the length is added.
inline void emitBytes(RecordWriter& writer, uint32_t subpartition, std::span<const uint8_t> payload) {
  writer.emit(subpartition, payload.size(), [&](uint8_t* at) {
    return payload.empty() ? at : static_cast<uint8_t*>(std::memcpy(at, payload.data(), payload.size())) + payload.size();
  });
}
inline void emitText(RecordWriter& writer, uint32_t subpartition, std::string_view text) { emitBytes(writer, subpartition, asBytes(text)); }

}  // namespace weir::testing
