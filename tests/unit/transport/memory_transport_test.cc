#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/base/simulated_executor.h"
#include "weir/transport/memory_transport.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Number final : TransportMessage {
  explicit Number(int n) : value(n) {}
  size_t wireSize() const override { return 10; }
  int value;
};

/// One end that notes down what happens.
struct Note final : ConnectionHandler {
  void onOpen(std::shared_ptr<Connection> c) override {
    connection = std::move(c);
    events.push_back("open");
  }
  void onMessage(std::unique_ptr<TransportMessage> m) override { events.push_back(std::to_string(static_cast<Number&>(*m).value)); }
  void onWritable() override { events.push_back("writable"); }
  void onClosed(const ConnectionEnded&) override {
    connection = nullptr;
    events.push_back("closed");
  }
  std::shared_ptr<Connection> connection;
  std::vector<std::string> events;
};

struct MemoryTransportTest : ::testing::Test {
  void run(const std::function<void(ExecutionContext&)>& test) {
    executor.run("test", [&](ExecutionContext& context) {
      transport = std::make_shared<MemoryTransport>(executor.clock(), options);
      test(context);
      client.connection = server.connection = nullptr;
    });
  }
  ConnectionEnd end(const char* name, Note& note) {
    auto loop = std::make_shared<ActorLoop>();
    executor.spawn({.name = name}, [loop](ExecutionContext& own) { loop->run(own); });
    return {loop, std::shared_ptr<ConnectionHandler>(&note, [](ConnectionHandler*) {})};
  }
  void connect() {
    ASSERT_FALSE(
        transport->listen("b", [this](const std::string& peer) { return end(("server for " + peer).c_str(), server); }).has_error());
    transport->connect("a", "b", end("client", client));
  }
  static void pause(ExecutionContext& context, Nanos time = Millis(100)) {
    context.wait(WaitReason::kInputOrMail, std::initializer_list<Signal*>{}, Deadline::work(context.clock().monotonic() + time));
  }

  SimulatedExecutor executor{{.seed = 3}};
  MemoryTransportOptions options;
  std::shared_ptr<MemoryTransport> transport;
  Note client, server;
};

TEST_F(MemoryTransportTest, KeepsTheOrderOfEachDirectionUnderDelays) {
  options.shortestDelay = Nanos(1);
  options.longestDelay = Millis(5);
  run([&](ExecutionContext& context) {
    connect();
    pause(context);
    for (int i = 0; i < 50; ++i) client.connection->send(std::make_unique<Number>(i));
    pause(context, std::chrono::seconds(1));
    ASSERT_EQ(server.events.size(), 51u);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(server.events[static_cast<size_t>(i) + 1], std::to_string(i));
  });
}

TEST_F(MemoryTransportTest, IsWritableUntilItsWindowIsFullAndTellsWhenThereIsRoom) {
  options.windowBytes = 20;
  options.shortestDelay = options.longestDelay = Millis(1);
  run([&](ExecutionContext& context) {
    connect();
    pause(context);
    client.connection->send(std::make_unique<Number>(1));
    EXPECT_TRUE(client.connection->isWritable());
    client.connection->send(std::make_unique<Number>(2));
    EXPECT_FALSE(client.connection->isWritable());
    pause(context);
    EXPECT_TRUE(client.connection->isWritable());
    EXPECT_THAT(client.events, ElementsAre("open", "writable"));
  });
}

TEST_F(MemoryTransportTest, APeerThatNobodyListensAsIsAClosedConnection) {
  run([&](ExecutionContext& context) {
    transport->connect("a", "nobody", end("client", client));
    pause(context);
    EXPECT_THAT(client.events, ElementsAre("closed"));
    EXPECT_EQ(transport->openConnections(), 0u);
  });
}

TEST_F(MemoryTransportTest, ACutDropsWhatIsUnderWayAndTellsBothEnds) {
  options.shortestDelay = options.longestDelay = Millis(10);
  run([&](ExecutionContext& context) {
    connect();
    pause(context);
    client.connection->send(std::make_unique<Number>(1));
    transport->cut("b");
    pause(context);
    EXPECT_THAT(client.events, ElementsAre("open", "closed"));
    EXPECT_THAT(server.events, ElementsAre("open", "closed"));
  });
}

TEST_F(MemoryTransportTest, ClosingTellsTheOtherEndOnly) {
  run([&](ExecutionContext& context) {
    connect();
    pause(context);
    server.connection->close();
    server.connection->send(std::make_unique<Number>(1));
    pause(context);
    EXPECT_THAT(client.events, ElementsAre("open", "closed"));
    EXPECT_THAT(server.events, ElementsAre("open"));
  });
}

TEST_F(MemoryTransportTest, APeerWhoseActorIsGoneIsAClosedConnection) {
  run([&](ExecutionContext& context) {
    std::shared_ptr<ActorLoop> loop;
    ASSERT_FALSE(transport
                     ->listen("b",
                              [&](const std::string&) {
                                ConnectionEnd made = end("server", server);
                                loop = made.loop;
                                return made;
                              })
                     .has_error());
    transport->connect("a", "b", end("client", client));
    pause(context);
    loop->stop();
    client.connection->send(std::make_unique<Number>(1));
    pause(context);
    EXPECT_THAT(client.events, ElementsAre("open", "closed"));
  });
}

TEST_F(MemoryTransportTest, ANameIsTakenOnce) {
  run([&](ExecutionContext&) {
    const auto acceptor = [this](const std::string&) { return end("server", server); };
    EXPECT_FALSE(transport->listen("b", acceptor).has_error());
    EXPECT_TRUE(transport->listen("b", acceptor).has_error());
    transport->unlisten("b");
    EXPECT_FALSE(transport->listen("b", acceptor).has_error());
  });
}

}  // namespace
}  // namespace weir
