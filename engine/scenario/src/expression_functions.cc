#include "expression_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "weir/exchange/java_hash.h"
#include "weir/operators/nearest.h"

namespace weir {
namespace {

using enum ColumnType;
using Arguments = std::span<const ColumnVector* const>;
using Nulls = Overload::Nulls;

int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

// ---- shapes of kernels: f is a captureless function on the values of a row ------------------------------------------------------
template <auto f>
void fromLongs(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) into.numbers[i] = f(a[0]->numbers[i], a[1]->numbers[i]);
}
template <auto f>
void fromDoubles(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) into.doubles[i] = f(a[0]->doubles[i], a[1]->doubles[i]);
}
template <auto f>
void testDoubles(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) into.numbers[i] = f(a[0]->doubles[i], a[1]->doubles[i]);
}
template <auto f>
void testTexts(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) into.numbers[i] = f(a[0]->texts[i], a[1]->texts[i]);
}
template <auto f>
void longOfLong(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) into.numbers[i] = f(a[0]->numbers[i]);
}
template <auto f>
void longOfDouble(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    const double value = f(a[0]->doubles[i]);
    if (value >= -9.2e18 && value <= 9.2e18)
      into.numbers[i] = static_cast<int64_t>(value);
    else
      into.nulls[i] = 1;
  }
}
template <auto f>
void doubleOfDouble(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) into.doubles[i] = f(a[0]->doubles[i]);
}
template <auto f>
void longOfText(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) into.numbers[i] = f(a[0]->texts[i]);
}
template <auto f>
void textOfText(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) f(a[0]->texts[i], into.texts[i]);
}
template <auto f>
void textOfLong(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    into.texts[i].clear();
    f(a[0]->numbers[i], into.texts[i]);
  }
}

constexpr auto kLess = [](const auto& a, const auto& b) -> int64_t { return a < b; };
constexpr auto kLessOrEqual = [](const auto& a, const auto& b) -> int64_t { return a <= b; };
constexpr auto kGreater = [](const auto& a, const auto& b) -> int64_t { return a > b; };
constexpr auto kGreaterOrEqual = [](const auto& a, const auto& b) -> int64_t { return a >= b; };
constexpr auto kEqual = [](const auto& a, const auto& b) -> int64_t { return a == b; };
constexpr auto kNotEqual = [](const auto& a, const auto& b) -> int64_t { return a != b; };

// ---- whole numbers wrap as in Java -------------------------------------------------------------------------------------------
int64_t addLongs(int64_t a, int64_t b) { return wrap(bits(a) + bits(b)); }
int64_t subtractLongs(int64_t a, int64_t b) { return wrap(bits(a) - bits(b)); }
int64_t multiplyLongs(int64_t a, int64_t b) { return wrap(bits(a) * bits(b)); }
void divideLongs(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    const int64_t divisor = a[1]->numbers[i];
    if (divisor == 0)
      into.nulls[i] = 1;
    else
      into.numbers[i] = divisor == -1 ? wrap(-bits(a[0]->numbers[i])) : a[0]->numbers[i] / divisor;
  }
}
void remainderLongs(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    const int64_t divisor = a[1]->numbers[i];
    if (divisor == 0)
      into.nulls[i] = 1;
    else
      into.numbers[i] = divisor == -1 ? 0 : a[0]->numbers[i] % divisor;
  }
}

// ---- three-valued logic --------------------------------------------------------------------------------------------------------
template <bool absorbing>  // false absorbs in and, true in or
void logic(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    const bool nullX = a[0]->nulls[i], nullY = a[1]->nulls[i];
    const bool x = a[0]->numbers[i] != 0, y = a[1]->numbers[i] != 0;
    const bool absorbed = (!nullX && x == absorbing) || (!nullY && y == absorbing);
    into.numbers[i] = absorbed == absorbing;
    into.nulls[i] = !absorbed && (nullX || nullY);
  }
}
void isNullKernel(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    into.numbers[i] = a[0]->nulls[i];
    into.nulls[i] = 0;
  }
}

/// Copies value `row` where both have the type.
void copyValue(const ColumnVector& from, size_t row, ColumnVector& into) {
  into.nulls[row] = from.nulls[row];
  if (from.nulls[row]) return;
  if (!into.numbers.empty()) into.numbers[row] = from.numbers[row];
  if (!into.doubles.empty()) into.doubles[row] = from.doubles[row];
  if (!into.texts.empty()) into.texts[row] = from.texts[row];
}
void ifKernel(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) copyValue(*a[!a[0]->nulls[i] && a[0]->numbers[i] != 0 ? 1 : 2], i, into);
}
void coalesceKernel(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    size_t at = 0;
    while (at + 1 < a.size() && a[at]->nulls[i]) ++at;
    copyValue(*a[at], i, into);
  }
}
template <auto same>
void nullIfKernel(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    copyValue(*a[0], i, into);
    if (!a[0]->nulls[i] && !a[1]->nulls[i] && same(*a[0], *a[1], i)) into.nulls[i] = 1;
  }
}

// ---- text: positions are code points from 1 ------------------------------------------------------------------------------------
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }
int64_t codePoints(const std::string& text) { return std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }); }
size_t byteOf(const std::string& text, int64_t codePoint) {
  size_t at = 0;
  for (; codePoint > 0 && at < text.size(); --codePoint)
    for (++at; at < text.size() && continues(text[at]);) ++at;
  return at;
}
void substringKernel(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    const std::string& text = a[0]->texts[i];
    const int64_t from = std::max<int64_t>(a[1]->numbers[i], 1) - 1;
    const int64_t most = std::numeric_limits<int64_t>::max();
    const int64_t count = a.size() > 2 ? std::clamp<int64_t>(a[2]->numbers[i], 0, most - from) : most - from;
    const size_t begin = byteOf(text, from), end = byteOf(text, from + count);
    into.texts[i].assign(text, begin, end - begin);
  }
}
void concatKernel(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    into.texts[i].clear();
    for (const ColumnVector* argument : a) into.texts[i] += argument->texts[i];
  }
}
void replaceKernel(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    const std::string &text = a[0]->texts[i], &what = a[1]->texts[i];
    std::string& result = into.texts[i];
    result.clear();
    for (size_t at = 0;;) {
      const size_t found = what.empty() ? std::string::npos : text.find(what, at);
      result.append(text, at, found == std::string::npos ? found : found - at);
      if (found == std::string::npos) break;
      result += a[2]->texts[i];
      at = found + what.size();
    }
  }
}
void splitPartKernel(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    const std::string &text = a[0]->texts[i], &separator = a[1]->texts[i];
    int64_t part = a[2]->numbers[i];
    size_t at = 0, end = separator.empty() ? std::string::npos : text.find(separator);
    for (; part > 1 && end != std::string::npos; --part) {
      at = end + separator.size();
      end = text.find(separator, at);
    }
    if (part == 1)
      into.texts[i].assign(text, at, end == std::string::npos ? end : end - at);
    else
      into.nulls[i] = 1;
  }
}
template <int (*change)(int)>
void changeCase(const std::string& text, std::string& into) {
  into = text;  // ASCII only: the case of other letters depends on a language
  for (char& c : into)
    if (static_cast<unsigned char>(c) < 0x80) c = static_cast<char>(change(c));
}
int64_t contains(const std::string& a, const std::string& b) { return a.find(b) != std::string::npos; }
int64_t startsWith(const std::string& a, const std::string& b) { return a.starts_with(b); }
int64_t endsWith(const std::string& a, const std::string& b) { return a.ends_with(b); }
void trim(const std::string& text, std::string& into) {
  const size_t begin = text.find_first_not_of(' ');
  into = begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// ---- conversions ---------------------------------------------------------------------------------------------------------------
void widen(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) into.doubles[i] = static_cast<double>(a[0]->numbers[i]);
}
void keepInts(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    into.numbers[i] = a[0]->numbers[i];
    into.nulls[i] |= into.numbers[i] != static_cast<int32_t>(into.numbers[i]);
  }
}
template <class T>
void parseNumbers(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    const std::string& text = a[0]->texts[i];
    T value{};
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || at != text.data() + text.size())
      into.nulls[i] = 1;
    else if constexpr (std::is_same_v<T, double>)
      into.doubles[i] = value;
    else
      into.numbers[i] = value;
  }
}
void parseTimestamps(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    const auto parsed = parseTimestamp(a[0]->texts[i]);
    into.numbers[i] = parsed.value_or(0);
    into.nulls[i] |= !parsed;
  }
}
void textOfDouble(Arguments a, size_t rows, ColumnVector& into) {
  for (size_t i = 0; i < rows; ++i) {
    into.texts[i].clear();
    appendValue(into.texts[i], Value(a[0]->doubles[i]), kDouble);
  }
}
int64_t floorModulo(int64_t a, int64_t b) { return (a % b + b) % b; }

constexpr int64_t kDay = 86'400'000;

using Table = std::multimap<std::string, Overload, std::less<>>;

template <auto f>
void addComparison(Table& table, const std::string& sign) {
  table.insert({sign, {{kLong, kLong}, kBool, fromLongs<f>}});
  table.insert({sign, {{kDouble, kDouble}, kBool, testDoubles<f>}});
  table.insert({sign, {{kString, kString}, kBool, testTexts<f>}});
  table.insert({sign, {{kTimestamp, kTimestamp}, kBool, fromLongs<f>}});
}

void addOperators(Table& t) {
  addComparison<kLess>(t, "<");
  addComparison<kLessOrEqual>(t, "<=");
  addComparison<kGreater>(t, ">");
  addComparison<kGreaterOrEqual>(t, ">=");
  addComparison<kEqual>(t, "=");
  addComparison<kNotEqual>(t, "!=");
  t.insert({"=", {{kBool, kBool}, kBool, fromLongs<kEqual>}});
  t.insert({"!=", {{kBool, kBool}, kBool, fromLongs<kNotEqual>}});
  constexpr auto plus = [](double a, double b) { return a + b; };
  constexpr auto minus = [](double a, double b) { return a - b; };
  constexpr auto times = [](double a, double b) { return a * b; };
  constexpr auto by = [](double a, double b) { return a / b; };
  constexpr auto remainder = [](double a, double b) { return std::fmod(a, b); };
  t.insert({"+", {{kLong, kLong}, kLong, fromLongs<addLongs>}});
  t.insert({"+", {{kDouble, kDouble}, kDouble, fromDoubles<plus>}});
  t.insert({"+", {{kTimestamp, kLong}, kTimestamp, fromLongs<addLongs>}});
  t.insert({"-", {{kLong, kLong}, kLong, fromLongs<subtractLongs>}});
  t.insert({"-", {{kDouble, kDouble}, kDouble, fromDoubles<minus>}});
  t.insert({"-", {{kTimestamp, kTimestamp}, kLong, fromLongs<subtractLongs>}});
  t.insert({"-", {{kTimestamp, kLong}, kTimestamp, fromLongs<subtractLongs>}});
  t.insert({"*", {{kLong, kLong}, kLong, fromLongs<multiplyLongs>}});
  t.insert({"*", {{kDouble, kDouble}, kDouble, fromDoubles<times>}});
  t.insert({"/", {{kLong, kLong}, kLong, divideLongs, Nulls::kMayMake}});
  t.insert({"/", {{kDouble, kDouble}, kDouble, fromDoubles<by>}});
  t.insert({"%", {{kLong, kLong}, kLong, remainderLongs, Nulls::kMayMake}});
  t.insert({"%", {{kDouble, kDouble}, kDouble, fromDoubles<remainder>}});
  t.insert({"||", {{kString, kString}, kString, concatKernel}});
  t.insert({"negative", {{kLong}, kLong, longOfLong<[](int64_t a) { return wrap(-bits(a)); }>}});
  t.insert({"negative", {{kDouble}, kDouble, doubleOfDouble<[](double a) { return -a; }>}});
  t.insert({"and", {{kBool, kBool}, kBool, logic<false>, Nulls::kOwn}});
  t.insert({"or", {{kBool, kBool}, kBool, logic<true>, Nulls::kOwn}});
  t.insert({"not", {{kBool}, kBool, longOfLong<[](int64_t a) { return static_cast<int64_t>(a == 0); }>}});
}

void addConditions(Table& t) {
  for (const ColumnType type : {kBool, kInt, kLong, kDouble, kString, kTimestamp}) {
    t.insert({"is null", {{type}, kBool, isNullKernel, Nulls::kNever}});
    t.insert({"if", {{kBool, type, type}, type, ifKernel, Nulls::kOwn}});
    t.insert({"coalesce", {{type, type}, type, coalesceKernel, Nulls::kOwn, true}});
  }
  constexpr auto sameLong = [](const ColumnVector& a, const ColumnVector& b, size_t i) { return a.numbers[i] == b.numbers[i]; };
  constexpr auto sameDouble = [](const ColumnVector& a, const ColumnVector& b, size_t i) { return a.doubles[i] == b.doubles[i]; };
  constexpr auto sameText = [](const ColumnVector& a, const ColumnVector& b, size_t i) { return a.texts[i] == b.texts[i]; };
  t.insert({"nullif", {{kLong, kLong}, kLong, nullIfKernel<sameLong>, Nulls::kOwn}});
  t.insert({"nullif", {{kDouble, kDouble}, kDouble, nullIfKernel<sameDouble>, Nulls::kOwn}});
  t.insert({"nullif", {{kString, kString}, kString, nullIfKernel<sameText>, Nulls::kOwn}});
}

void addNumberFunctions(Table& t) {
  t.insert({"abs", {{kLong}, kLong, longOfLong<[](int64_t a) { return a < 0 ? wrap(-bits(a)) : a; }>}});
  t.insert({"abs", {{kDouble}, kDouble, doubleOfDouble<[](double a) { return std::fabs(a); }>}});
  t.insert({"floor", {{kDouble}, kLong, longOfDouble<[](double a) { return std::floor(a); }>, Nulls::kMayMake}});
  t.insert({"ceil", {{kDouble}, kLong, longOfDouble<[](double a) { return std::ceil(a); }>, Nulls::kMayMake}});
  t.insert({"round", {{kDouble}, kLong, longOfDouble<[](double a) { return std::round(a); }>, Nulls::kMayMake}});
  t.insert({"sqrt", {{kDouble}, kDouble, doubleOfDouble<[](double a) { return std::sqrt(a); }>}});
  t.insert({"power", {{kDouble, kDouble}, kDouble, fromDoubles<[](double a, double b) { return std::pow(a, b); }>}});
  constexpr auto least = [](auto a, auto b) { return b < a ? b : a; };
  constexpr auto greatest = [](auto a, auto b) { return a < b ? b : a; };
  t.insert({"least", {{kLong, kLong}, kLong, fromLongs<least>}});
  t.insert({"least", {{kDouble, kDouble}, kDouble, fromDoubles<least>}});
  t.insert({"greatest", {{kLong, kLong}, kLong, fromLongs<greatest>}});
  t.insert({"greatest", {{kDouble, kDouble}, kDouble, fromDoubles<greatest>}});
}

void addTextFunctions(Table& t) {
  t.insert({"length", {{kString}, kLong, longOfText<codePoints>}});
  t.insert({"upper", {{kString}, kString, textOfText<changeCase<std::toupper>>}});
  t.insert({"lower", {{kString}, kString, textOfText<changeCase<std::tolower>>}});
  t.insert({"trim", {{kString}, kString, textOfText<trim>}});
  t.insert({"substring", {{kString, kLong}, kString, substringKernel}});
  t.insert({"substring", {{kString, kLong, kLong}, kString, substringKernel}});
  t.insert({"concat", {{kString}, kString, concatKernel, Nulls::kStrict, true}});
  t.insert({"contains", {{kString, kString}, kBool, testTexts<contains>}});
  t.insert({"starts_with", {{kString, kString}, kBool, testTexts<startsWith>}});
  t.insert({"ends_with", {{kString, kString}, kBool, testTexts<endsWith>}});
  t.insert({"replace", {{kString, kString, kString}, kString, replaceKernel}});
  t.insert({"split_part", {{kString, kString, kLong}, kString, splitPartKernel, Nulls::kMayMake}});
  t.insert({"hash", {{kString}, kInt, longOfText<[](const std::string& text) -> int64_t { return javaHash(text); }>}});
}

void addConversions(Table& t) {
  constexpr auto same = [](int64_t a) { return a; };
  constexpr auto appendLong = [](int64_t a, std::string& into) { appendValue(into, Value(a), kLong); };
  constexpr auto appendBool = [](int64_t a, std::string& into) { into += a != 0 ? "true" : "false"; };
  t.insert({"int", {{kLong}, kInt, keepInts, Nulls::kMayMake}});
  t.insert({"int", {{kString}, kInt, parseNumbers<int32_t>, Nulls::kMayMake}});
  t.insert({"long", {{kLong}, kLong, longOfLong<same>}});
  t.insert({"long", {{kDouble}, kLong, longOfDouble<[](double a) { return std::trunc(a); }>, Nulls::kMayMake}});
  t.insert({"long", {{kString}, kLong, parseNumbers<int64_t>, Nulls::kMayMake}});
  t.insert({"long", {{kTimestamp}, kLong, longOfLong<same>}});
  t.insert({"double", {{kDouble}, kDouble, doubleOfDouble<[](double a) { return a; }>}});
  t.insert({"double", {{kString}, kDouble, parseNumbers<double>, Nulls::kMayMake}});
  t.insert({"string", {{kString}, kString, textOfText<[](const std::string& text, std::string& into) { into = text; }>}});
  t.insert({"string", {{kLong}, kString, textOfLong<appendLong>}});
  t.insert({"string", {{kDouble}, kString, textOfDouble}});
  t.insert({"string", {{kBool}, kString, textOfLong<appendBool>}});
  t.insert({"string", {{kTimestamp}, kString, textOfLong<[](int64_t a, std::string& into) { appendTimestamp(into, a); }>}});
  t.insert({"timestamp", {{kLong}, kTimestamp, longOfLong<same>}});
  t.insert({"timestamp", {{kString}, kTimestamp, parseTimestamps, Nulls::kMayMake}});
  t.insert({"hour", {{kTimestamp}, kLong, longOfLong<[](int64_t a) { return floorModulo(a, kDay) / 3'600'000; }>}});
  constexpr auto appendDate = [](int64_t a, std::string& into) {
    appendTimestamp(into, a - floorModulo(a, kDay));
    into.resize(std::min(into.find('T'), into.size()));
  };
  t.insert({"date", {{kTimestamp}, kString, textOfLong<appendDate>}});
}

const Table& table() {
  static const Table all = [] {
    Table t;
    addOperators(t);
    addConditions(t);
    addNumberFunctions(t);
    addTextFunctions(t);
    addConversions(t);
    t.insert({"widen", {{kLong}, kDouble, widen}});
    return t;
  }();
  return all;
}

// ---- nodes -----------------------------------------------------------------------------------------------------------------------
class CallNode final : public ExpressionNode {
 public:
  CallNode(const Overload& overload, bool nullable, std::vector<ExpressionPointer> arguments)
      : ExpressionNode(overload.result, nullable, 1 + heightOf(arguments)), overload_(overload), arguments_(std::move(arguments)) {}

  void evaluate(RowBatch rows, ExpressionScratch& scratch, ColumnVector& into) const override {
    const size_t mark = scratch.mark();
    std::vector<const ColumnVector*> values;
    for (const auto& argument : arguments_) {
      ColumnVector& value = scratch.take();
      argument->evaluate(rows, scratch, value);
      values.push_back(&value);
    }
    into.resize(type(), rows.size());
    if (overload_.nulls == Nulls::kStrict || overload_.nulls == Nulls::kMayMake)
      for (const ColumnVector* value : values)
        for (size_t i = 0; i < rows.size(); ++i) into.nulls[i] |= value->nulls[i];
    overload_.kernel(values, rows.size(), into);
    scratch.release(mark);
  }

 private:
  static int heightOf(const std::vector<ExpressionPointer>& arguments) {
    int height = 0;
    for (const auto& argument : arguments) height = std::max(height, argument->height());
    return height;
  }

  const Overload& overload_;
  std::vector<ExpressionPointer> arguments_;
};

class ColumnNode final : public ExpressionNode {
 public:
  ColumnNode(size_t index, const Column& column) : ExpressionNode(column.type, column.nullable, 1), index_(index) {}
  void evaluate(RowBatch rows, ExpressionScratch&, ColumnVector& into) const override {
    into.resize(type(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const Value& value = rows[i].value.values[index_];
      switch (value.index()) {
        case 0: into.nulls[i] = 1; break;
        case 1: into.numbers[i] = std::get<bool>(value); break;
        case 2: into.numbers[i] = std::get<int32_t>(value); break;
        case 3: into.numbers[i] = std::get<int64_t>(value); break;
        case 4: into.doubles[i] = std::get<double>(value); break;
        default: into.texts[i] = std::get<std::string>(value);
      }
    }
  }

 private:
  size_t index_;
};

class LiteralNode final : public ExpressionNode {
 public:
  LiteralNode(Value value, ColumnType type) : ExpressionNode(type, false, 1), value_(std::move(value)) {}
  void evaluate(RowBatch rows, ExpressionScratch&, ColumnVector& into) const override {
    into.resize(type(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      if (const auto* text = std::get_if<std::string>(&value_))
        into.texts[i] = *text;
      else if (const auto* number = std::get_if<double>(&value_))
        into.doubles[i] = *number;
      else
        into.numbers[i] = std::holds_alternative<bool>(value_) ? std::get<bool>(value_) : std::get<int64_t>(value_);
    }
  }

 private:
  Value value_;
};

bool takes(ColumnType wanted, ColumnType given) {
  return wanted == given || (wanted == kLong && given == kInt) || (wanted == kDouble && (given == kInt || given == kLong));
}

bool fits(const Overload& overload, const std::vector<ExpressionPointer>& arguments) {
  if (arguments.size() < overload.arguments.size() || (arguments.size() > overload.arguments.size() && !overload.repeats)) return false;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!takes(overload.arguments[std::min(i, overload.arguments.size() - 1)], arguments[i]->type())) return false;
  return true;
}

bool isSign(const std::string& name) { return !(name[0] >= 'a' && name[0] <= 'z') || name == "and" || name == "or" || name == "not"; }

Error noSuchCall(const std::string& name, const std::vector<ExpressionPointer>& arguments) {
  std::string given;
  for (const auto& argument : arguments) given += (given.empty() ? "" : ", ") + std::string(toString(argument->type()));
  const auto [begin, end] = table().equal_range(name);
  std::vector<std::string> known;
  if (begin == end) {
    for (const auto& [word, overload] : table())
      if (!isSign(word) && word != "is null" && word != "negative" && word != "widen" && (known.empty() || known.back() != word))
        known.push_back(word);
    const std::string close = nearest(name, known);
    return {ErrorCode::kInvalidArgument, close.empty()
                                             ? fmt::format("there is no function '{}'; {} are known", name, fmt::join(known, ", "))
                                             : fmt::format("there is no function '{}': did you mean '{}'?", name, close)};
  }
  for (auto at = begin; at != end; ++at) {
    std::string types;
    for (const ColumnType type : at->second.arguments) types += (types.empty() ? "" : ", ") + std::string(toString(type));
    known.push_back("(" + types + (at->second.repeats ? ", ..." : "") + ")");
  }
  const std::string what = name == "negative"                  ? "'-'"
                           : isSign(name) || name == "is null" ? "'" + name + "'"
                                                               : "the function '" + name + "'";
  return {ErrorCode::kInvalidArgument, fmt::format("{} does not take ({}); it takes {}", what, given, fmt::join(known, " or "))};
}

}  // namespace

void ColumnVector::resize(ColumnType type, size_t rows) {
  nulls.assign(rows, 0);
  numbers.resize(type == kDouble || type == kString ? 0 : rows);
  doubles.resize(type == kDouble ? rows : 0);
  texts.resize(type == kString ? rows : 0);
}

void storeValue(const ColumnVector& vector, ColumnType type, size_t row, Value& into) {
  if (vector.nulls[row]) {
    into.emplace<std::monostate>();
    return;
  }
  switch (type) {
    case kBool: into = vector.numbers[row] != 0; break;
    case kInt: into = static_cast<int32_t>(vector.numbers[row]); break;
    case kLong:
    case kTimestamp: into = vector.numbers[row]; break;
    case kDouble: into = vector.doubles[row]; break;
    case kString: into = vector.texts[row]; break;
  }
}

ExpressionPointer makeColumn(size_t index, const Column& column) { return std::make_shared<ColumnNode>(index, column); }
ExpressionPointer makeLiteral(Value value, ColumnType type) { return std::make_shared<LiteralNode>(std::move(value), type); }

Result<ExpressionPointer> makeCall(const std::string& name, std::vector<ExpressionPointer> arguments) {
  const auto [begin, end] = table().equal_range(name);
  for (auto at = begin; at != end; ++at) {
    const Overload& overload = at->second;
    if (!fits(overload, arguments)) continue;
    bool nullable = overload.nulls == Nulls::kMayMake || name == "nullif";
    bool allNullable = true;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ColumnType wanted = overload.arguments[std::min(i, overload.arguments.size() - 1)];
      if (wanted == kDouble && arguments[i]->type() != kDouble) {
        WEIR_ASSIGN(arguments[i], makeCall("widen", {arguments[i]}));
      }
      allNullable &= arguments[i]->nullable();
      nullable |= arguments[i]->nullable() && !(name == "if" && i == 0);
    }
    if (name == "coalesce") nullable = allNullable;
    if (overload.nulls == Nulls::kNever) nullable = false;
    return ExpressionPointer(std::make_shared<CallNode>(overload, nullable, std::move(arguments)));
  }
  return noSuchCall(name, arguments);
}

}  // namespace weir
