#include <gtest/gtest.h>

#include "weir/buffer/local_buffer_pool.h"

namespace weir {
namespace {

struct Listener final : BufferListener {
  bool notifyBufferAvailable(Buffer& buffer) override {
    got.push_back(std::move(buffer));
    return true;
  }
  void notifyBufferDestroyed() override {}
  std::vector<Buffer> got;
};

TEST(LocalBufferPoolListener, GetsASegmentThatComesFromTheGlobalPool) {
  const auto network = NetworkBufferPool::create(2).value();
  const auto pool = network->createBufferPool({.required = 1, .max = 2}).value();
  MemorySegment* elsewhere = network->tryTake();
  ASSERT_TRUE(elsewhere);
  Buffer first = pool->requestBuffer();
  ASSERT_TRUE(first);
  ASSERT_FALSE(pool->requestBuffer()) << "the global pool has none";
  const auto listener = std::make_shared<Listener>();
  ASSERT_TRUE(pool->addBufferListener(listener));
  if (network->give(elsewhere)) network->notifyListeners();
  EXPECT_EQ(listener->got.size(), 1u);
  listener->got.clear();
  first.reset();
  pool->lazyDestroy();
  EXPECT_EQ(network->usedSegments(), 0);
}

}  // namespace
}  // namespace weir
