#include "weir/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

namespace weir {
namespace {

using Wide = __int128;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct Unit {
  std::string_view name;  ///< as error messages list it
  std::span<const std::string_view> labels;
  int64_t size;
};

constexpr std::array<std::string_view, 3> kDays{"d", "day", "days"};
constexpr std::array<std::string_view, 3> kHours{"h", "hour", "hours"};
constexpr std::array<std::string_view, 4> kMinutes{"min", "m", "minute", "minutes"};
constexpr std::array<std::string_view, 5> kSeconds{"s", "sec", "secs", "second", "seconds"};
constexpr std::array<std::string_view, 5> kMillis{"ms", "milli", "millis", "millisecond", "milliseconds"};
constexpr std::array<std::string_view, 5> kMicros{"\u00b5s", "micro", "micros", "microsecond", "microseconds"};
constexpr std::array<std::string_view, 5> kNanos{"ns", "nano", "nanos", "nanosecond", "nanoseconds"};
constexpr std::array<Unit, 7> kTimeUnits{{
    {"DAYS", kDays, 86'400'000'000'000},
    {"HOURS", kHours, 3'600'000'000'000},
    {"MINUTES", kMinutes, 60'000'000'000},
    {"SECONDS", kSeconds, 1'000'000'000},
    {"MILLISECONDS", kMillis, 1'000'000},
    {"MICROSECONDS", kMicros, 1'000},
    {"NANOSECONDS", kNanos, 1},
}};
constexpr int64_t kMilli = 1'000'000;

constexpr std::array<std::string_view, 2> kBytes{"b", "bytes"};
constexpr std::array<std::string_view, 3> kKibi{"k", "kb", "kibibytes"};
constexpr std::array<std::string_view, 3> kMebi{"m", "mb", "mebibytes"};
constexpr std::array<std::string_view, 3> kGibi{"g", "gb", "gibibytes"};
constexpr std::array<std::string_view, 3> kTebi{"t", "tb", "tebibytes"};
constexpr std::array<Unit, 5> kMemoryUnits{{
    {"BYTES", kBytes, 1},
    {"KILO", kKibi, int64_t{1} << 10},
    {"MEGA", kMebi, int64_t{1} << 20},
    {"GIGA", kGibi, int64_t{1} << 30},
    {"TERA", kTebi, int64_t{1} << 40},
}};

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

/// Java's String.trim: control characters and blanks.
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

struct NumberAndUnit {
  std::string_view digits;
  std::string unit;
};

NumberAndUnit splitNumber(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && isDigit(text[end])) ++end;
  return {text.substr(0, end), lowered(trimmed(text.substr(end)))};
}

const Unit* findUnit(std::span<const Unit> units, std::string_view label) {
  for (const Unit& unit : units) {
    if (std::find(unit.labels.begin(), unit.labels.end(), label) != unit.labels.end()) return &unit;
  }
  return nullptr;
}

std::string allTimeUnits() {
  std::string text;
  for (const Unit& unit : kTimeUnits) {
    text += fmt::format("{}{}: ({})", text.empty() ? "" : ", ", unit.name, fmt::join(unit.labels, " | "));
  }
  return text;
}

std::string allMemoryUnits() {
  std::string text;
  for (const Unit& unit : kMemoryUnits) text += fmt::format("{}({})", text.empty() ? "" : " / ", fmt::join(unit.labels, " | "));
  return text;
}

/// The number, unless it exceeds `limit`.
std::optional<Wide> numberUpTo(std::string_view digits, Wide limit) {
  Wide value = 0;
  for (char c : digits) {
    value = value * 10 + (c - '0');
    if (value > limit) return std::nullopt;
  }
  return value;
}

/// The fields of an ISO-8601 duration, taken one after the other.
class IsoReader {
 public:
  explicit IsoReader(std::string_view text) : rest_(text) {}
  bool literal(char letter) {
    if (rest_.empty() || upper(rest_.front()) != letter) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// -1, or 1 also where there is no sign.
  int sign() { return literal('-') ? -1 : (literal('+'), 1); }
  /// [sign] digits [fraction, where allowed] `letter`, in nanoseconds; nothing is taken where that does not come next.
  std::optional<Wide> field(char letter, int64_t unit, bool fraction) {
    IsoReader ahead = *this;
    const int sign = ahead.sign();
    const std::string_view digits = ahead.digits();
    const auto whole = numberUpTo(digits, kMax);
    if (digits.empty() || !whole) return std::nullopt;
    Wide nanos = *whole * unit;
    if (fraction && (ahead.literal('.') || ahead.literal(','))) {
      std::string decimals(ahead.digits());
      if (decimals.size() > 9) return std::nullopt;
      decimals.resize(9, '0');
      nanos += *numberUpTo(decimals, kMax);
    }
    if (!ahead.literal(letter)) return std::nullopt;
    *this = ahead;
    return sign * nanos;
  }
  bool atEnd() const { return rest_.empty(); }

 private:
  std::string_view digits() {
    size_t n = 0;
    while (n < rest_.size() && isDigit(rest_[n])) ++n;
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }
  std::string_view rest_;
};

/// Nanoseconds of an ISO-8601 duration (java.time.Duration.parse), or nothing where it is none.
std::optional<Wide> isoNanos(std::string_view text) {
  IsoReader reader(text);
  const int sign = reader.sign();
  if (!reader.literal('P')) return std::nullopt;
  Wide total = 0;
  bool any = false;
  const auto take = [&](char letter, int64_t unit, bool fraction = false) {
    if (const auto nanos = reader.field(letter, unit, fraction)) {
      total += *nanos;
      any = true;
      return true;
    }
    return false;
  };
  take('D', 86'400'000'000'000);
  if (reader.literal('T')) {
    const bool hours = take('H', 3'600'000'000'000), minutes = take('M', 60'000'000'000), seconds = take('S', 1'000'000'000, true);
    if (!hours && !minutes && !seconds) return std::nullopt;
  }
  if (!any || !reader.atEnd()) return std::nullopt;
  return sign * total;
}

std::string decimal(Wide value) { return fmt::format("{}", value); }

}  // namespace

Result<Duration> Duration::parseIso(std::string_view text) {
  const auto nanos = isoNanos(text);
  if (!nanos || *nanos / kPerSecond > kMax) {
    return invalid(fmt::format("text does not start with a number, and is not a valid ISO-8601 duration format: {}", text));
  }
  if (*nanos < 0) return invalid("negative duration is not supported");
  return Duration(static_cast<int64_t>(*nanos / kPerSecond), static_cast<int32_t>(*nanos % kPerSecond));
}

Result<Duration> Duration::parse(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return invalid("argument is an empty- or whitespace-only string");
  if (!isDigit(text.front())) return parseIso(text);
  const auto [digits, label] = splitNumber(text);
  int64_t unit = kMilli;
  if (!label.empty()) {
    const Unit* found = findUnit(kTimeUnits, label);
    if (!found) {
      return invalid(fmt::format("Time interval unit label '{}' does not match any of the recognized units: {}", label, allTimeUnits()));
    }
    unit = found->size;
  }
  const Wide limit = (static_cast<Wide>(kMax) * kPerSecond + (kPerSecond - 1)) / unit;
  const auto number = numberUpTo(digits, limit);
  if (!number) return invalid(fmt::format("The value '{}' cannot be represented as Duration (numeric overflow).", digits));
  const Wide nanos = *number * unit;
  return Duration(static_cast<int64_t>(nanos / kPerSecond), static_cast<int32_t>(nanos % kPerSecond));
}

Nanos Duration::toNanos() const {
  const Wide nanos = static_cast<Wide>(seconds_) * kPerSecond + nanos_;
  return nanos > kMax ? Nanos::max() : Nanos(static_cast<int64_t>(nanos));
}

bool Duration::fitsMillis() const { return static_cast<Wide>(seconds_) * 1000 + nanos_ / kMilli <= kMax; }

Millis Duration::toMillis() const { return fitsMillis() ? Millis(seconds_ * 1000 + nanos_ / kMilli) : Millis::max(); }

std::string Duration::totalNanosText() const { return decimal(static_cast<Wide>(seconds_) * kPerSecond + nanos_); }

std::string Duration::toString() const {
  const Wide nanos = static_cast<Wide>(seconds_) * kPerSecond + nanos_;
  if (nanos == 0) return "0 ms";
  const auto unit = std::find_if(kTimeUnits.begin(), kTimeUnits.end(), [&](const Unit& u) { return nanos % u.size == 0; });
  return fmt::format("{} {}", decimal(nanos / unit->size), unit->labels.front());
}

std::string Duration::toIsoString() const {
  const int64_t hours = seconds_ / 3600, minutes = seconds_ % 3600 / 60, seconds = seconds_ % 60;
  std::string text = "PT";
  if (hours > 0) text += fmt::format("{}H", hours);
  if (minutes > 0) text += fmt::format("{}M", minutes);
  if (seconds == 0 && nanos_ == 0 && text.size() > 2) return text;
  text += std::to_string(seconds);
  if (nanos_ > 0) {
    std::string decimals = fmt::format("{:09}", nanos_);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    text += "." + decimals;
  }
  return text + "S";
}

Result<MemorySize> MemorySize::parse(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return invalid("argument is an empty- or whitespace-only string");
  const auto [digits, label] = splitNumber(text);
  if (digits.empty()) return invalid("text does not start with a number");
  const auto number = numberUpTo(digits, kMax);
  if (!number) return invalid(fmt::format("The value '{}' cannot be re represented as 64bit number (numeric overflow).", digits));
  const Unit* unit = label.empty() ? &kMemoryUnits.front() : findUnit(kMemoryUnits, label);
  if (!unit) {
    return invalid(fmt::format("Memory size unit '{}' does not match any of the recognized units: {}", label, allMemoryUnits()));
  }
  const Wide bytes = *number * unit->size;
  if (bytes > kMax) {
    return invalid(fmt::format("The value '{}' cannot be re represented as 64bit number of bytes (numeric overflow).", text));
  }
  return MemorySize{static_cast<int64_t>(bytes)};
}

std::string MemorySize::toString() const {
  // Flink looks for the first unit that does not divide and takes the one before; where all divide it falls back to bytes.
  const auto tooLarge = std::find_if(kMemoryUnits.begin(), kMemoryUnits.end(), [&](const Unit& u) { return bytes % u.size != 0; });
  const Unit& unit = tooLarge == kMemoryUnits.end() || tooLarge == kMemoryUnits.begin() ? kMemoryUnits.front() : *(tooLarge - 1);
  return fmt::format("{} {}", bytes / unit.size, unit.labels[1]);
}

std::string MemorySize::toHumanReadableString() const {
  const auto unit = std::find_if(kMemoryUnits.rbegin(), kMemoryUnits.rend() - 1, [&](const Unit& u) { return bytes > u.size; });
  if (unit->size == 1) return fmt::format("{} bytes", bytes);
  const int64_t thousandths = static_cast<int64_t>((static_cast<Wide>(bytes) * 1000 + unit->size / 2) / unit->size);
  return fmt::format("{}.{:03}{} ({} bytes)", thousandths / 1000, thousandths % 1000, unit->labels[1], bytes);
}

}  // namespace weir
