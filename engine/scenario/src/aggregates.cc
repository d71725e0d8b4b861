#include "weir/scenario/aggregates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weir/aggregate/collections.h"
#include "weir/base/check.h"

namespace weir {
namespace {

using Kind = ColumnAggregate::Kind;

/// What a column must be for a function.
enum class Takes { kAnything, kNumbers, kOrdered };

struct Known {
  const char* word;
  Kind kind;
  Takes takes;
  const char* parameter;  ///< null: none
  double standard;
};
constexpr Known kKnown[] = {
    {"count", Kind::kCount, Takes::kAnything, nullptr, 0},
    {"sum", Kind::kSum, Takes::kNumbers, nullptr, 0},
    {"min", Kind::kMin, Takes::kOrdered, nullptr, 0},
    {"max", Kind::kMax, Takes::kOrdered, nullptr, 0},
    {"avg", Kind::kAvg, Takes::kNumbers, nullptr, 0},
    {"variance", Kind::kVariance, Takes::kNumbers, nullptr, 0},
    {"stddev", Kind::kStddev, Takes::kNumbers, nullptr, 0},
    {"distinct", Kind::kDistinct, Takes::kAnything, nullptr, 0},
    {"distinct-sketch", Kind::kDistinctSketch, Takes::kAnything, nullptr, 0},
    {"top", Kind::kTop, Takes::kOrdered, "n", 3},
    {"first", Kind::kFirst, Takes::kAnything, nullptr, 0},
    {"last", Kind::kLast, Takes::kAnything, nullptr, 0},
    {"collect", Kind::kCollect, Takes::kAnything, nullptr, 0},
    {"percentile", Kind::kPercentile, Takes::kNumbers, "at", 0.5},
    {"exponential-average", Kind::kExponential, Takes::kNumbers, "alpha", 0.1},
};

const Known* find(const std::string& word) {
  const auto found = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return word == k.word; });
  return found == std::end(kKnown) ? nullptr : found;
}

template <class T>
T& alternative(AnyAccumulator& accumulator) {
  if (T* held = std::get_if<T>(&accumulator.held)) return *held;
  return accumulator.held.emplace<T>();
}

int64_t wholeOf(const Value& value) {
  if (const auto* number = std::get_if<int32_t>(&value)) return *number;
  return std::get<int64_t>(value);
}
double numberOf(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return static_cast<double>(wholeOf(value));
}

/// The larger ones first, so that the list is the ranking.
void insertTop(AnyAccumulator::Values& values, const Value& value, size_t most) {
  const auto after = [](const Value& a, const Value& b) { return compareValues(a, b) > 0; };
  if (values.size() >= most && !after(value, values.back())) return;
  values.insert(std::upper_bound(values.begin(), values.end(), value, after), value);
  if (values.size() > most) values.pop_back();
}

std::string listOf(const AnyAccumulator::Values& values, ColumnType type) {
  std::string text = "[";
  for (const Value& value : values) {
    if (text.size() > 1) text += ", ";
    appendValue(text, value, type);
  }
  return text + "]";
}

AggregateTraits traitsOf(Kind kind, bool whole) {
  switch (kind) {
    case Kind::kCount: return Count<int64_t>::kTraits;
    case Kind::kSum: return whole ? Sum<int64_t>::kTraits : Sum<double>::kTraits;
    case Kind::kMin:
    case Kind::kMax: return Min<int64_t>::kTraits;
    case Kind::kAvg: return whole ? Avg<int64_t>::kTraits : Avg<double>::kTraits;
    case Kind::kVariance:
    case Kind::kStddev: return Variance<>::kTraits;
    case Kind::kDistinct: return DistinctExact<int64_t>::kTraits;
    case Kind::kDistinctSketch: return DistinctSketch<int64_t>::kTraits;
    case Kind::kTop: return TopN<int64_t>::kTraits;
    case Kind::kFirst:
    case Kind::kLast:
    case Kind::kCollect: return Collect<int64_t>::kTraits;
    case Kind::kPercentile: return Percentile::kTraits;
    case Kind::kExponential: return ExponentialAverage::kTraits;
  }
  __builtin_unreachable();
}

template <size_t index = 0>
bool readAlternative(DataInput& in, size_t which, AnyAccumulator& into) {
  using Held = decltype(into.held);
  if constexpr (index < std::variant_size_v<Held>) {
    if (which != index) return readAlternative<index + 1>(in, which, into);
    using T = std::variant_alternative_t<index, Held>;
    if constexpr (std::is_same_v<T, std::monostate>)
      return into.held.emplace<T>(), in.ok();
    else
      return Serializer<T>::read(in, alternative<T>(into));
  } else {
    return in.fail("holds an accumulator of an unknown kind");
  }
}

}  // namespace

size_t detail::AccumulatorLayout::maxSize(const AnyAccumulator& value) {
  return 1 + std::visit(
                 []<class T>(const T& held) -> size_t {
                   if constexpr (std::is_same_v<T, std::monostate>)
                     return 0;
                   else
                     return Serializer<T>::maxSize(held);
                 },
                 value.held);
}
uint8_t* detail::AccumulatorLayout::write(uint8_t* at, const AnyAccumulator& value) {
  *at++ = static_cast<uint8_t>(value.held.index());
  return std::visit(
      [at]<class T>(const T& held) {
        if constexpr (std::is_same_v<T, std::monostate>)
          return at;
        else
          return Serializer<T>::write(at, held);
      },
      value.held);
}
bool detail::AccumulatorLayout::read(DataInput& in, AnyAccumulator& into) {
  const uint8_t which = in.readUnsignedByte();
  return in.ok() && readAlternative(in, which, into);
}

std::vector<std::string> aggregateWords() {
  std::vector<std::string> words;
  for (const Known& known : kKnown) words.emplace_back(known.word);
  return words;
}

std::string ColumnAggregate::parameterOf(const std::string& function) {
  const Known* known = find(function);
  return known && known->parameter ? known->parameter : "";
}
double ColumnAggregate::defaultParameterOf(const std::string& function) {
  const Known* known = find(function);
  return known ? known->standard : 0;
}

Result<ColumnAggregate> ColumnAggregate::create(const std::string& function, std::optional<size_t> column, const Schema& schema,
                                                double parameter) {
  const auto wrong = [](std::string sentence) { return Error{ErrorCode::kInvalidArgument, std::move(sentence)}; };
  const Known* known = find(function);
  if (!known) return wrong("there is no aggregate '" + function + "'");
  ColumnAggregate result;
  result.kind_ = known->kind;
  result.function_ = function;
  result.column_ = column;
  result.parameter_ = parameter;
  if (!column && known->kind != Kind::kCount) return wrong(fmt::format("{} needs a column: write {{{}: COLUMN}}", function, function));
  const Column of = column ? schema[*column] : Column{"*", ColumnType::kLong, false};
  const bool isNumber = of.type == ColumnType::kInt || of.type == ColumnType::kLong || of.type == ColumnType::kDouble;
  if (known->takes == Takes::kNumbers && !isNumber)
    return wrong(fmt::format("{} takes numbers, and column '{}' is a {}", function, of.name, of.typeText()));
  if (known->takes == Takes::kOrdered && of.type == ColumnType::kBool)
    return wrong(fmt::format("{} takes numbers, text and timestamps, and column '{}' is a {}", function, of.name, of.typeText()));
  if (known->kind == Kind::kTop && (parameter < 1 || parameter > 10'000 || parameter != std::floor(parameter)))
    return wrong("'n' of top is a whole number from 1 to 10000");
  if (known->kind == Kind::kPercentile && !(parameter >= 0 && parameter <= 1)) return wrong("'at' of percentile is a number from 0 to 1");
  if (known->kind == Kind::kExponential && !(parameter > 0 && parameter <= 1)) return wrong("'alpha' is a number above 0 and up to 1");
  result.inputType_ = of.type;
  result.whole_ = of.type != ColumnType::kDouble;
  result.traits_ = traitsOf(known->kind, result.whole_);
  result.resultNullable_ = of.nullable;
  switch (known->kind) {
    case Kind::kCount:
    case Kind::kDistinct:
    case Kind::kDistinctSketch:
      result.resultType_ = ColumnType::kLong;
      result.resultNullable_ = false;
      break;
    case Kind::kSum: result.resultType_ = result.whole_ ? ColumnType::kLong : ColumnType::kDouble; break;
    case Kind::kMin:
    case Kind::kMax:
    case Kind::kFirst:
    case Kind::kLast: result.resultType_ = of.type; break;
    case Kind::kTop:
    case Kind::kCollect: result.resultType_ = ColumnType::kString; break;
    case Kind::kAvg:
    case Kind::kVariance:
    case Kind::kStddev:
    case Kind::kPercentile:
    case Kind::kExponential: result.resultType_ = ColumnType::kDouble;
  }
  return result;
}

void ColumnAggregate::add(AnyAccumulator& accumulator, const Row& row) const {
  if (!column_) {
    Count<int64_t>().add(alternative<int64_t>(accumulator), 0);
    return;
  }
  const Value& value = row.values[*column_];
  if (!isNull(value)) addValue(accumulator, value);
}

void ColumnAggregate::addValue(AnyAccumulator& accumulator, const Value& value) const {
  switch (kind_) {
    case Kind::kCount: Count<int64_t>().add(alternative<int64_t>(accumulator), 0); break;
    case Kind::kSum:
      if (whole_)
        Sum<int64_t>().add(alternative<int64_t>(accumulator), wholeOf(value));
      else
        Sum<double>().add(alternative<double>(accumulator), std::get<double>(value));
      break;
    case Kind::kAvg:
      if (whole_)
        Avg<int64_t>().add(alternative<SumAndCount<int64_t>>(accumulator), wholeOf(value));
      else
        Avg<double>().add(alternative<SumAndCount<double>>(accumulator), std::get<double>(value));
      break;
    case Kind::kMin:
    case Kind::kMax: {
      const auto* held = std::get_if<Value>(&accumulator.held);
      const auto order = held ? compareValues(value, *held) : std::strong_ordering::equal;
      if (!held || (kind_ == Kind::kMin ? order < 0 : order > 0)) accumulator.held = value;
      break;
    }
    case Kind::kVariance:
    case Kind::kStddev: Variance<>().add(alternative<Moments>(accumulator), numberOf(value)); break;
    case Kind::kDistinct: alternative<AnyAccumulator::ValueSet>(accumulator).insert(value); break;
    case Kind::kDistinctSketch:
      DistinctSketch<Value>().add(alternative<AnyAccumulator::Registers>(accumulator), value);
      break;
    case Kind::kTop: insertTop(alternative<AnyAccumulator::Values>(accumulator), value, static_cast<size_t>(parameter_)); break;
    case Kind::kFirst:
      if (std::holds_alternative<std::monostate>(accumulator.held)) accumulator.held = value;
      break;
    case Kind::kLast: accumulator.held = value; break;
    case Kind::kCollect: alternative<AnyAccumulator::Values>(accumulator).push_back(value); break;
    case Kind::kPercentile: Percentile{parameter_}.add(alternative<PercentileBuckets>(accumulator), numberOf(value)); break;
    case Kind::kExponential: {
      std::optional<double> so_far;
      if (const auto* held = std::get_if<double>(&accumulator.held)) so_far = *held;
      ExponentialAverage{parameter_}.add(so_far, numberOf(value));
      accumulator.held = *so_far;
    }
  }
}

void ColumnAggregate::merge(AnyAccumulator& into, const AnyAccumulator& other) const {
  if (std::holds_alternative<std::monostate>(other.held)) return;
  if (std::holds_alternative<std::monostate>(into.held)) {
    into = other;
    return;
  }
  switch (kind_) {
    case Kind::kCount: Count<int64_t>().merge(std::get<int64_t>(into.held), std::get<int64_t>(other.held)); break;
    case Kind::kSum:
      if (whole_)
        Sum<int64_t>().merge(std::get<int64_t>(into.held), std::get<int64_t>(other.held));
      else
        Sum<double>().merge(std::get<double>(into.held), std::get<double>(other.held));
      break;
    case Kind::kAvg:
      if (whole_)
        Avg<int64_t>().merge(std::get<SumAndCount<int64_t>>(into.held), std::get<SumAndCount<int64_t>>(other.held));
      else
        Avg<double>().merge(std::get<SumAndCount<double>>(into.held), std::get<SumAndCount<double>>(other.held));
      break;
    case Kind::kMin:
    case Kind::kMax: addValue(into, std::get<Value>(other.held)); break;
    case Kind::kVariance:
    case Kind::kStddev: Variance<>().merge(std::get<Moments>(into.held), std::get<Moments>(other.held)); break;
    case Kind::kDistinct: {
      const auto& values = std::get<AnyAccumulator::ValueSet>(other.held);
      std::get<AnyAccumulator::ValueSet>(into.held).insert(values.begin(), values.end());
      break;
    }
    case Kind::kDistinctSketch:
      DistinctSketch<Value>().merge(std::get<AnyAccumulator::Registers>(into.held), std::get<AnyAccumulator::Registers>(other.held));
      break;
    case Kind::kTop:
      for (const Value& value : std::get<AnyAccumulator::Values>(other.held)) addValue(into, value);
      break;
    case Kind::kFirst: break;
    case Kind::kLast: into = other; break;
    case Kind::kCollect: {
      const auto& values = std::get<AnyAccumulator::Values>(other.held);
      auto& all = std::get<AnyAccumulator::Values>(into.held);
      all.insert(all.end(), values.begin(), values.end());
      break;
    }
    case Kind::kPercentile:
      Percentile{parameter_}.merge(std::get<PercentileBuckets>(into.held), std::get<PercentileBuckets>(other.held));
      break;
    case Kind::kExponential: checkFailed(__FILE__, __LINE__, "merge", "exponential averages cannot be merged");
  }
}

Value ColumnAggregate::result(const AnyAccumulator& accumulator) const {
  const bool isCount = kind_ == Kind::kCount || kind_ == Kind::kDistinct || kind_ == Kind::kDistinctSketch;
  if (std::holds_alternative<std::monostate>(accumulator.held)) return isCount ? Value(int64_t{0}) : Value();
  switch (kind_) {
    case Kind::kCount: return std::get<int64_t>(accumulator.held);
    case Kind::kSum: return whole_ ? Value(std::get<int64_t>(accumulator.held)) : Value(std::get<double>(accumulator.held));
    case Kind::kAvg:
      return whole_ ? Avg<int64_t>().getResult(std::get<SumAndCount<int64_t>>(accumulator.held))
                    : Avg<double>().getResult(std::get<SumAndCount<double>>(accumulator.held));
    case Kind::kMin:
    case Kind::kMax:
    case Kind::kFirst:
    case Kind::kLast: return std::get<Value>(accumulator.held);
    case Kind::kVariance: return Variance<>().getResult(std::get<Moments>(accumulator.held));
    case Kind::kStddev: return std::sqrt(Variance<>().getResult(std::get<Moments>(accumulator.held)));
    case Kind::kDistinct: return static_cast<int64_t>(std::get<AnyAccumulator::ValueSet>(accumulator.held).size());
    case Kind::kDistinctSketch: return DistinctSketch<Value>().getResult(std::get<AnyAccumulator::Registers>(accumulator.held));
    case Kind::kTop:
    case Kind::kCollect: return listOf(std::get<AnyAccumulator::Values>(accumulator.held), inputType_);
    case Kind::kPercentile: return Percentile{parameter_}.getResult(std::get<PercentileBuckets>(accumulator.held));
    case Kind::kExponential: return std::get<double>(accumulator.held);
  }
  __builtin_unreachable();
}

AggregateTraits RowAggregate::traits() const {
  AggregateTraits all{.associative = true, .commutative = true, .mergeable = true, .exact = true, .orderSensitive = false};
  for (const ColumnAggregate& one : aggregates) {
    all.associative &= one.traits().associative;
    all.commutative &= one.traits().commutative;
    all.mergeable &= one.traits().mergeable;
    all.exact &= one.traits().exact;
    all.orderSensitive |= one.traits().orderSensitive;
  }
  return all;
}

RowAggregate::Out RowAggregate::getResult(const Acc& acc) const {
  Out values;
  values.reserve(aggregates.size());
  for (size_t i = 0; i < aggregates.size(); ++i) values.push_back(aggregates[i].result(acc.columns[i]));
  return values;
}

}  // namespace weir
