#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "unit/exchange/exchange_fixture.h"
#include "weir/transport/client_handler.h"
#include "weir/transport/server_handler.h"

// Both ends of one connection, with what is on the way between them in the hands of the test.
namespace weir::testing {

inline InputChannelID channelId(int32_t n) { return InputChannelID::of(5, static_cast<uint64_t>(n) + 1); }

/// One direction: messages wait until the test delivers them.
struct Wire final : MessageSink {
  std::deque<NetworkMessage> messages;
  size_t window = 1000;
  void send(NetworkMessage message) override { messages.push_back(std::move(message)); }
  bool isWritable() const override { return messages.size() < window; }
  NetworkMessage take() {
    NetworkMessage message = std::move(messages.front());
    messages.pop_front();
    return message;
  }
  /// "BufferResponse", ... of all that is on the way.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& message : messages) names.emplace_back(nameOf(message));
    return names;
  }
};

/// One remote channel as its task has it.
struct RemoteEnd {
  std::shared_ptr<RemoteReceiver> receiver;
  std::shared_ptr<ReadyQueue> ready = std::make_shared<ReadyQueue>(1);
  std::vector<ReadyQueue::Priority> priorities;

  BufferManager& buffers() const { return receiver->buffers(); }
  bool notified() {
    std::vector<uint32_t> data;
    priorities.clear();
    ready->drain(data, priorities);
    return !data.empty();
  }
};

struct ConnectionOptions {
  int32_t exclusive = 2;
  int32_t floating = 8;
  int32_t segments = 64;
  uint32_t segmentSize = 64;
};

class TestConnection {
 public:
  explicit TestConnection(ConnectionOptions options = {})
      : options_(options), consumer(NetworkBufferPool::create(options.segments, options.segmentSize).value()),
        producer(options.segments, options.segmentSize), client(toServer, "tm1"),
        server(producer.manager, toClient,
               {.onReady = [this] { reported = true; },
                .onRegistered = [this](const InputChannelID& id) { registered.push_back(id); },
                .onWaiting = [this](const InputChannelID& id) { waiting.push_back(id); }}) {
    LocalBufferPoolOptions floating = LocalBufferPoolOptions::forInputGate();
    floating.max = std::max(1, options.floating);
    gatePool = consumer->createBufferPool(floating).value();
  }
  ~TestConnection() {
    for (auto& end : ends) end->receiver->release();
    toServer.messages.clear();
    toClient.messages.clear();
    server.release();
    gatePool->lazyDestroy();
    for (auto& pool : exclusivePools) pool->lazyDestroy();
  }

  /// A channel that reads `subpartition`; its request is on the way.
  RemoteEnd& connect(uint32_t subpartition, int32_t partition = 0, std::shared_ptr<ChannelStateWriter> writer = nullptr) {
    auto end = std::make_unique<RemoteEnd>();
    const InputChannelID id = channelId(static_cast<int32_t>(ends.size()));
    RemoteReceiver::Options options;
    options.info = {0, static_cast<int32_t>(ends.size())};
    options.id = id;
    options.partition = partitionId(partition);
    options.subpartition = subpartition;
    auto buffers = std::make_shared<BufferManager>([this, id] { client.notifyCreditAvailable(id); });
    std::shared_ptr<LocalBufferPool> source;
    if (options_.exclusive > 0) {
      source = consumer->createBufferPool({.required = options_.exclusive, .max = options_.exclusive}).value();
      exclusivePools.push_back(source);
    }
    buffers->setup(source, options_.exclusive, gatePool);
    end->receiver = std::make_shared<RemoteReceiver>(options, std::move(writer), std::move(buffers));
    end->receiver->setReader({end->ready, 0});
    client.requestSubpartition(end->receiver);
    ends.push_back(std::move(end));
    return *ends.back();
  }

  void settleProducer() {
    while (std::exchange(reported, false)) server.onReady();
  }
  void deliverToServer() {
    server.onMessage(toServer.take());
    client.onWritable();
  }
  void deliverToClient() {
    client.onSentMessage(toClient.take());
    client.onRead();
    server.onWritable();
  }
  /// Until nothing is on the way.
  void settle() {
    settleProducer();
    while (!toServer.messages.empty() || !toClient.messages.empty()) {
      while (!toServer.messages.empty()) deliverToServer();
      if (!toClient.messages.empty()) deliverToClient();
      settleProducer();
    }
  }
  CreditBasedSequenceNumberingViewReader& readerOf(int32_t channel) { return *server.queue().find(channelId(channel)); }

 private:
  const ConnectionOptions options_;

 public:
  std::shared_ptr<NetworkBufferPool> consumer;
  std::shared_ptr<LocalBufferPool> gatePool;
  std::vector<std::shared_ptr<LocalBufferPool>> exclusivePools;
  Exchange producer;
  Wire toServer, toClient;
  bool reported = false;
  std::vector<InputChannelID> registered, waiting;
  CreditBasedPartitionRequestClientHandler client;
  PartitionRequestServerHandler server;
  std::vector<std::unique_ptr<RemoteEnd>> ends;
};

template <class Message>
const Message& front(const Wire& wire) {
  return std::get<Message>(wire.messages.front());
}

/// What its task would fail with; empty: nothing.
inline std::string failureOf(RemoteEnd& end) {
  try {
    end.receiver->checkError();
  } catch (const Throwable& error) {
    return error.trace();
  }
  return "";
}

/// A full buffer of 64 bytes.
inline void emitFull(ResultPartition& partition, uint32_t subpartition = 0, char fill = 'x') {
  partition.emitRecord(asBytes(std::string(64, fill)), subpartition);
}

}  // namespace weir::testing
