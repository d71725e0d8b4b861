#include "weir/scenario/aggregates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using ::testing::HasSubstr;

const Schema kSchema({{"name", ColumnType::kString}, {"whole", ColumnType::kInt, true}, {"real", ColumnType::kDouble}});

ColumnAggregate made(const std::string& function, const std::string& column) {
  auto created = ColumnAggregate::create(function, kSchema.find(column), kSchema, ColumnAggregate::defaultParameterOf(function));
  EXPECT_TRUE(created.has_value()) << function;
  return *created;
}
std::vector<Row> rows() {
  return {{{Value(std::string("b")), Value(int32_t{3}), Value(0.5)}},
          {{Value(std::string("a")), Value(), Value(-1.5)}},
          {{Value(std::string("b")), Value(int32_t{5}), Value(4.0)}},
          {{Value(std::string("c")), Value(int32_t{-2}), Value(1.0)}}};
}
std::string text(const Value& value, ColumnType type) {
  std::string out;
  appendValue(out, value, type);
  return out;
}
std::string resultOf(const std::string& function, const std::string& column) {
  const ColumnAggregate aggregate = made(function, column);
  AnyAccumulator accumulator;
  for (const Row& row : rows()) aggregate.add(accumulator, row);
  return text(aggregate.result(accumulator), aggregate.resultType());
}

TEST(ColumnAggregate, EachFunctionByItsName) {
  EXPECT_EQ(resultOf("count", "whole"), "3") << "null does not count";
  EXPECT_EQ(resultOf("sum", "whole"), "6");
  EXPECT_EQ(resultOf("sum", "real"), "4");
  EXPECT_EQ(resultOf("min", "name"), "a");
  EXPECT_EQ(resultOf("max", "whole"), "5");
  EXPECT_EQ(resultOf("avg", "whole"), "2");
  EXPECT_EQ(resultOf("avg", "real"), "1");
  EXPECT_EQ(resultOf("distinct", "name"), "3");
  EXPECT_EQ(resultOf("distinct-sketch", "name"), "3");
  EXPECT_EQ(resultOf("top", "whole"), "[5, 3, -2]");
  EXPECT_EQ(resultOf("first", "name"), "b");
  EXPECT_EQ(resultOf("last", "name"), "c");
  EXPECT_EQ(resultOf("collect", "name"), "[b, a, b, c]");
}

TEST(ColumnAggregate, WithoutAnyValueOnlyCountsHaveAResult) {
  EXPECT_EQ(made("count", "whole").result({}), Value(int64_t{0}));
  EXPECT_EQ(made("distinct", "whole").result({}), Value(int64_t{0}));
  EXPECT_EQ(made("sum", "whole").result({}), Value());
  EXPECT_EQ(made("avg", "whole").result({}), Value());
}

TEST(ColumnAggregate, WhatIsMergeableGivesTheSameFromParts) {
  for (const std::string& function : aggregateWords()) {
    for (const Column& column : kSchema.columns()) {
      const auto created =
          ColumnAggregate::create(function, kSchema.find(column.name), kSchema, ColumnAggregate::defaultParameterOf(function));
      if (created.has_error() || !created->traits().mergeable) continue;
      AnyAccumulator whole, left, right;
      const std::vector<Row> all = rows();
      for (size_t i = 0; i < all.size(); ++i) {
        created->add(whole, all[i]);
        created->add(i < 2 ? left : right, all[i]);
      }
      created->merge(left, right);
      EXPECT_EQ(text(created->result(left), created->resultType()), text(created->result(whole), created->resultType()))
          << function << " of " << column.name;
    }
  }
}

TEST(ColumnAggregate, AccumulatorsComeBackFromTheirBytes) {
  for (const std::string& function : aggregateWords()) {
    const auto created = ColumnAggregate::create(function, kSchema.find("real"), kSchema, ColumnAggregate::defaultParameterOf(function));
    ASSERT_TRUE(created.has_value()) << function;
    RowAccumulator accumulator{{AnyAccumulator(), AnyAccumulator()}};
    for (const Row& row : rows()) created->add(accumulator.columns[1], row);
    DataOutput out;
    serialize(out, accumulator);
    EXPECT_EQ(*deserialize<RowAccumulator>(out.bytes()), accumulator) << function;
    for (size_t size = 0; size < out.bytes().size(); ++size)
      EXPECT_TRUE(deserialize<RowAccumulator>(out.bytes().first(size)).has_error()) << function << ", " << size << " bytes";
  }
}

TEST(ColumnAggregate, PromisesDependOnTheTypeOfTheColumn) {
  EXPECT_TRUE(made("sum", "whole").traits().splitsExactly());
  EXPECT_TRUE(made("sum", "real").traits().splitsUpToRounding());
  EXPECT_FALSE(made("exponential-average", "real").traits().mergeable);
  EXPECT_TRUE(made("collect", "name").traits().orderSensitive);
}

TEST(ColumnAggregate, ColumnsThatDoNotFitAreRefused) {
  const auto mistake = [](const char* function, const char* column, double parameter = 0.5) {
    return ColumnAggregate::create(function, kSchema.find(column), kSchema, parameter).error().message;
  };
  EXPECT_THAT(mistake("sum", "name"), HasSubstr("sum takes numbers, and column 'name' is a string"));
  EXPECT_THAT(mistake("avg", "none"), HasSubstr("avg needs a column"));
  EXPECT_THAT(mistake("percentile", "real", 2), HasSubstr("'at' of percentile is a number from 0 to 1"));
  EXPECT_THAT(mistake("top", "real", 0.5), HasSubstr("'n' of top is a whole number"));
}

}  // namespace
}  // namespace weir
