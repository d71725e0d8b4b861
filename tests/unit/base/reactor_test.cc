#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <mutex>

#include "unit/base/executors.h"
#include "weir/base/actor_loop.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

/// What arrives here are functions instead of bytes.
class FakeReactor final : public Reactor {
 public:
  ~FakeReactor() override { close(fd_); }

  bool poll() override {
    ++polls_;
    return runOne();
  }
  void waitUntil(Nanos until) override {
    if (runOne()) return;
    const Nanos left = until == Nanos::max() ? Nanos(-1) : std::max(until - SystemClock::instance().monotonic(), Nanos(0));
    pollfd fd{fd_, POLLIN, 0};
    ++sleeps_;
    ::poll(&fd, 1, left.count() < 0 ? -1 : static_cast<int>(left.count() / 1'000'000 + 1));
    uint64_t count;
    if (fd.revents & POLLIN) {
      EXPECT_EQ(read(fd_, &count, sizeof count), ssize_t{sizeof count});
    }
    (void)runOne();
  }
  void wake() override {
    const uint64_t one = 1;
    EXPECT_EQ(write(fd_, &one, sizeof one), ssize_t{sizeof one});
  }
  /// Any thread.
  void arrive(std::function<void()> run) {
    {
      std::lock_guard lock(mutex_);
      ready_.push_back(std::move(run));
    }
    wake();
  }
  int polls() const { return polls_; }
  int sleeps() const { return sleeps_; }

 private:
  bool runOne() {
    std::function<void()> run;
    {
      std::lock_guard lock(mutex_);
      if (ready_.empty()) return false;
      run = std::move(ready_.front());
      ready_.pop_front();
    }
    run();
    return true;
  }

  const int fd_ = eventfd(0, EFD_NONBLOCK);
  std::mutex mutex_;
  std::deque<std::function<void()>> ready_;
  std::atomic<int> polls_{0}, sleeps_{0};
};

template <class T>
struct ReactorTest : ExecutorContract<T> {
  std::shared_ptr<FakeReactor> reactor = std::make_shared<FakeReactor>();

  std::shared_ptr<Actor> spawnWithReactor(std::function<void(ExecutionContext&)> body) {
    return this->executor.spawn({.name = "networked", .reactor = reactor}, std::move(body));
  }
};
using RealExecutors = ::testing::Types<OnThreads, OnPool>;
TYPED_TEST_SUITE(ReactorTest, RealExecutors, ExecutorNames);

TYPED_TEST(ReactorTest, WhatIsReadyRunsOnTheActorInsideItsWait) {
  this->run([&](ExecutionContext& context) {
    auto done = makeSignal();
    ExecutionContext *own = nullptr, *seen = nullptr;
    auto actor = this->spawnWithReactor([&](ExecutionContext& its) {
      own = &its;
      its.wait(WaitReason::kInputOrMail, {done.get()});
    });
    this->reactor->arrive([&] {
      seen = ExecutionContext::current();
      done->set();
    });
    await(context, actor->done());
    EXPECT_EQ(seen, own);
    EXPECT_NE(seen, nullptr);
  });
}

TYPED_TEST(ReactorTest, ASignalOfAnotherActorEndsAWaitInTheReactor) {
  this->run([&](ExecutionContext& context) {
    auto ping = makeSignal(), pong = makeSignal();
    auto actor = this->spawnWithReactor([&](ExecutionContext& its) {
      for (int i = 0; i < 300; ++i) {
        its.wait(WaitReason::kInputOrMail, {ping.get()});
        ping->reset();
        pong->set();
      }
    });
    for (int i = 0; i < 300; ++i) {
      // Now and then late enough for the other to be asleep.
      if (i % 10 == 0) context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + 200us));
      ping->set();
      await(context, *pong);
      pong->reset();
    }
    await(context, actor->done());
  });
}

TYPED_TEST(ReactorTest, ADeadlineEndsAWaitInTheReactor) {
  this->run([&](ExecutionContext& context) {
    auto never = makeSignal();
    Nanos late{};
    auto actor = this->spawnWithReactor([&](ExecutionContext& its) {
      const Nanos at = its.clock().monotonic() + 3ms;
      EXPECT_EQ(its.wait(WaitReason::kInputOrMail, {never.get()}, Deadline::work(at)), WaitOutcome::kDeadline);
      late = its.clock().monotonic() - at;
    });
    await(context, actor->done());
    EXPECT_GE(late, Nanos(0));
  });
}

TYPED_TEST(ReactorTest, CancellationEndsAWaitInTheReactor) {
  auto never = makeSignal();
  bool cancelled = false;
  this->run([&](ExecutionContext& context) {
    auto ready = makeSignal();
    auto actor = this->spawnWithReactor([&](ExecutionContext& its) {
      ready->set();
      try {
        its.wait(WaitReason::kInputOrMail, {never.get()});
      } catch (const TaskCancelled&) {
        cancelled = true;
      }
    });
    await(context, *ready);
    actor->cancel();
    await(context, actor->done());
  });
  EXPECT_TRUE(cancelled);
}

TYPED_TEST(ReactorTest, AnExceptionOfWhatIsReadyLeavesTheWaitAndTheActorGoesOn) {
  this->run([&](ExecutionContext& context) {
    auto done = makeSignal();
    bool caught = false;
    auto actor = this->spawnWithReactor([&](ExecutionContext& its) {
      try {
        its.wait(WaitReason::kInputOrMail, {done.get()});
      } catch (const std::runtime_error&) {
        caught = true;
      }
      its.wait(WaitReason::kInputOrMail, {done.get()});
    });
    this->reactor->arrive([] { throw std::runtime_error("a socket"); });
    this->reactor->arrive([&] { done->set(); });
    await(context, actor->done());
    EXPECT_TRUE(caught);
  });
}

TYPED_TEST(ReactorTest, ALoopThatNeverRunsOutOfMailStillLooksAtItsReactor) {
  this->run([&](ExecutionContext& context) {
    ActorLoop loop;
    std::function<void()> again = [&] { loop.post({"again", again}); };
    loop.post({"again", again});
    this->reactor->arrive([&] { loop.stop(); });
    auto actor = this->spawnWithReactor([&](ExecutionContext& its) { loop.run(its); });
    await(context, actor->done());
  });
}

TYPED_TEST(ReactorTest, AnIdleActorDoesNotPoll) {
  this->run([&](ExecutionContext& context) {
    ActorLoop loop;
    auto actor = this->spawnWithReactor([&](ExecutionContext& its) { loop.run(its); });
    const auto sleepFor = [&](Nanos time) {
      context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + time));
    };
    while (this->reactor->sleeps() == 0) sleepFor(1ms);
    const int polls = this->reactor->polls(), sleeps = this->reactor->sleeps();
    sleepFor(20ms);
    EXPECT_EQ(this->reactor->polls(), polls);
    EXPECT_EQ(this->reactor->sleeps(), sleeps);
    loop.stop();
    await(context, actor->done());
  });
}

TYPED_TEST(ReactorTest, TheReactorIsGoneWhenItsActorIsDone) {
  this->run([&](ExecutionContext& context) {
    std::weak_ptr<FakeReactor> weak = this->reactor;
    auto actor = this->spawnWithReactor([](ExecutionContext&) {});
    this->reactor = nullptr;
    await(context, actor->done());
    EXPECT_TRUE(weak.expired());
  });
}

TYPED_TEST(ReactorTest, ManyShortLivesWithWakeUpsFromOutside) {
  this->run([&](ExecutionContext& context) {
    for (int i = 0; i < 200; ++i) {
      auto wakeUp = makeSignal();
      this->reactor = std::make_shared<FakeReactor>();
      auto actor = this->spawnWithReactor([wakeUp](ExecutionContext& its) { its.wait(WaitReason::kInputOrMail, {wakeUp.get()}); });
      this->reactor->arrive([wakeUp] { wakeUp->set(); });
      this->reactor = nullptr;
      wakeUp->set();
      await(context, actor->done());
    }
  });
}

TEST(ReactorInAPoolTest, AnActorThatWaitsInAReactorHoldsNoWorker) {
  PoolExecutor executor({.workers = 1});
  executor.run("main", [&](ExecutionContext& context) {
    auto reactor = std::make_shared<FakeReactor>();
    auto done = makeSignal();
    auto networked = executor.spawn({.name = "networked", .reactor = reactor},
                                    [&](ExecutionContext& its) { its.wait(WaitReason::kInputOrMail, {done.get()}); });
    auto other = executor.spawn({.name = "other"}, [](ExecutionContext&) {});
    await(context, other->done());
    reactor->arrive([&] { done->set(); });
    await(context, networked->done());
  });
}

TEST(ReactorDeathTest, ASimulatedRunHasNone) {
  SimulatedExecutor executor;
  EXPECT_DEATH(executor.spawn({.name = "networked", .reactor = std::make_shared<FakeReactor>()}, [](ExecutionContext&) {}),
               "actor 'networked' would wait for real sockets");
}

TEST(ReactorDeathTest, WhatAReactorRunsMayNotWait) {
  EXPECT_DEATH(
      {
        ThreadExecutor executor;
        executor.run("main", [&](ExecutionContext& context) {
          auto reactor = std::make_shared<FakeReactor>();
          auto never = makeSignal();
          auto actor = executor.spawn({.name = "networked", .reactor = reactor},
                                      [&](ExecutionContext& its) { its.wait(WaitReason::kInputOrMail, {never.get()}); });
          reactor->arrive([&] { ExecutionContext::current()->wait(WaitReason::kInputOrMail, {never.get()}); });
          await(context, actor->done());
        });
      },
      "actor 'networked' waits in what its reactor runs");
}

}  // namespace
}  // namespace weir
