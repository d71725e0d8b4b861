#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "weir/base/random.h"
#include "weir/buffer/local_buffer_pool.h"

// Random lives of pools: after each step every segment is accounted for, and every pool is as available as it should be.
namespace weir {
namespace {

struct Life {
  std::shared_ptr<LocalBufferPool> pool;
  std::vector<std::pair<BufferBuilder, int32_t>> held;  ///< and the subpartition it is charged to
};

class PoolModel {
 public:
  explicit PoolModel(uint64_t seed) : random_(seed), total_(static_cast<int32_t>(random_.between(4, 40))) {
    network_ = NetworkBufferPool::create(total_, 64).value();
  }
  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      step();
      check();
    }
    for (Life& life : lives_) {
      life.held.clear();
      life.pool->lazyDestroy();
    }
    orphans_.clear();
    EXPECT_EQ(network_->availableSegments(), total_);
    EXPECT_EQ(network_->requiredSegments(), 0);
    EXPECT_EQ(network_->owedSegments(), 0);
  }

 private:
  void step() {
    const uint64_t what = random_.below(10);
    if (what == 0) return create();
    if (lives_.empty()) return;
    Life& life = lives_[random_.below(lives_.size())];
    if (what == 1 && random_.oneIn(3)) return destroy(life);
    if (what < 6) return take(life);
    if (!life.held.empty()) {
      const auto at = static_cast<int64_t>(random_.below(life.held.size()));
      life.held.erase(life.held.begin() + at);
    } else if (!orphans_.empty()) {
      orphans_.pop_back();
    }
  }
  void create() {
    LocalBufferPoolOptions options;
    options.required = static_cast<int32_t>(random_.between(1, 6));
    options.max = random_.oneIn(4) ? LocalBufferPoolOptions::kUnbounded : options.required + static_cast<int32_t>(random_.below(8));
    options.subpartitions = 3;
    options.maxBuffersPerChannel = static_cast<int32_t>(random_.between(1, 4));
    options.maxOverdraft = static_cast<int32_t>(random_.below(4));
    const int32_t required = network_->requiredSegments();
    auto pool = network_->createBufferPool(options);
    ASSERT_EQ(pool.has_error(), required + options.required > total_);
    if (pool.has_value()) lives_.push_back({*pool, {}});
  }
  void destroy(Life& life) {
    life.pool->lazyDestroy();
    for (auto& [builder, subpartition] : life.held) orphans_.push_back(std::move(builder));
    if (&life != &lives_.back()) std::swap(life, lives_.back());
    lives_.pop_back();
  }
  void take(Life& life) {
    const auto subpartition = static_cast<int32_t>(random_.below(4)) - 1;
    const int32_t before = life.pool->requested(), free = life.pool->free(), size = life.pool->size();
    BufferBuilder builder = life.pool->requestBufferBuilder(subpartition);
    // Below its size a segment enters through the free list only.
    if (free > 0 || before < size) {
      ASSERT_EQ(builder.isOpen(), free > 0);
    }
    if (builder.isOpen() && before >= size) {
      ASSERT_LE(life.pool->requested(), std::max(before, size + life.pool->options().maxOverdraft));
    }
    if (builder.isOpen()) life.held.emplace_back(std::move(builder), subpartition);
  }
  void check() {
    int32_t requested = 0, sizes = 0, required = 0, owed = 0;
    const int32_t owedNow = network_->owedSegments();
    const auto unsecured = std::count_if(lives_.begin(), lives_.end(), [](const Life& life) { return !life.pool->isSecured(); });
    ASSERT_LE(owedNow, network_->availableSegments());
    for (const Life& life : lives_) {
      const LocalBufferPool& pool = *life.pool;
      ASSERT_EQ(pool.requested(), pool.free() + static_cast<int32_t>(life.held.size()));
      ASSERT_GE(pool.size(), pool.options().required);
      ASSERT_LE(pool.size(), pool.options().max);
      std::map<int32_t, int32_t> perSubpartition;
      for (const auto& [builder, subpartition] : life.held) ++perSubpartition[subpartition];
      int32_t capped = 0;
      for (const auto& [subpartition, count] : perSubpartition) capped += subpartition >= 0 && count >= pool.options().maxBuffersPerChannel;
      ASSERT_EQ(pool.cappedSubpartitions(), capped);
      ASSERT_EQ(pool.isAvailable(), pool.free() > 0 && capped == 0);
      // Nobody sits on nothing while the global pool could help: with what it is owed, or with what nobody is.
      const bool served = pool.requested() >= pool.options().required && (unsecured > 0 || network_->availableSegments() == owedNow);
      if (pool.isSecured() && pool.free() == 0 && pool.requested() < pool.size()) {
        ASSERT_TRUE(served);
      }
      if (pool.isSecured()) owed += std::max(0, pool.options().required - pool.requested());
      else ASSERT_EQ(pool.requested(), 0);
      requested += pool.requested();
      sizes += pool.size();
      required += pool.options().required;
    }
    ASSERT_EQ(requested + static_cast<int32_t>(orphans_.size()) + network_->availableSegments(), total_);
    ASSERT_EQ(network_->requiredSegments(), required);
    ASSERT_EQ(owedNow, owed);
    ASSERT_LE(sizes, total_);
  }

  Random random_;
  const int32_t total_;
  std::shared_ptr<NetworkBufferPool> network_;
  std::vector<Life> lives_;
  std::vector<BufferBuilder> orphans_;  ///< of pools that are gone
};

TEST(PoolProperty, EverySegmentIsAccountedForThroughRandomLives) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PoolModel(seed).run(300);
    if (::testing::Test::HasFailure()) return;
  }
}

/// Shares of the surplus add up to as much of it as the pools can take.
TEST(PoolProperty, TheWholeSurplusIsShared) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    const auto total = static_cast<int32_t>(random.between(20, 200));
    const auto network = NetworkBufferPool::create(total, 64).value();
    std::vector<std::shared_ptr<LocalBufferPool>> pools;
    int32_t required = 0;
    int64_t most = 0;
    for (int i = 0; i < 6; ++i) {
      LocalBufferPoolOptions options{.required = static_cast<int32_t>(random.between(1, 3))};
      options.max = options.required + static_cast<int32_t>(random.below(40));
      required += options.required;
      most += options.max;
      pools.push_back(network->createBufferPool(options).value());
    }
    int32_t sizes = 0;
    for (const auto& pool : pools) sizes += pool->size();
    EXPECT_EQ(sizes, std::min<int64_t>(total, most));
    for (const auto& pool : pools) pool->lazyDestroy();
  }
}

}  // namespace
}  // namespace weir
