#include "weir/io/io_reactor.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "weir/base/actor_loop.h"
#include "weir/base/pool_executor.h"
#include "weir/base/thread_executor.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;

template <class Executor>
struct IoReactorTest : ::testing::Test {
  Executor executor;
  std::shared_ptr<IoReactor> reactor = std::make_shared<IoReactor>();
  std::shared_ptr<ActorLoop> loop = std::make_shared<ActorLoop>();

  std::shared_ptr<Actor> spawn(const char* name, std::shared_ptr<IoReactor> its, std::shared_ptr<ActorLoop> mails) {
    return executor.spawn({.name = name, .reactor = std::move(its)}, [mails](ExecutionContext& context) { mails->run(context); });
  }
  void await(ExecutionContext& context, Actor& actor) {
    const Deadline guard = Deadline::work(context.clock().monotonic() + 30s);
    ASSERT_EQ(context.wait(WaitReason::kInputOrMail, {&actor.done()}, guard), WaitOutcome::kSignalled);
  }
};
using Executors = ::testing::Types<ThreadExecutor, PoolExecutor>;
struct Names {
  template <class T>
  static std::string GetName(int) {
    return std::string(T().name());
  }
};
TYPED_TEST_SUITE(IoReactorTest, Executors, Names);

TYPED_TEST(IoReactorTest, ActorsTalkOverASocketEachOnItsOwnThread) {
  this->executor.run("main", [&](ExecutionContext& context) {
    auto serverReactor = std::make_shared<IoReactor>();
    auto serverLoop = std::make_shared<ActorLoop>();
    auto acceptor = std::make_shared<tcp::acceptor>(serverReactor->context(), tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    const tcp::endpoint address = acceptor->local_endpoint();
    acceptor->async_accept([serverLoop, acceptor](boost::system::error_code, tcp::socket accepted) {
      auto socket = std::make_shared<tcp::socket>(std::move(accepted));
      auto bytes = std::make_shared<std::array<char, 4>>();
      acceptor->close();
      asio::async_read(*socket, asio::buffer(*bytes), [serverLoop, socket, bytes](boost::system::error_code, size_t) {
        std::reverse(bytes->begin(), bytes->end());
        asio::async_write(*socket, asio::buffer(*bytes),
                          [serverLoop, socket, bytes](boost::system::error_code, size_t) { serverLoop->stop(); });
      });
    });
    acceptor = nullptr;
    auto server = this->spawn("server", std::move(serverReactor), serverLoop);

    auto client = this->spawn("client", this->reactor, this->loop);
    std::array<char, 4> answer{};
    ExecutionContext* ranIn = nullptr;
    this->loop->post({"connect", [&] {
                        auto socket = std::make_shared<tcp::socket>(this->reactor->context());
                        socket->async_connect(address, [&, socket](boost::system::error_code error) {
                          ASSERT_FALSE(error) << error.message();
                          ranIn = ExecutionContext::current();
                          asio::write(*socket, asio::buffer("abcd", 4));
                          asio::async_read(*socket, asio::buffer(answer),
                                           [&, socket](boost::system::error_code, size_t) { this->loop->stop(); });
                        });
                      }});
    this->await(context, *client);
    this->await(context, *server);
    EXPECT_EQ(std::string(answer.data(), 4), "dcba");
    EXPECT_NE(ranIn, nullptr);
    EXPECT_NE(ranIn, &context);
    this->reactor = nullptr;
  });
}

TYPED_TEST(IoReactorTest, MailsTimersOfTheLoopAndHandlersOfAsioRunInTurn) {
  this->executor.run("main", [&](ExecutionContext& context) {
    std::string order;
    auto actor = this->spawn("all three", this->reactor, this->loop);
    this->loop->post({"begin", [&] {
                        auto timer = std::make_shared<asio::steady_timer>(this->reactor->context(), 2ms);
                        timer->async_wait([&, timer](boost::system::error_code) {
                          order += 'b';
                          this->loop->postAt(Deadline::work(context.clock().monotonic() + 2ms), {"timer", [&] {
                                                                                                   order += 'c';
                                                                                                   this->loop->stop();
                                                                                                 }});
                        });
                        order += 'a';
                      }});
    this->await(context, *actor);
    EXPECT_EQ(order, "abc");
  });
}

TYPED_TEST(IoReactorTest, ADeadlineIsKeptThoughAnEarlierOneHasPassed) {
  this->executor.run("main", [&](ExecutionContext& context) {
    Nanos first{}, second{};
    auto actor = this->executor.spawn({.name = "waits", .reactor = this->reactor}, [&](ExecutionContext& its) {
      Signal never;
      const Nanos begin = its.clock().monotonic();
      its.wait(WaitReason::kInputOrMail, {&never}, Deadline::work(begin + 3ms));
      first = its.clock().monotonic() - begin;
      its.wait(WaitReason::kInputOrMail, {&never}, Deadline::work(begin + 9ms));
      second = its.clock().monotonic() - begin;
    });
    this->await(context, *actor);
    EXPECT_GE(first, 3ms);
    EXPECT_GE(second, 9ms);
  });
}

TYPED_TEST(IoReactorTest, HandlersThatHaveNotRunAreDestroyedWithTheReactor) {
  this->executor.run("main", [&](ExecutionContext& context) {
    auto owned = std::make_shared<int>(1);
    std::weak_ptr<int> weak = owned;
    auto timer = std::make_shared<asio::steady_timer>(this->reactor->context(), 1h);
    timer->async_wait([timer, owned](boost::system::error_code) {});
    owned = nullptr, timer = nullptr;
    auto actor = this->spawn("ends", std::move(this->reactor), this->loop);
    this->loop->stop();
    this->await(context, *actor);
    EXPECT_TRUE(weak.expired());
  });
}

}  // namespace
}  // namespace weir
