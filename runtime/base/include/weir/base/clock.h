#pragma once

#include <chrono>
#include <cstdint>

namespace weir {

using Nanos = std::chrono::nanoseconds;
using Millis = std::chrono::milliseconds;

/// Time of one process. Reading it is a virtual call: once per batch or buffer, never per record.
///
/// Flink: Clock (SystemClock). Under the simulated executor time is virtual and moves only there.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Milliseconds since 1970-01-01 UTC; may be skewed against other processes, may jump.
  virtual int64_t epochMillis() const = 0;
  /// Monotonic; the zero is arbitrary. What deadlines are made of.
  virtual Nanos monotonic() const = 0;
};

/// The clock of the machine. Stateless, any thread.
class SystemClock final : public Clock {
 public:
  int64_t epochMillis() const override;
  Nanos monotonic() const override;
  static SystemClock& instance();
};

/// Another clock whose wall time is off by a fixed amount: the clock of a process on a badly set machine.
class SkewedClock final : public Clock {
 public:
  SkewedClock(const Clock& base, Millis skew) : base_(base), skew_(skew) {}
  int64_t epochMillis() const override { return base_.epochMillis() + skew_.count(); }
  Nanos monotonic() const override { return base_.monotonic(); }

 private:
  const Clock& base_;
  Millis skew_;
};

}  // namespace weir
