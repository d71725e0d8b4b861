#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/clock.h"
#include "weir/base/result.h"

namespace weir {

/// A non-negative length of time as configuration files spell it: whole seconds and nanoseconds, as java.time.Duration holds it, because
/// such texts may exceed what 64 bits of nanoseconds can hold.
///
/// Flink: TimeUtils. Texts: "10 s", "100ms", "10000" (milliseconds), "PT1H30M".
class Duration {
 public:
  constexpr Duration() = default;
  /// Requires: not negative.
  constexpr Duration(Nanos nanos) : seconds_(nanos.count() / kPerSecond), nanos_(static_cast<int32_t>(nanos.count() % kPerSecond)) {}

  static Result<Duration> parse(std::string_view text);

  /// Nanos::max() and Millis::max() stand for anything longer.
  Nanos toNanos() const;
  Millis toMillis() const;
  /// Whether toMillis() is exact as far as milliseconds go.
  bool fitsMillis() const;
  /// All of it in decimal, which may be more than 64 bits.
  std::string totalNanosText() const;
  /// The largest unit that divides exactly: "10 min", "1500 ms", "0 ms". Flink: TimeUtils.formatWithHighestUnit.
  std::string toString() const;
  /// "PT1H30M", as Java prints it.
  std::string toIsoString() const;

  auto operator<=>(const Duration&) const = default;

 private:
  static constexpr int64_t kPerSecond = 1'000'000'000;
  constexpr Duration(int64_t seconds, int32_t nanos) : seconds_(seconds), nanos_(nanos) {}
  static Result<Duration> parseIso(std::string_view text);
  int64_t seconds_ = 0;
  int32_t nanos_ = 0;
};

/// A non-negative number of bytes as configuration files spell it, in binary multiples: "64 mb", "20kb", "1024" (bytes).
///
/// Flink: MemorySize.
struct MemorySize {
  int64_t bytes = 0;

  static constexpr MemorySize ofKibiBytes(int64_t n) { return {n << 10}; }
  static constexpr MemorySize ofMebiBytes(int64_t n) { return {n << 20}; }
  static Result<MemorySize> parse(std::string_view text);

  /// The largest unit that divides exactly: "64 mb", "256 bytes". A multiple of one tebibyte prints in bytes, as in Flink.
  std::string toString() const;
  /// "1.500gb (1610612736 bytes)".
  std::string toHumanReadableString() const;

  auto operator<=>(const MemorySize&) const = default;
};

}  // namespace weir
