#include "weir/jobmanager/restart_strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using ::testing::HasSubstr;
using Options = RestartStrategyOptions;
using Type = Options::Type;

struct HandClock final : Clock {
  int64_t epochMillis() const override { return nowMs; }
  Nanos monotonic() const override { return Millis(nowMs); }
  int64_t nowMs = 1'000'000;
};

/// One failure: when, and what the strategy answers.
struct Step {
  int64_t atMs;
  bool isNew;
  bool canRestart;
  int64_t backoffMs;
};

void expectSteps(const Options& options, const std::vector<Step>& steps) {
  HandClock clock;
  const int64_t start = clock.nowMs;
  const auto strategy = makeRestartStrategy(options, clock, Random(1));
  for (size_t i = 0; i < steps.size(); ++i) {
    clock.nowMs = start + steps[i].atMs;
    EXPECT_EQ(strategy->notifyFailure(), steps[i].isNew) << "failure " << i;
    EXPECT_EQ(strategy->canRestart(), steps[i].canRestart) << "failure " << i;
    if (steps[i].canRestart) {
      EXPECT_EQ(strategy->backoff().count(), steps[i].backoffMs) << "failure " << i;
    }
  }
}

Options of(Type type) {
  Options options;
  options.type = type;
  options.jitterFactor = 0;
  return options;
}

TEST(RestartStrategy, NoneNeverRestarts) { expectSteps(of(Type::kNone), {{0, true, false, 0}, {1000, true, false, 0}}); }

TEST(RestartStrategy, FixedDelayGivesUpAfterItsAttempts) {
  Options options = of(Type::kFixedDelay);
  options.fixedDelayAttempts = 2;
  options.fixedDelay = Millis(500);
  expectSteps(options, {{0, true, true, 500}, {1, true, true, 500}, {3'600'000, true, false, 0}});
}

TEST(RestartStrategy, FailureRateGivesUpWhenTheIntervalIsFull) {
  Options options = of(Type::kFailureRate);
  options.failureRateMaxFailures = 3;
  options.failureRateInterval = Millis(100);
  options.failureRateDelay = Millis(7);
  expectSteps(options, {{0, true, true, 7}, {50, true, true, 7}, {100, true, false, 0}});
  // The oldest of three is just outside the interval: three within it are never together.
  expectSteps(options, {{0, true, true, 7}, {50, true, true, 7}, {101, true, true, 7}, {152, true, true, 7}, {200, true, false, 0}});
}

TEST(RestartStrategy, FailureRateOfOneNeverRestarts) {
  expectSteps(of(Type::kFailureRate), {{0, true, false, 0}, {100'000, true, false, 0}});
}

TEST(RestartStrategy, ExponentialDelayGrowsToItsLimit) {
  Options options = of(Type::kExponentialDelay);
  options.maxBackoff = Millis(3000);
  expectSteps(options, {{0, true, true, 1000},
                        {2'000, true, true, 1500},
                        {10'000, true, true, 2250},
                        {20'000, true, true, 3000},
                        {30'000, true, true, 3000}});
}

TEST(RestartStrategy, ExponentialDelayMergesFailuresInsideAPause) {
  expectSteps(of(Type::kExponentialDelay),
              {{0, true, true, 1000}, {400, false, true, 600}, {1000, false, true, 0}, {1001, true, true, 1500}});
}

TEST(RestartStrategy, ExponentialDelayStartsAnewAfterAQuietTime) {
  Options options = of(Type::kExponentialDelay);
  options.resetBackoffThreshold = Millis(5000);
  // Counted from the end of the pause: the first one ends at 1000, the second at 4000.
  expectSteps(options, {{0, true, true, 1000}, {2'500, true, true, 1500}, {8'999, true, true, 2250}, {16'249, true, true, 1000}});
}

TEST(RestartStrategy, ExponentialDelayGivesUpAfterItsAttemptsAndCountsAnewAfterAQuietTime) {
  Options options = of(Type::kExponentialDelay);
  options.attemptsBeforeResetBackoff = 2;
  expectSteps(options, {{0, true, true, 1000}, {2'000, true, true, 1500}, {5'000, true, false, 0}});
  expectSteps(options, {{0, true, true, 1000}, {2'000, true, true, 1500}, {3'700'000, true, true, 1000}});
}

TEST(RestartStrategy, JitterStaysWithinItsShareAndNeverBelowTheInitialPause) {
  Options options = of(Type::kExponentialDelay);
  options.jitterFactor = 0.1;
  bool differs = false;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    HandClock clock;
    const auto strategy = makeRestartStrategy(options, clock, Random(seed));
    strategy->notifyFailure();
    const int64_t first = strategy->backoff().count();
    EXPECT_GE(first, 1000);
    EXPECT_LE(first, 1100);
    clock.nowMs += 5000;
    strategy->notifyFailure();
    const int64_t second = strategy->backoff().count();
    EXPECT_GE(second, 1350);
    EXPECT_LE(second, 1650);
    differs |= second != 1500;
  }
  EXPECT_TRUE(differs);
}

TEST(RestartStrategy, ManyAttemptsDoNotOverflow) {
  Options options = of(Type::kExponentialDelay);
  options.backoffMultiplier = 1e9;
  options.maxBackoff = Millis(1'000'000'000'000);
  options.resetBackoffThreshold = Millis(1'000'000'000'000'000);
  HandClock clock;
  clock.nowMs = 1'000'000'000'000'000;
  const auto strategy = makeRestartStrategy(options, clock, Random(1));
  for (int i = 0; i < 1000; ++i) {
    clock.nowMs += 1'000'000'000'001;
    strategy->notifyFailure();
    EXPECT_LE(strategy->backoff().count(), 1'000'000'000'000);
  }
  EXPECT_EQ(strategy->backoff().count(), 1'000'000'000'000);
}

TEST(RestartStrategy, PrintsAsFlinkDoes) {
  HandClock clock;
  Options fixed = of(Type::kFixedDelay);
  fixed.fixedDelayAttempts = 2;
  EXPECT_EQ(makeRestartStrategy(fixed, clock, Random(1))->toString(),
            "FixedDelayRestartBackoffTimeStrategy(maxNumberRestartAttempts=2, backoffTimeMS=1000)");
  EXPECT_EQ(makeRestartStrategy(of(Type::kNone), clock, Random(1))->toString(), "NoRestartBackoffTimeStrategy");
  Options rate = of(Type::kFailureRate);
  rate.failureRateMaxFailures = 3;
  rate.failureRateInterval = Millis(86'400'000);
  rate.failureRateDelay = Millis(180'000);
  EXPECT_EQ(makeRestartStrategy(rate, clock, Random(1))->toString(),
            "FailureRateRestartBackoffTimeStrategy(FailureRateRestartBackoffTimeStrategy(failuresIntervalMS=86400000,backoffTimeMS=180000,"
            "maxFailuresPerInterval=3)");
  EXPECT_EQ(makeRestartStrategy(Options::defaults(true), clock, Random(1))->toString(),
            "ExponentialDelayRestartBackoffTimeStrategy(initialBackoffMS=1000, maxBackoffMS=60000, backoffMultiplier=1.5, "
            "resetBackoffThresholdMS=3600000, jitterFactor=0.1, attemptsBeforeResetBackoff=2147483647, currentRestartAttempt=0, "
            "nextRestartTimestamp=-2147483648)");
  Options whole = Options::defaults(true);
  whole.backoffMultiplier = 2;
  EXPECT_THAT(makeRestartStrategy(whole, clock, Random(1))->toString(), HasSubstr("backoffMultiplier=2.0,"));
}

TEST(RestartStrategy, TheDefaultDependsOnCheckpointing) {
  EXPECT_EQ(Options::defaults(true).type, Type::kExponentialDelay);
  EXPECT_EQ(Options::defaults(false).type, Type::kNone);
}

TEST(RestartStrategy, NamesInAllSpellings) {
  for (const char* name : {"none", "off", "disable", "None"}) EXPECT_EQ(*Options::parseType(name), Type::kNone);
  for (const char* name : {"fixed-delay", "fixeddelay", "FixedDelay"}) EXPECT_EQ(*Options::parseType(name), Type::kFixedDelay);
  for (const char* name : {"failure-rate", "failurerate"}) EXPECT_EQ(*Options::parseType(name), Type::kFailureRate);
  for (const char* name : {"exponential-delay", "exponentialdelay"}) EXPECT_EQ(*Options::parseType(name), Type::kExponentialDelay);
  EXPECT_THAT(Options::parseType("sometimes").error().message, HasSubstr("restart-strategy.type: 'sometimes' is none of"));
}

TEST(RestartStrategy, EachValueOutOfRangeIsNamed) {
  const auto messageOf = [](auto change) {
    Options options;
    change(options);
    const auto result = options.validate();
    return result.has_error() ? result.error().message : "";
  };
  EXPECT_EQ(messageOf([](Options&) {}), "");
  EXPECT_THAT(messageOf([](Options& o) { o.fixedDelayAttempts = -1; }), HasSubstr("restart-strategy.fixed-delay.attempts"));
  EXPECT_THAT(messageOf([](Options& o) { o.fixedDelay = Millis(-1); }), HasSubstr("restart-strategy.fixed-delay.delay"));
  EXPECT_THAT(messageOf([](Options& o) { o.failureRateMaxFailures = 0; }), HasSubstr("max-failures-per-interval"));
  EXPECT_THAT(messageOf([](Options& o) { o.failureRateInterval = Millis(0); }), HasSubstr("failure-rate-interval"));
  EXPECT_THAT(messageOf([](Options& o) { o.failureRateDelay = Millis(-1); }), HasSubstr("failure-rate.delay"));
  EXPECT_THAT(messageOf([](Options& o) { o.initialBackoff = Millis(0); }), HasSubstr("initial-backoff"));
  EXPECT_THAT(messageOf([](Options& o) { o.maxBackoff = Millis(999); }), HasSubstr("max-backoff"));
  EXPECT_THAT(messageOf([](Options& o) { o.backoffMultiplier = 0.5; }), HasSubstr("backoff-multiplier"));
  EXPECT_THAT(messageOf([](Options& o) { o.resetBackoffThreshold = Millis(0); }), HasSubstr("reset-backoff-threshold"));
  EXPECT_THAT(messageOf([](Options& o) { o.jitterFactor = 1.5; }), HasSubstr("jitter-factor"));
  EXPECT_THAT(messageOf([](Options& o) { o.attemptsBeforeResetBackoff = 0; }), HasSubstr("attempts-before-reset-backoff"));
}

}  // namespace
}  // namespace weir
