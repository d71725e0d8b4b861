#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "unit/exchange/exchange_fixture.h"
#include "unit/socket/raw_peer.h"
#include "weir/base/log_sinks.h"
#include "weir/base/thread_executor.h"
#include "weir/transport/connection_manager.h"
#include "weir/transport/proxied_transport.h"
#include "weir/transport/remote_input_channel.h"
#include "weir/transport/socket_transport.h"

// TaskManagers that are connected by real sockets, and peers that are the test itself.
namespace weir::testing {

using namespace std::chrono_literals;

inline InputChannelID channelId(int32_t n) { return InputChannelID::of(5, static_cast<uint64_t>(n) + 1); }

/// A remote channel as its task has it.
struct SocketChannel {
  std::unique_ptr<RemoteInputChannel> channel;
  std::shared_ptr<ReadyQueue> ready = std::make_shared<ReadyQueue>(1);
  std::shared_ptr<LocalBufferPool> exclusive, floating;

  void forgetNews() const {
    std::vector<uint32_t> data;
    std::vector<ReadyQueue::Priority> priorities;
    ready->signals().available.reset();
    ready->drain(data, priorities);
  }
};

/// Everything runs on threads; the body of a test is an actor.
class SocketTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kSegment = 64;

  void SetUp() override { options.limits.payload = kSegment; }

  /// Runs the body with a producing TaskManager "tm1" that listens, and a consuming one "tm2"; both are stopped behind it.
  void run(const std::function<void(ExecutionContext&)>& body) {
    executor.run("main", [&](ExecutionContext& its) {
      context = &its;
      transport = std::make_shared<SocketTransport>(executor, log, options);
      links = std::make_shared<ProxiedTransport>(executor, transport);
      tm1 = manager("tm1", producer.manager);
      tm2 = manager("tm2", std::make_shared<ResultPartitionManager>());
      ASSERT_TRUE(tm1->start().has_value());
      ASSERT_TRUE(tm2->start().has_value());
      try {
        body(its);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what() << "\n" << log.text();
      }
      for (auto& end : channels) end->channel->releaseAllResources();
      stop(tm1);
      stop(tm2);
      for (auto& end : channels) {
        if (end->exclusive) end->exclusive->lazyDestroy();
        end->floating->lazyDestroy();
      }
      channels.clear();
      links = nullptr;
      transport = nullptr;
    });
    EXPECT_EQ(consumer->usedSegments(), 0);
  }

  std::shared_ptr<ConnectionManager> manager(const std::string& name, std::shared_ptr<ResultPartitionManager> partitions) {
    ConnectionManagerOptions its;
    its.self = name;
    its.partitionRequestTimeout = requestTimeout;
    its.log = &log;
    const std::shared_ptr<Transport> sockets = transport, slow = links;
    return std::make_shared<ConnectionManager>(executor, proxied ? slow : sockets, std::move(partitions), std::move(its));
  }
  void stop(const std::shared_ptr<ConnectionManager>& manager) {
    const auto stopped = std::make_shared<Signal>("stopped");
    manager->stop([stopped] { stopped->set(); });
    await(*stopped);
  }

  /// A channel of tm2 that reads from `peer`; its request is on the way.
  SocketChannel& connect(const std::string& peer, uint32_t subpartition = 0, int32_t partition = 0, int32_t exclusive = 2) {
    auto end = std::make_unique<SocketChannel>();
    const auto index = static_cast<int32_t>(channels.size());
    end->channel = std::make_unique<RemoteInputChannel>(
        InputChannelDescriptor{
            .info = {0, index}, .partition = partitionId(partition), .subpartition = subpartition, .maxBackoff = maxBackoff},
        RemoteInputChannel::Remote{peer, channelId(index), requestTimeout}, tm2);
    if (exclusive > 0) end->exclusive = consumer->createBufferPool({.required = exclusive, .max = exclusive}).value();
    end->floating = consumer->createBufferPool(LocalBufferPoolOptions::forInputGate()).value();
    end->channel->setup(end->exclusive, exclusive, end->floating);
    end->channel->requestSubpartition({end->ready, 0});
    channels.push_back(std::move(end));
    return *channels.back();
  }
  /// The next buffer or event, which must come.
  BufferAndBacklog next(SocketChannel& end) {
    for (;;) {
      end.forgetNews();
      if (auto got = end.channel->getNextBuffer()) return std::move(*got);
      await(end.ready->signals().available);
    }
  }
  /// What the task of a channel fails with, which must come.
  std::string failureOf(SocketChannel& end) {
    for (;;) {
      try {
        end.forgetNews();
        if (!end.channel->getNextBuffer()) await(end.ready->signals().available);
      } catch (const Throwable& error) {
        return error.trace();
      }
      if (::testing::Test::HasFatalFailure()) return "nothing";
    }
  }
  /// Waits for what must come.
  void await(Signal& signal) {
    if (context->wait(WaitReason::kInputOrMail, {&signal}, Deadline::work(context->clock().monotonic() + 20s)) == WaitOutcome::kDeadline)
      throw std::runtime_error(std::string("nothing set the signal '") + signal.name() + "'");
  }
  template <class Condition>
  void awaitUntil(const char* what, const Condition& condition) {
    const Nanos end = context->clock().monotonic() + 20s;
    while (!condition()) {
      if (context->clock().monotonic() > end) throw std::runtime_error(std::string("in vain: ") + what);
      pause(1ms);
    }
  }
  void pause(Nanos time) { context->wait(WaitReason::kInputOrMail, {}, Deadline::work(context->clock().monotonic() + time)); }

  /// A producing task of tm1: its partition gives way to `body`, which may wait for buffers, and is released when that ends or is
  /// cancelled.
  std::shared_ptr<Actor> produce(int32_t partition, int32_t subpartitions, std::function<void(ResultPartition&)> body) {
    return executor.spawn({.name = "producer"}, [this, partition, subpartitions, body](ExecutionContext& its) {
      auto made = ResultPartition::create({.id = partitionId(partition), .owningTask = "producer", .subpartitions = subpartitions});
      made->setup(its, producer.network->createBufferPool(LocalBufferPoolOptions::forResultPartition(subpartitions)).value());
      producer.manager->registerResultPartition(made);
      try {
        body(*made);
      } catch (const TaskCancelled&) {
      }
      producer.manager->releasePartition(partitionId(partition));
      made->release();
      made->close();
    });
  }

  /// A peer that connects to tm1 as a consumer.
  RawPeer connectRaw() { return RawPeer::connectTo(tm1->address(), FrameSender::kProducer); }

  ThreadExecutor executor;
  MemoryLogSink log{SystemClock::instance()};
  Millis requestTimeout{10'000}, maxBackoff{10'000};
  SocketTransportOptions options;
  bool proxied = false;  ///< every link goes through a proxy, which can slow it down and break it
  Exchange producer{64, kSegment};
  std::shared_ptr<NetworkBufferPool> consumer = NetworkBufferPool::create(256, kSegment).value();
  std::shared_ptr<SocketTransport> transport;
  std::shared_ptr<ProxiedTransport> links;
  std::shared_ptr<ConnectionManager> tm1, tm2;
  std::vector<std::unique_ptr<SocketChannel>> channels;
  ExecutionContext* context = nullptr;
};

/// One full buffer of 64 bytes.
inline void emitFull(ResultPartition& partition, uint32_t subpartition = 0, char fill = 'x') {
  partition.emitRecord(asBytes(std::string(64, fill)), subpartition);
}

}  // namespace weir::testing
