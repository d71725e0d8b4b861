#include "weir/jobmanager/restart_strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <deque>
#include <limits>

namespace weir {
namespace {

using Options = RestartStrategyOptions;

class NoRestart final : public RestartStrategy {
 public:
  bool notifyFailure() override { return true; }
  bool canRestart() const override { return false; }
  Millis backoff() const override { return Millis(0); }
  std::string toString() const override { return "NoRestartBackoffTimeStrategy"; }
};

class FixedDelay final : public RestartStrategy {
 public:
  FixedDelay(int32_t attempts, Millis delay) : attempts_(attempts), delay_(delay) {}
  bool notifyFailure() override {
    ++failures_;
    return true;
  }
  bool canRestart() const override { return failures_ <= attempts_; }
  Millis backoff() const override { return delay_; }
  std::string toString() const override {
    return fmt::format("FixedDelayRestartBackoffTimeStrategy(maxNumberRestartAttempts={}, backoffTimeMS={})", attempts_, delay_.count());
  }

 private:
  int64_t attempts_, failures_ = 0;
  Millis delay_;
};

/// The failure that fills the interval's quota ends the job, so `maxFailures` of 1 never restarts unless failures are further apart.
class FailureRate final : public RestartStrategy {
 public:
  FailureRate(int32_t maxFailures, Millis interval, Millis delay, const Clock& clock)
      : maxFailures_(maxFailures), interval_(interval), delay_(delay), clock_(clock) {}
  bool notifyFailure() override {
    if (isFull()) timesMs_.pop_front();
    timesMs_.push_back(clock_.epochMillis());
    return true;
  }
  bool canRestart() const override { return !isFull() || clock_.epochMillis() - timesMs_.front() > interval_.count(); }
  Millis backoff() const override { return delay_; }
  std::string toString() const override {
    // The name twice and one bracket short: so Flink prints it, and so people search for it.
    return fmt::format("FailureRateRestartBackoffTimeStrategy(FailureRateRestartBackoffTimeStrategy(failuresIntervalMS={},backoffTimeMS={},"
                       "maxFailuresPerInterval={})",
                       interval_.count(), delay_.count(), maxFailures_);
  }

 private:
  bool isFull() const { return timesMs_.size() >= static_cast<size_t>(maxFailures_); }
  int32_t maxFailures_;
  Millis interval_, delay_;
  const Clock& clock_;
  std::deque<int64_t> timesMs_;
};

class ExponentialDelay final : public RestartStrategy {
 public:
  ExponentialDelay(const Options& o, const Clock& clock, Random random) : o_(o), clock_(clock), random_(random) {}

  bool notifyFailure() override {
    const int64_t now = clock_.epochMillis();
    if (now <= nextRestartMs_) return false;
    if (now - nextRestartMs_ >= o_.resetBackoffThreshold.count()) attempt_ = 0;
    nextRestartMs_ = now + drawBackoff();
    ++attempt_;
    return true;
  }
  bool canRestart() const override { return attempt_ <= o_.attemptsBeforeResetBackoff; }
  Millis backoff() const override { return Millis(std::max<int64_t>(0, nextRestartMs_ - clock_.epochMillis())); }
  std::string toString() const override {
    return fmt::format("ExponentialDelayRestartBackoffTimeStrategy(initialBackoffMS={}, maxBackoffMS={}, backoffMultiplier={}, "
                       "resetBackoffThresholdMS={}, jitterFactor={}, attemptsBeforeResetBackoff={}, currentRestartAttempt={}, "
                       "nextRestartTimestamp={})",
                       o_.initialBackoff.count(), o_.maxBackoff.count(), javaDouble(o_.backoffMultiplier), o_.resetBackoffThreshold.count(),
                       javaDouble(o_.jitterFactor), o_.attemptsBeforeResetBackoff, attempt_, nextRestartMs_);
  }

 private:
  /// Java prints a whole double as `2.0`.
  static std::string javaDouble(double value) {
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  /// The pause grows from the initial one, is shaken, and stays within both bounds: below the initial one it never falls.
  int64_t drawBackoff() {
    const double limit = static_cast<double>(o_.maxBackoff.count());
    const double grown = static_cast<double>(o_.initialBackoff.count()) * std::pow(o_.backoffMultiplier, attempt_);
    const auto pause = static_cast<int64_t>(std::min(grown, 2 * limit));  // far above the limit is as good, and fits an integer
    const auto spread = static_cast<int64_t>(static_cast<double>(pause) * o_.jitterFactor);
    const int64_t jitter = spread == 0 ? 0 : random_.between(-spread, spread);
    return std::max(o_.initialBackoff.count(), std::min(pause + jitter, o_.maxBackoff.count()));
  }

  Options o_;
  const Clock& clock_;
  Random random_;
  int64_t attempt_ = 0;
  int64_t nextRestartMs_ = std::numeric_limits<int32_t>::min();  ///< before the first failure: long ago
};

}  // namespace

Result<Options::Type> RestartStrategyOptions::parseType(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "none" || lower == "off" || lower == "disable") return Type::kNone;
  if (lower == "fixed-delay" || lower == "fixeddelay") return Type::kFixedDelay;
  if (lower == "failure-rate" || lower == "failurerate") return Type::kFailureRate;
  if (lower == "exponential-delay" || lower == "exponentialdelay") return Type::kExponentialDelay;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("restart-strategy.type: '{}' is none of none, fixed-delay, failure-rate, exponential-delay", name)};
}

Result<void> RestartStrategyOptions::validate() const {
  const auto check = [](bool ok, std::string_view key, std::string_view rule) -> Result<void> {
    if (ok) return {};
    return Error{ErrorCode::kInvalidArgument, fmt::format("restart-strategy.{} {}", key, rule)};
  };
  WEIR_TRY(check(fixedDelayAttempts >= 0, "fixed-delay.attempts", "must not be negative"));
  WEIR_TRY(check(fixedDelay.count() >= 0, "fixed-delay.delay", "must not be negative"));
  WEIR_TRY(check(failureRateMaxFailures >= 1, "failure-rate.max-failures-per-interval", "must be 1 or more"));
  WEIR_TRY(check(failureRateInterval.count() > 0, "failure-rate.failure-rate-interval", "must be positive"));
  WEIR_TRY(check(failureRateDelay.count() >= 0, "failure-rate.delay", "must not be negative"));
  WEIR_TRY(check(initialBackoff.count() >= 1, "exponential-delay.initial-backoff", "must be 1 ms or more"));
  WEIR_TRY(check(maxBackoff >= initialBackoff, "exponential-delay.max-backoff", "must not be below the initial backoff"));
  WEIR_TRY(check(backoffMultiplier >= 1, "exponential-delay.backoff-multiplier", "must be 1 or more"));
  WEIR_TRY(check(resetBackoffThreshold >= Millis(1), "exponential-delay.reset-backoff-threshold", "must be 1 ms or more"));
  WEIR_TRY(check(jitterFactor >= 0 && jitterFactor <= 1, "exponential-delay.jitter-factor", "must be between 0 and 1"));
  WEIR_TRY(check(attemptsBeforeResetBackoff >= 1, "exponential-delay.attempts-before-reset-backoff", "must be 1 or more"));
  return {};
}

std::unique_ptr<RestartStrategy> makeRestartStrategy(const RestartStrategyOptions& o, const Clock& clock, Random random) {
  switch (o.type) {
    case Options::Type::kNone: return std::make_unique<NoRestart>();
    case Options::Type::kFixedDelay: return std::make_unique<FixedDelay>(o.fixedDelayAttempts, o.fixedDelay);
    case Options::Type::kFailureRate:
      return std::make_unique<FailureRate>(o.failureRateMaxFailures, o.failureRateInterval, o.failureRateDelay, clock);
    case Options::Type::kExponentialDelay: return std::make_unique<ExponentialDelay>(o, clock, random);
  }
  return nullptr;
}

}  // namespace weir
