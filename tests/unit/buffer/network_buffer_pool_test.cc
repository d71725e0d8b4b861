#include "weir/buffer/network_buffer_pool.h"

#include <gtest/gtest.h>

#include "weir/base/simulated_executor.h"
#include "weir/buffer/local_buffer_pool.h"

namespace weir {
namespace {

constexpr int32_t kUnbounded = LocalBufferPoolOptions::kUnbounded;

std::shared_ptr<NetworkBufferPool> poolOf(int32_t segments, Millis timeout = Millis(30'000)) {
  return NetworkBufferPool::create(segments, 64, timeout).value();
}

/// Runs `body` as an actor in virtual time.
void simulated(const std::function<void(ExecutionContext&, Executor&)>& body) {
  SimulatedExecutor executor;
  executor.run("test", [&](ExecutionContext& context) { body(context, executor); });
}

TEST(NetworkBufferPool, HandsOutEachSegmentOnceAndTheyDoNotOverlap) {
  simulated([](ExecutionContext& context, Executor&) {
    const auto network = poolOf(4);
    auto segments = network->requestUnpooledSegments(context, 4).value();
    for (size_t i = 0; i < segments.size(); ++i) std::fill_n(segments[i]->data(), 64, static_cast<uint8_t>(i));
    for (size_t i = 0; i < segments.size(); ++i)
      EXPECT_EQ(std::count(segments[i]->data(), segments[i]->data() + 64, static_cast<uint8_t>(i)), 64);
    EXPECT_EQ(network->availableSegments(), 0);
    network->recycleUnpooledSegments(std::move(segments));
    EXPECT_EQ(network->availableSegments(), 4);
  });
}

TEST(NetworkBufferPool, WithNoSegmentsIsRefusedWithASentence) {
  EXPECT_EQ(NetworkBufferPool::create(0).error().code, ErrorCode::kInvalidArgument);
}

TEST(NetworkBufferPool, OneRequiredSegmentTooManyFailsWithFlinksText) {
  const auto network = poolOf(10);
  const auto first = network->createBufferPool({.required = 6, .max = 8}).value();
  const auto second = network->createBufferPool({.required = 5, .max = 5});
  ASSERT_TRUE(second.has_error());
  EXPECT_EQ(
      second.error().message,
      "Insufficient number of network buffers: required 5, but only 4 available. The total number of network buffers is currently set "
      "to 10 of 64 bytes each. You can increase this number by setting the configuration keys 'taskmanager.memory.network.fraction', "
      "'taskmanager.memory.network.min', and 'taskmanager.memory.network.max'.");
  const auto fits = network->createBufferPool({.required = 4, .max = 5}).value();
  EXPECT_EQ(network->requiredSegments(), 10);
  fits->lazyDestroy();
  first->lazyDestroy();
}

TEST(NetworkBufferPool, ExclusiveSegmentsCountAsRequired) {
  simulated([](ExecutionContext& context, Executor&) {
    const auto network = poolOf(10);
    auto segments = network->requestUnpooledSegments(context, 7).value();
    EXPECT_EQ(network->createBufferPool({.required = 4}).error().message.substr(0, 73),
              "Insufficient number of network buffers: required 4, but only 3 available.");
    network->recycleUnpooledSegments(std::move(segments));
    network->createBufferPool({.required = 4}).value()->lazyDestroy();
  });
}

TEST(NetworkBufferPool, SharesTheSurplusByPrefixSumsAsInTheWorkedExample) {
  const auto network = poolOf(20);
  const auto a = network->createBufferPool({.required = 2, .max = 10}).value();
  const auto b = network->createBufferPool({.required = 3, .max = 5}).value();
  const auto c = network->createBufferPool({.required = 4, .max = kUnbounded}).value();
  EXPECT_EQ(a->size(), 6);
  EXPECT_EQ(b->size(), 4);
  EXPECT_EQ(c->size(), 10);
  for (const auto& pool : {a, b, c}) pool->lazyDestroy();
}

TEST(NetworkBufferPool, WithoutSurplusEachPoolFallsToWhatItRequires) {
  const auto network = poolOf(10);
  const auto a = network->createBufferPool({.required = 2, .max = 10}).value();
  EXPECT_EQ(a->size(), 10);
  const auto b = network->createBufferPool({.required = 8, .max = 8}).value();
  EXPECT_EQ(a->size(), 2);
  EXPECT_EQ(b->size(), 8);
  b->lazyDestroy();
  EXPECT_EQ(a->size(), 10) << "and grows again when the other is gone";
  a->lazyDestroy();
}

TEST(NetworkBufferPool, APoolThatShrinksGivesBackItsFreeSegments) {
  const auto network = poolOf(10);
  const auto a = network->createBufferPool({.required = 2, .max = 10}).value();
  std::vector<Buffer> taken;
  for (int i = 0; i < 6; ++i) taken.push_back(a->requestBuffer());
  taken.clear();
  EXPECT_EQ(a->free(), 7) << "six, and the one in hand";
  const auto b = network->createBufferPool({.required = 6, .max = 6}).value();
  EXPECT_EQ(a->size(), 4);
  EXPECT_EQ(a->requested(), 4);
  b->lazyDestroy();
  a->lazyDestroy();
  EXPECT_EQ(network->availableSegments(), 10);
}

TEST(NetworkBufferPool, AnExclusiveRequestWaitsForSegmentsThatAreStillOut) {
  simulated([](ExecutionContext& context, Executor& executor) {
    const auto network = poolOf(4);
    const auto local = network->createBufferPool({.required = 1, .max = 4}).value();
    std::vector<Buffer> out;
    for (int i = 0; i < 4; ++i) out.push_back(local->requestBuffer());
    const auto recycler = executor.spawn({.name = "recycler"}, [&](ExecutionContext& other) {
      other.wait(WaitReason::kFile, {}, Deadline::work(other.clock().monotonic() + Millis(10)));
      out.clear();
    });
    auto segments = network->requestUnpooledSegments(context, 3).value();
    EXPECT_EQ(segments.size(), 3u);
    EXPECT_TRUE(out.empty());
    network->recycleUnpooledSegments(std::move(segments));
    local->lazyDestroy();
  });
}

TEST(NetworkBufferPool, AnExclusiveRequestGivesUpAfterItsTimeoutAndLeavesNothingBehind) {
  simulated([](ExecutionContext& context, Executor&) {
    const auto network = poolOf(4, Millis(500));
    const auto local = network->createBufferPool({.required = 1, .max = 4}).value();
    std::vector<Buffer> out;
    for (int i = 0; i < 3; ++i) out.push_back(local->requestBuffer());
    const Nanos before = context.clock().monotonic();
    const auto segments = network->requestUnpooledSegments(context, 3);
    ASSERT_TRUE(segments.has_error());
    EXPECT_EQ(
        segments.error().message,
        "Timeout triggered when requesting exclusive buffers: The total number of network buffers is currently set to 4 of 64 bytes each. "
        "You can increase this number by setting the configuration keys 'taskmanager.memory.network.fraction', "
        "'taskmanager.memory.network.min', and 'taskmanager.memory.network.max',  or you may increase the timeout which is 500ms by "
        "setting "
        "the key 'taskmanager.network.memory.buffers-request-timeout'.");
    EXPECT_GE(context.clock().monotonic() - before, Millis(500));
    EXPECT_EQ(network->requiredSegments(), 1);
    out.clear();
    local->lazyDestroy();
    EXPECT_EQ(network->availableSegments(), 4);
  });
}

TEST(NetworkBufferPool, OutlivesItsOwnerUntilTheLastSegmentIsBack) {
  auto network = poolOf(4);
  const std::weak_ptr<NetworkBufferPool> watch = network;
  auto local = network->createBufferPool({.required = 1, .max = 4}).value();
  Buffer last = local->requestBuffer();
  local->lazyDestroy();
  local.reset();
  network.reset();
  EXPECT_FALSE(watch.expired());
  last.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(LocalBufferPoolOptions, AreFlinksForStreaming) {
  const auto four = LocalBufferPoolOptions::forResultPartition(4);
  EXPECT_EQ(four.required, 5);
  EXPECT_EQ(four.max, 16);
  EXPECT_EQ(four.maxBuffersPerChannel, 10);
  EXPECT_EQ(four.maxOverdraft, 20);
  const auto gate = LocalBufferPoolOptions::forInputGate();
  EXPECT_EQ(gate.required, 1);
  EXPECT_EQ(gate.max, 8);
  EXPECT_EQ(gate.maxOverdraft, 0);
}

TEST(LocalBufferPoolOptions, FollowTheKeysOfFlink1WhereTheseAreSet) {
  const NetworkBufferSettings settings{
      .buffersPerChannel = 0, .floatingBuffersPerGate = 3, .maxBuffersPerChannel = 5, .maxOverdraftBuffersPerGate = 1};
  const auto four = LocalBufferPoolOptions::forResultPartition(4, settings);
  EXPECT_EQ(four.required, 5);
  EXPECT_EQ(four.max, 5);  // 4 x 0 + 3 would be fewer than one per subpartition and one to write on
  EXPECT_EQ(four.maxBuffersPerChannel, 5);
  EXPECT_EQ(four.maxOverdraft, 1);
  EXPECT_EQ(LocalBufferPoolOptions::forInputGate(settings).max, 3);
}

}  // namespace
}  // namespace weir
