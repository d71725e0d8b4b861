#include "weir/exchange/prioritized_deque.h"

#include <gtest/gtest.h>

#include <deque>

#include "weir/base/random.h"
#include "weir/buffer/buffer_builder.h"

namespace weir {
namespace {

TEST(PrioritizedDeque, KeepsOrderAcrossGrowthAndWrapping) {
  PrioritizedDeque<int> deque;
  std::deque<int> model;
  size_t priority = 0;
  Random random(11);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t what = random.below(10);
    if (what < 4) {
      deque.pushBack(i);
      model.push_back(i);
    } else if (what < 6) {
      deque.pushPriority(i);
      model.insert(model.begin() + priority++, i);
    } else if (!model.empty() && what < 9) {
      ASSERT_EQ(deque.popFront(), model.front());
      model.pop_front();
      if (priority > 0) --priority;
    } else if (!model.empty()) {
      const auto at = random.below(model.size());
      ASSERT_EQ(deque.remove(at), model[at]);
      model.erase(model.begin() + at);
      if (at < priority) --priority;
    }
    ASSERT_EQ(deque.size(), model.size());
    ASSERT_EQ(deque.prioritySize(), priority);
    for (size_t k = 0; k < model.size(); ++k) ASSERT_EQ(deque.at(k), model[k]);
  }
}

TEST(PrioritizedDeque, WithRoomForOneElementFitsACacheLine) { EXPECT_LE(sizeof(PrioritizedDeque<BufferConsumer>), 64u); }

TEST(PrioritizedDeque, GrowsFromItsOneElement) {
  PrioritizedDeque<int> queue;
  queue.pushBack(1);
  queue.pushPriority(0);
  for (int i = 2; i < 9; ++i) queue.pushBack(i);
  PrioritizedDeque<int> moved(std::move(queue));
  for (int i = 0; i < 9; ++i) EXPECT_EQ(moved.popFront(), i);
  EXPECT_TRUE(moved.empty());
}

}  // namespace
}  // namespace weir
