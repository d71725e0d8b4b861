#include "weir/scenario/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "weir/operators/row_text.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 6> kTypeWords = {"bool", "int", "long", "double", "string", "timestamp"};
constexpr std::array<std::string_view, 8> kExpressionWords = {"and", "or", "not", "is", "in", "null", "true", "false"};

/// Exactly `digits` digits at the begin of the text, which are taken off.
std::optional<int> takeDigits(std::string_view& text, size_t digits) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits || text.front() == '-') return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool takeChar(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// "05:15", "05:15:00", "05:15:00.25" as milliseconds.
std::optional<int64_t> takeTimeOfDay(std::string_view& text) {
  const auto hour = takeDigits(text, 2);
  if (!hour || *hour > 23 || !takeChar(text, ':')) return std::nullopt;
  const auto minute = takeDigits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  int64_t millis = (*hour * 60 + *minute) * 60'000;
  if (!takeChar(text, ':')) return millis;
  const auto second = takeDigits(text, 2);
  if (!second || *second > 59) return std::nullopt;
  millis += *second * 1000;
  if (!takeChar(text, '.')) return millis;
  int64_t scale = 100;
  const size_t before = text.size();
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), scale /= 10)
    millis += (text.front() - '0') * scale;
  return text.size() == before ? std::nullopt : std::optional(millis);
}

/// "Z", "+02:00", "-0530" or nothing, as milliseconds to take off. All of the text.
std::optional<int64_t> takeZone(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  const int sign = text.front() == '-' ? -1 : 1;
  if (!takeChar(text, '+') && !takeChar(text, '-')) return std::nullopt;
  const auto hours = takeDigits(text, 2);
  takeChar(text, ':');
  const auto minutes = takeDigits(text, 2);
  if (!hours || !minutes || *hours > 18 || *minutes > 59 || !text.empty()) return std::nullopt;
  return sign * (*hours * 60 + *minutes) * int64_t{60'000};
}

}  // namespace

std::string_view toString(ColumnType type) { return kTypeWords[static_cast<size_t>(type)]; }

std::optional<ColumnType> columnTypeOf(std::string_view word) {
  const auto found = std::find(kTypeWords.begin(), kTypeWords.end(), word);
  if (found == kTypeWords.end()) return std::nullopt;
  return static_cast<ColumnType>(found - kTypeWords.begin());
}

const std::vector<std::string>& columnTypeWords() {
  static const std::vector<std::string> words(kTypeWords.begin(), kTypeWords.end());
  return words;
}

std::optional<size_t> Schema::find(std::string_view name) const {
  const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const Column& c) { return c.name == name; });
  if (found == columns_.end()) return std::nullopt;
  return static_cast<size_t>(found - columns_.begin());
}

std::vector<std::string> Schema::names() const {
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(column.name);
  return names;
}

bool isColumnName(std::string_view name) {
  const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !isLetter(name.front())) return false;
  if (!std::all_of(name.begin(), name.end(), [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); })) return false;
  return std::find(kExpressionWords.begin(), kExpressionWords.end(), name) == kExpressionWords.end();
}

void appendTimestamp(std::string& out, int64_t epochMillis) {
  using namespace std::chrono;
  constexpr int64_t kYears = 10'000LL * 366 * 86'400'000;  // beyond that a calendar does not help: the number
  if (epochMillis < -kYears || epochMillis > kYears) {
    detail::appendNumber(out, epochMillis);
    return;
  }
  const sys_time<milliseconds> time{milliseconds(epochMillis)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  out += fmt::format("{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (clock.subseconds().count() != 0) out += fmt::format(".{:03d}", clock.subseconds().count());
  out += 'Z';
}

std::optional<int64_t> parseTimestamp(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (const auto [at, error] = std::from_chars(text.data(), end, number); error == std::errc() && at == end) return number;
  const auto year = takeDigits(text, 4);
  if (!year || !takeChar(text, '-')) return std::nullopt;
  const auto month = takeDigits(text, 2);
  if (!month || !takeChar(text, '-')) return std::nullopt;
  const auto day = takeDigits(text, 2);
  if (!day) return std::nullopt;
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  int64_t millis = sys_days(date).time_since_epoch().count() * int64_t{86'400'000};
  if (text.empty()) return millis;
  if (!takeChar(text, 'T') && !takeChar(text, ' ')) return std::nullopt;
  const auto clock = takeTimeOfDay(text);
  const auto zone = clock ? takeZone(text) : std::nullopt;
  if (!zone) return std::nullopt;
  return millis + *clock - *zone;
}

void appendValue(std::string& out, const Value& value, ColumnType type) {
  switch (value.index()) {
    case 1: out += std::get<bool>(value) ? "true" : "false"; break;
    case 2: detail::appendNumber(out, static_cast<int64_t>(std::get<int32_t>(value))); break;
    case 3:
      if (type == ColumnType::kTimestamp)
        appendTimestamp(out, std::get<int64_t>(value));
      else
        detail::appendNumber(out, std::get<int64_t>(value));
      break;
    case 4: detail::appendNumber(out, std::get<double>(value)); break;
    case 5: out += std::get<std::string>(value); break;
    default: out += "null";
  }
}

void appendRowText(std::string& out, const Row& row, const Schema& schema) {
  out += '{';
  for (size_t i = 0; i < schema.size(); ++i) {
    if (i > 0) out += ", ";
    out += schema[i].name;
    out += '=';
    appendValue(out, row.values[i], schema[i].type);
  }
  out += '}';
}

void appendRowCsv(std::string& out, const Row& row, const Schema& schema) {
  for (size_t i = 0; i < schema.size(); ++i) {
    if (i > 0) out += ',';
    if (isNull(row.values[i])) continue;
    if (const auto* text = std::get_if<std::string>(&row.values[i]))
      detail::appendCsvString(out, *text, true);
    else
      appendValue(out, row.values[i], schema[i].type);
  }
}

std::string schemaCsvHeader(const Schema& schema) {
  std::string out;
  for (const Column& column : schema.columns()) out += (out.empty() ? "" : ",") + column.name;
  return out;
}

void appendRowJson(std::string& out, const Row& row, const Schema& schema) {
  out += '{';
  for (size_t i = 0; i < schema.size(); ++i) {
    if (i > 0) out += ',';
    detail::appendJsonString(out, schema[i].name);
    out += ':';
    const Value& value = row.values[i];
    const auto* number = std::get_if<double>(&value);
    if (const auto* text = std::get_if<std::string>(&value)) {
      detail::appendJsonString(out, *text);
    } else if (number && !detail::isFinite(*number)) {
      out += "null";
    } else if (schema[i].type == ColumnType::kTimestamp && !isNull(value)) {
      out += '"';
      appendValue(out, value, schema[i].type);
      out += '"';
    } else {
      appendValue(out, value, schema[i].type);
    }
  }
  out += '}';
}

}  // namespace weir
