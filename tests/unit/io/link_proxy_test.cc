#include "weir/io/link_proxy.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "weir/base/thread_executor.h"

// A network that is slow or broken, between blocking sockets.
namespace weir {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const { return descriptor_; }
  void send(const std::string& text) const {
    ASSERT_EQ(::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// So many bytes; fewer at the end. "lost" where the connection is reset.
  std::string receive(size_t size) const {
    std::string text;
    while (text.size() < size) {
      char piece[4096];
      const ssize_t got = ::recv(descriptor_, piece, std::min(sizeof piece, size - text.size()), 0);
      if (got < 0) return errno == ECONNRESET ? "lost" : std::strerror(errno);
      if (got == 0) return text;
      text.append(piece, static_cast<size_t>(got));
    }
    return text;
  }
  bool hasNews(std::chrono::milliseconds within) const {
    pollfd poll{descriptor_, POLLIN, 0};
    return ::poll(&poll, 1, static_cast<int>(within.count())) > 0;
  }
  void endSending() const { ::shutdown(descriptor_, SHUT_WR); }

 private:
  int descriptor_;
};

struct LinkProxyTest : ::testing::Test {
  ThreadExecutor executor;
  Socket listening{::socket(AF_INET, SOCK_STREAM, 0)};
  std::shared_ptr<LinkProxy> link;

  void run(const std::function<void(Socket& near, Socket& far)>& body) {
    executor.run("main", [&](ExecutionContext&) {
      sockaddr_in address = loopback(0);
      socklen_t size = sizeof address;
      ASSERT_EQ(::bind(listening.descriptor(), reinterpret_cast<sockaddr*>(&address), size), 0);
      ASSERT_EQ(::listen(listening.descriptor(), 8), 0);
      ::getsockname(listening.descriptor(), reinterpret_cast<sockaddr*>(&address), &size);
      link = LinkProxy::open(executor, {.name = "link"}, "127.0.0.1:" + std::to_string(ntohs(address.sin_port))).value();
      Socket near = connect(), far = accept();
      body(near, far);
      link->stop();
    });
  }
  Socket connect() const {
    Socket near(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = loopback(static_cast<uint16_t>(std::stoi(link->address().substr(link->address().find(':') + 1))));
    EXPECT_EQ(::connect(near.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return near;
  }
  Socket accept() const { return Socket(::accept(listening.descriptor(), nullptr, nullptr)); }
  static Nanos now() { return SystemClock::instance().monotonic(); }
};

TEST_F(LinkProxyTest, BytesTravelBothWaysAndSoDoesTheEnd) {
  run([&](Socket& near, Socket& far) {
    near.send("there");
    EXPECT_EQ(far.receive(5), "there");
    far.send("back");
    EXPECT_EQ(near.receive(4), "back");
    near.endSending();
    EXPECT_EQ(far.receive(1), "") << "it has ended";
    far.send("still");
    EXPECT_EQ(near.receive(5), "still") << "the other direction has not";
    far.endSending();
    EXPECT_EQ(near.receive(1), "");
  });
}

TEST_F(LinkProxyTest, EachByteIsUnderWayForAsLongAsTheDelay) {
  run([&](Socket& near, Socket& far) {
    link->setDelay(30ms);
    const Nanos sent = now();
    near.send("there");
    EXPECT_EQ(far.receive(5), "there");
    far.send("back");
    EXPECT_EQ(near.receive(4), "back");
    EXPECT_GE(now() - sent, 60ms);
  });
}

TEST_F(LinkProxyTest, ABandwidthHoldsForEachDirection) {
  run([&](Socket& near, Socket& far) {
    link->setBandwidth(1'000'000);
    const Nanos sent = now();
    near.send(std::string(50'000, 'x'));
    EXPECT_EQ(far.receive(50'000).size(), 50'000u);
    EXPECT_GE(now() - sent, 50ms);
  });
}

TEST_F(LinkProxyTest, AReceiverThatDoesNotReadStopsItsSender) {
  run([&](Socket& near, Socket&) {
    const std::string text(64 * 1024, 'x');
    size_t sent = 0;
    for (;;) {
      const ssize_t took = ::send(near.descriptor(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (took > 0) {
        sent += static_cast<size_t>(took);
        ASSERT_LT(sent, 64u << 20) << "somebody keeps all of it";
        continue;
      }
      pollfd poll{near.descriptor(), POLLOUT, 0};
      if (::poll(&poll, 1, 200) == 0) break;  // nothing has moved for long
    }
    EXPECT_GT(sent, 1024u * 1024);
  });
}

TEST_F(LinkProxyTest, ACutIsToldToBothEndsAndDropsWhatIsUnderWay) {
  run([&](Socket& near, Socket& far) {
    link->setDelay(10s);
    near.send("never there");
    link->cut();
    EXPECT_EQ(near.receive(1), "lost");
    EXPECT_EQ(far.receive(1), "lost");
    link->setDelay(0ns);
    Socket again = connect(), there = accept();
    again.send("new");
    EXPECT_EQ(there.receive(3), "new");
  });
}

TEST_F(LinkProxyTest, InSilenceNothingTravelsAndNobodyIsTold) {
  run([&](Socket& near, Socket& far) {
    near.send("before");
    EXPECT_EQ(far.receive(6), "before");
    link->goSilent();
    near.send("held");
    EXPECT_FALSE(far.hasNews(50ms));
    { const Socket gone = std::move(far); }
    EXPECT_FALSE(near.hasNews(50ms)) << "that the other end is gone";
    link->goOn();
    EXPECT_TRUE(near.hasNews(20s)) << "now it is told";
  });
}

TEST_F(LinkProxyTest, WhatWasHeldTravelsOn) {
  run([&](Socket& near, Socket& far) {
    link->goSilent();
    near.send("held");
    EXPECT_FALSE(far.hasNews(20ms));
    link->goOn();
    EXPECT_EQ(far.receive(4), "held");
  });
}

TEST_F(LinkProxyTest, ATargetThatDoesNotListenIsALostConnection) {
  executor.run("main", [&](ExecutionContext&) {
    link = LinkProxy::open(executor, {.name = "link"}, "127.0.0.1:1").value();
    EXPECT_EQ(connect().receive(1), "lost");
    link->stop();
  });
}

TEST_F(LinkProxyTest, ATargetThatIsNoAddressIsRefused) {
  for (const char* target :
       {"", "localhost", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:80x", "some.host:80"}) {
    const auto opened = LinkProxy::open(executor, {.name = "link"}, target);
    ASSERT_TRUE(opened.has_error()) << target;
    EXPECT_THAT(opened.error().message, HasSubstr("is no address of a link"));
  }
}

}  // namespace
}  // namespace weir
