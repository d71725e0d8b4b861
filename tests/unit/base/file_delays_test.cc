#include <gtest/gtest.h>

#include <set>

#include "unit/base/executors.h"
#include "weir/base/actor_file_system.h"
#include "weir/base/faulty_file_system.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/pool_executor.h"
#include "weir/base/simulated_executor.h"
#include "weir/base/thread_executor.h"

// What file operations of actors do to time and order.
namespace weir {
namespace {

using Create = FileSystem::Create;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

std::unique_ptr<Executor> executorNamed(const std::string& name) {
  if (name == "threads") return std::make_unique<ThreadExecutor>();
  if (name == "pool") return std::make_unique<PoolExecutor>(PoolExecutorOptions{.workers = 1});
  return std::make_unique<SimulatedExecutor>();
}

class FileDelays : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Executor> executor_ = executorNamed(GetParam());
  MemoryFileSystem memory_;
  FileFaults faults_;
  FaultyFileSystem files_{memory_, faults_, waitIn()};
};

TEST_P(FileDelays, HoldUpTheActorThatCalls) {
  faults_.add({.effect = FileFault::Effect::kDelay, .operations = {FileOperation::kCreate}, .latency = Millis(20)});
  Nanos plain{}, inBlocking{};
  executor_->run("writer", [&](ExecutionContext& context) {
    const Nanos start = context.clock().monotonic();
    EXPECT_FALSE(files_.create("/a", Create::kNew).has_error());
    plain = context.clock().monotonic() - start;
    context.blocking([&] { EXPECT_FALSE(files_.create("/b", Create::kNew).has_error()); });
    inBlocking = context.clock().monotonic() - start - plain;
  });
  EXPECT_GE(plain, Millis(20));
  EXPECT_GE(inBlocking, Millis(20));
}

TEST_P(FileDelays, EndEarlyWhereTheActorIsCancelled) {
  faults_.add({.effect = FileFault::Effect::kDelay, .operations = {FileOperation::kCreate}, .latency = std::chrono::hours(1)});
  bool created = false, cancelled = false;
  executor_->run("main", [&](ExecutionContext& context) {
    const auto writer = executor_->spawn({.name = "writer"}, [&](ExecutionContext& own) {
      created = files_.create("/a", Create::kNew).has_value();
      try {
        own.checkCancelled();
      } catch (const TaskCancelled&) {
        cancelled = true;
        throw;
      }
    });
    writer->cancel();
    context.wait(WaitReason::kInputOrMail, {&writer->done()});
  });
  EXPECT_TRUE(created);
  EXPECT_TRUE(cancelled);
}

TEST_P(FileDelays, ActorFileSystemGivesTheSameResults) {
  std::string text;
  executor_->run("main", [&](ExecutionContext& context) {
    ActorFileSystem files(memory_, context);
    EXPECT_FALSE(files.createDirectories("/d").has_error());
    auto file = files.create("/d/f", Create::kNew).value();
    EXPECT_FALSE(file->append(bytes("hello")).has_error());
    EXPECT_FALSE(file->sync().has_error());
    EXPECT_FALSE(file->close().has_error());
    EXPECT_FALSE(files.syncDirectory("/d").has_error());
    EXPECT_FALSE(files.rename("/d/f", "/d/g").has_error());
    EXPECT_TRUE(files.exists("/d/g"));
    EXPECT_TRUE(files.isDirectory("/d"));
    EXPECT_EQ(files.list("/d").value(), std::vector<std::string>{"g"});
    const auto content = files.readAll("/d/g").value();
    text.assign(reinterpret_cast<const char*>(content.data()), content.size());
    EXPECT_EQ(files.remove("/none").error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(files.removeAll("/d").has_error());
  });
  EXPECT_EQ(text, "hello");
}

INSTANTIATE_TEST_SUITE_P(Executors, FileDelays, ::testing::ValuesIn(kExecutorNames),
                         [](const auto& row) { return std::string(row.param); });

TEST(CurrentContext, IsThatOfTheActorThatRuns) {
  EXPECT_EQ(ExecutionContext::current(), nullptr);
  for (const char* name : kExecutorNames) {
    const auto executor = executorNamed(name);
    executor->run("main", [&](ExecutionContext& context) {
      const auto check = [](ExecutionContext& own) {
        for (int i = 0; i < 20; ++i) {
          EXPECT_EQ(ExecutionContext::current(), &own);
          own.wait(WaitReason::kRecordCost, {}, Deadline::work(own.clock().monotonic() + std::chrono::microseconds(10)));
        }
      };
      const auto other = executor->spawn({.name = "other"}, check);
      check(context);
      context.blocking([&] { EXPECT_EQ(ExecutionContext::current()->name(), "main"); });
      context.wait(WaitReason::kInputOrMail, {&other->done()});
      EXPECT_EQ(ExecutionContext::current(), &context);
    });
    EXPECT_EQ(ExecutionContext::current(), nullptr) << name;
  }
}

/// Two actors append a letter each to one file, three times; the order in which the simulation let them.
std::string interleaved(uint64_t seed, bool hooked) {
  SimulatedExecutor executor({.seed = seed});
  MemoryFileSystem memory;
  FileFaults faults;
  FaultyFileSystem files(memory, faults, hooked ? waitIn() : FileHook());
  std::string order;
  executor.run("main", [&](ExecutionContext& context) {
    std::vector<std::shared_ptr<Actor>> writers;
    for (const char letter : {'a', 'b'}) {
      writers.push_back(executor.spawn({.name = std::string(1, letter)}, [&, letter](ExecutionContext&) {
        auto file = files.create(std::string("/") + letter, Create::kNew).value();
        for (int i = 0; i < 3; ++i) {
          EXPECT_FALSE(file->append(bytes("x")).has_error());
          order += letter;
        }
      }));
    }
    for (const auto& writer : writers) context.wait(WaitReason::kInputOrMail, {&writer->done()});
  });
  return order;
}

TEST(SimulatedFiles, AreInterleavingPoints) {
  std::set<std::string> hooked, bare;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    hooked.insert(interleaved(seed, true));
    bare.insert(interleaved(seed, false));
    EXPECT_EQ(interleaved(seed, true), interleaved(seed, true)) << seed;
  }
  EXPECT_GT(hooked.size(), 5u);
  EXPECT_LE(bare.size(), 2u);
}

}  // namespace
}  // namespace weir
