#include "unit/base/executors.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

template <class T>
struct ExecutorCost : ExecutorContract<T> {};
TYPED_TEST_SUITE(ExecutorCost, AllExecutors, ExecutorNames);

TYPED_TEST(ExecutorCost, TheMeanOfASleptCostIsExact) {
  double best = 1;
  for (int attempt = 0; attempt < 5 && best > 0.02; ++attempt) {  // a busy machine may spoil one
    this->run([&](ExecutionContext& context) {
      constexpr int kRecords = 2'000;
      const Nanos from = context.clock().monotonic();
      for (int i = 0; i < kRecords; ++i) context.spend(150us, CostMode::kSleep);
      const double took = static_cast<double>((context.clock().monotonic() - from).count());
      best = std::min(best, std::abs(took / (kRecords * 150e3) - 1));
    });
  }
  EXPECT_LT(best, 0.02);
}

/// Time that passes only when somebody looks: what a spinning actor sees where nobody takes its core away.
struct TickingClock final : Clock {
  int64_t epochMillis() const override { return 0; }
  Nanos monotonic() const override { return Nanos(now += 137); }
  mutable int64_t now = 0;
};

TYPED_TEST(ExecutorCost, TheMeanOfASpunCostIsExact) {
  const TickingClock ticking;
  const Clock& clock = TypeParam::kReal ? ticking : this->executor.clock();
  this->run([&](ExecutionContext& context) {
    auto actor = this->executor.spawn({.name = "spinner", .clock = &clock}, [](ExecutionContext& own) {
      constexpr int kRecords = 10'000;
      const Nanos from = own.clock().monotonic();
      for (int i = 0; i < kRecords; ++i) own.spend(700ns, CostMode::kSpin);
      EXPECT_NEAR(static_cast<double>((own.clock().monotonic() - from).count()), kRecords * 700.0, kRecords * 14.0);
    });
    await(context, actor->done());
  });
}

TYPED_TEST(ExecutorCost, SleptCostsOfDifferentActorsPassAtTheSameTime) {
  this->run([&](ExecutionContext& context) {
    const Nanos from = context.clock().monotonic();
    std::vector<std::shared_ptr<Actor>> actors;
    for (int i = 0; i < 16; ++i) {
      actors.push_back(this->spawn("sleeper " + std::to_string(i), [](ExecutionContext& own) {
        for (int n = 0; n < 100; ++n) own.spend(1ms, CostMode::kSleep);
      }));
    }
    for (auto& actor : actors) await(context, actor->done());
    EXPECT_GE(context.clock().monotonic() - from, 98ms);
    EXPECT_LT(context.clock().monotonic() - from, 800ms) << "1.6 s one after the other";
  });
}

}  // namespace
}  // namespace weir
