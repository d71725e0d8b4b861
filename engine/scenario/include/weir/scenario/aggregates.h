#pragma once

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "weir/aggregate/aggregate_function.h"
#include "weir/aggregate/distinct.h"
#include "weir/aggregate/numbers.h"
#include "weir/aggregate/percentile.h"
#include "weir/scenario/schema.h"

namespace weir {

struct ValueLess {
  bool operator()(const Value& a, const Value& b) const { return compareValues(a, b) < 0; }
};

/// The accumulator of one aggregate whose type is known only at run time. std::monostate: no value yet.
struct AnyAccumulator {
  using Values = std::vector<Value>;
  using ValueSet = std::set<Value, ValueLess>;
  using Registers = std::vector<uint8_t>;
  std::variant<std::monostate, int64_t, double, SumAndCount<int64_t>, SumAndCount<double>, Moments, Value, ValueSet, Registers, Values,
               PercentileBuckets>
      held;
  bool operator==(const AnyAccumulator&) const = default;
};

namespace detail {
/// Which alternative it holds, then that one as its type is written.
struct AccumulatorLayout {
  static size_t maxSize(const AnyAccumulator& value);
  static uint8_t* write(uint8_t* at, const AnyAccumulator& value);
  static bool read(DataInput& in, AnyAccumulator& into);
};
}  // namespace detail
template <>
struct Serializer<AnyAccumulator> : detail::FramedSerializer<AnyAccumulator, detail::AccumulatorLayout> {};

/// Those of all aggregates of an operator.
struct RowAccumulator {
  std::vector<AnyAccumulator> columns;
  WEIR_FIELDS(columns)
  bool operator==(const RowAccumulator&) const = default;
};

/// The words that name an aggregate in a job file.
std::vector<std::string> aggregateWords();

/// One aggregate over a column of rows, chosen by name. Null values do not count; without values the result is null, that of counts 0.
class ColumnAggregate {
 public:
  enum class Kind : uint8_t {
    kCount, kSum, kMin, kMax, kAvg, kVariance, kStddev, kDistinct, kDistinctSketch, kTop, kFirst, kLast, kCollect, kPercentile, kExponential
  };

  /// An error (the end of a sentence) where the function cannot take this column. `column`: none for count of rows.
  static Result<ColumnAggregate> create(const std::string& function, std::optional<size_t> column, const Schema& schema, double parameter);
  /// The name of its parameter (at, n), empty where it has none.
  static std::string parameterOf(const std::string& function);
  static double defaultParameterOf(const std::string& function);

  Kind kind() const { return kind_; }
  const std::string& function() const { return function_; }
  const std::optional<size_t>& column() const { return column_; }
  ColumnType resultType() const { return resultType_; }
  bool resultNullable() const { return resultNullable_; }
  /// For the types at hand: a sum of doubles is not exact, one of longs is.
  const AggregateTraits& traits() const { return traits_; }

  void add(AnyAccumulator& accumulator, const Row& row) const;
  /// Requires: traits().mergeable.
  void merge(AnyAccumulator& into, const AnyAccumulator& other) const;
  Value result(const AnyAccumulator& accumulator) const;

 private:
  ColumnAggregate() = default;
  void addValue(AnyAccumulator& accumulator, const Value& value) const;

  Kind kind_ = Kind::kCount;
  std::string function_;
  std::optional<size_t> column_;
  bool whole_ = false;  ///< the column holds whole numbers
  ColumnType inputType_ = ColumnType::kLong, resultType_ = ColumnType::kLong;
  bool resultNullable_ = false;
  double parameter_ = 0;
  AggregateTraits traits_;
};

/// All aggregates of an operator as one function, for the window operators and for two stages.
struct RowAggregate {
  using In = Row;
  using Acc = RowAccumulator;
  using Out = std::vector<Value>;
  /// Who puts aggregates into two stages, or windows that merge, asks traits() before.
  static constexpr AggregateTraits kTraits{.mergeable = true};

  std::vector<ColumnAggregate> aggregates;

  /// What holds of all of them.
  AggregateTraits traits() const;
  Acc createAccumulator() const { return {std::vector<AnyAccumulator>(aggregates.size())}; }
  void add(Acc& acc, const Row& row) const {
    for (size_t i = 0; i < aggregates.size(); ++i) aggregates[i].add(acc.columns[i], row);
  }
  void merge(Acc& into, const Acc& other) const {
    for (size_t i = 0; i < aggregates.size(); ++i) aggregates[i].merge(into.columns[i], other.columns[i]);
  }
  Out getResult(const Acc& acc) const;
};

}  // namespace weir
