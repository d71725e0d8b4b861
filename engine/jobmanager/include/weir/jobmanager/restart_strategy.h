#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weir/base/clock.h"
#include "weir/base/random.h"
#include "weir/base/result.h"

namespace weir {

/// Decides whether and when tasks run again after a failure.
///
/// Flink: RestartBackoffTimeStrategy. Threads: the JobMaster's. Order of calls per failure: notifyFailure, canRestart, backoff.
class RestartStrategy {
 public:
  virtual ~RestartStrategy() = default;
  /// A failure happened. False: it falls into the pause of an earlier one and belongs to that attempt.
  virtual bool notifyFailure() = 0;
  virtual bool canRestart() const = 0;
  /// From now to the restart.
  virtual Millis backoff() const = 0;
  /// As Flink prints it, in logs and in the final failure.
  virtual std::string toString() const = 0;
};

/// What restart-strategy.* says, with Flink's defaults.
struct RestartStrategyOptions {
  enum class Type { kNone, kFixedDelay, kFailureRate, kExponentialDelay };
  Type type = Type::kNone;

  int32_t fixedDelayAttempts = 1;
  Millis fixedDelay{1000};

  int32_t failureRateMaxFailures = 1;
  Millis failureRateInterval{60'000};
  Millis failureRateDelay{1000};

  Millis initialBackoff{1000};
  Millis maxBackoff{60'000};
  double backoffMultiplier = 1.5;
  Millis resetBackoffThreshold{3'600'000};
  double jitterFactor = 0.1;
  int32_t attemptsBeforeResetBackoff = 2147483647;

  /// What a job gets that names none: exponential delay with checkpoints, else no restart.
  static RestartStrategyOptions defaults(bool checkpointing) {
    RestartStrategyOptions options;
    options.type = checkpointing ? Type::kExponentialDelay : Type::kNone;
    return options;
  }
  /// The value of restart-strategy.type in each of Flink's spellings.
  static Result<Type> parseType(std::string_view name);
  /// The first value out of range, as one sentence that names the key.
  Result<void> validate() const;
};

/// `random` is the jitter's; `clock` outlives the strategy. Requires: the options are valid.
std::unique_ptr<RestartStrategy> makeRestartStrategy(const RestartStrategyOptions& options, const Clock& clock, Random random);

}  // namespace weir
