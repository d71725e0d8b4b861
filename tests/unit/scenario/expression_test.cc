#include "weir/scenario/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using ::testing::HasSubstr;

const Schema kSchema({{"carrier", ColumnType::kString},
                      {"delay", ColumnType::kInt, true},
                      {"miles", ColumnType::kLong},
                      {"speed", ColumnType::kDouble},
                      {"on_time", ColumnType::kBool},
                      {"at", ColumnType::kTimestamp},
                      {"tail", ColumnType::kString, true}});
const Row kRow{{Value(std::string("Über")), Value(int32_t{12}), Value(int64_t{-7}), Value(2.5), Value(true), Value(int64_t{1357035300000}),
                Value()}};

Value evaluated(const std::string& text, const Row& row = kRow) {
  auto expression = Expression::compile(text, kSchema, {"job.yaml", 3, 10});
  if (expression.has_error()) return Value("error: " + expression.error().message);
  StreamRecord<Row> record(row);
  ExpressionScratch scratch;
  ColumnVector values;
  expression->evaluate({&record, 1}, scratch, values);
  Value value;
  storeValue(values, expression->type(), 0, value);
  return value;
}
std::string mistake(const std::string& text) {
  auto expression = Expression::compile(text, kSchema, {"job.yaml", 3, 10});
  return expression.has_error() ? expression.error().message : "";
}
Value text(const char* value) { return Value(std::string(value)); }

TEST(Expression, Computes) {
  EXPECT_EQ(evaluated("1 + 2 * 3 - -4"), Value(int64_t{11}));
  EXPECT_EQ(evaluated("(1 + 2) * 3"), Value(int64_t{9}));
  EXPECT_EQ(evaluated("miles / 2"), Value(int64_t{-3})) << "towards zero, as in Java";
  EXPECT_EQ(evaluated("miles % 2"), Value(int64_t{-1}));
  EXPECT_EQ(evaluated("miles / 2.0"), Value(-3.5));
  EXPECT_EQ(evaluated("speed * 2"), Value(5.0));
  EXPECT_EQ(evaluated("at + 60000 - at"), Value(int64_t{60'000}));
  EXPECT_EQ(evaluated("9223372036854775807 + 1"), Value(std::numeric_limits<int64_t>::min())) << "wraps, as in Java";
  EXPECT_EQ(evaluated("1e3"), Value(1000.0));
}

TEST(Expression, ComparesAndCombines) {
  EXPECT_EQ(evaluated("delay > 10 and not miles >= 0 or false"), Value(true));
  EXPECT_EQ(evaluated("carrier = 'Über' and on_time"), Value(true));
  EXPECT_EQ(evaluated("delay in (1, 12)"), Value(true));
  EXPECT_EQ(evaluated("delay not in (1, 12)"), Value(false));
  EXPECT_EQ(evaluated("miles <> -7"), Value(false));
  EXPECT_EQ(evaluated("at < timestamp('2014-01-01')"), Value(true));
}

TEST(Expression, NullIsUnknownAsInSql) {
  EXPECT_EQ(evaluated("tail = 'x'"), Value());
  EXPECT_EQ(evaluated("tail = 'x' or true"), Value(true));
  EXPECT_EQ(evaluated("tail = 'x' and false"), Value(false));
  EXPECT_EQ(evaluated("tail = 'x' and true"), Value());
  EXPECT_EQ(evaluated("tail is null and delay is not null"), Value(true));
  EXPECT_EQ(evaluated("coalesce(tail, carrier)"), text("Über"));
  EXPECT_EQ(evaluated("nullif(delay, 12)"), Value());
  EXPECT_EQ(evaluated("if(tail = 'x', 1, 2)"), Value(int64_t{2})) << "unknown is not true";
}

TEST(Expression, WhatHasNoValueIsNull) {
  EXPECT_EQ(evaluated("miles / 0"), Value());
  EXPECT_EQ(evaluated("miles % 0"), Value());
  EXPECT_EQ(evaluated("int('twelve')"), Value());
  EXPECT_EQ(evaluated("int(3000000000)"), Value());
  EXPECT_EQ(evaluated("long(1e300)"), Value());
  EXPECT_EQ(evaluated("timestamp('soon')"), Value());
}

TEST(Expression, TextIsMadeOfCodePoints) {
  EXPECT_EQ(evaluated("length(carrier)"), Value(int64_t{4}));
  EXPECT_EQ(evaluated("substring(carrier, 2, 2)"), text("be"));
  EXPECT_EQ(evaluated("substring(carrier, 3)"), text("er"));
  EXPECT_EQ(evaluated("upper(concat(carrier, '-', 'x'))"), text("ÜBER-X"));
  EXPECT_EQ(evaluated("replace('a-b-c', '-', '')"), text("abc"));
  EXPECT_EQ(evaluated("split_part('3|k|v', '|', 2)"), text("k"));
  EXPECT_EQ(evaluated("split_part('3|k', '|', 5)"), Value());
  EXPECT_EQ(evaluated("carrier || '!'"), text("Über!"));
  EXPECT_EQ(evaluated("'it''s'"), text("it's"));
  EXPECT_EQ(evaluated("trim('  x ')"), text("x"));
  EXPECT_EQ(evaluated("hash('AA')"), Value(int32_t{2080}));
}

TEST(Expression, Converts) {
  EXPECT_EQ(evaluated("string(at)"), text("2013-01-01T10:15:00Z"));
  EXPECT_EQ(evaluated("date(at) || ' ' || string(hour(at))"), text("2013-01-01 10"));
  EXPECT_EQ(evaluated("round(2.5) + floor(-0.5) + ceil(0.2)"), Value(int64_t{3}));
  EXPECT_EQ(evaluated("double('0.25')"), Value(0.25));
  EXPECT_EQ(evaluated("greatest(miles, 3)"), Value(int64_t{3}));
}

TEST(Expression, KnowsItsTypeAndWhetherItMayBeNull) {
  const auto compiled = [](const char* text) { return *Expression::compile(text, kSchema, {}); };
  EXPECT_EQ(compiled("delay").type(), ColumnType::kInt);
  EXPECT_EQ(compiled("delay + 1").type(), ColumnType::kLong);
  EXPECT_TRUE(compiled("delay + 1").nullable());
  EXPECT_FALSE(compiled("coalesce(delay, 0) + 1").nullable());
  EXPECT_FALSE(compiled("delay is null").nullable());
  EXPECT_TRUE(compiled("miles / miles").nullable());
}

TEST(Expression, EveryRowOfABatchIsItsOwn) {
  std::vector<StreamRecord<Row>> rows;
  for (int64_t i = 0; i < 64; ++i) {
    rows.emplace_back(kRow);
    rows.back().value.values[2] = i;
  }
  const auto expression = *Expression::compile("if(miles % 2 = 0, miles, miles / 0)", kSchema, {});
  ExpressionScratch scratch;
  ColumnVector values;
  expression.evaluate(rows, scratch, values);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(values.nulls[i], i % 2);
    EXPECT_TRUE(values.nulls[i] || values.numbers[i] == static_cast<int64_t>(i));
  }
}

TEST(Expression, MistakesNameTheirPlace) {
  EXPECT_EQ(mistake("miles > 3 and dely > 0"),
            "job.yaml:3:24: in \"miles > 3 and dely > 0\", column 15: there is no column 'dely': did you mean 'delay'?");
  EXPECT_THAT(mistake("miles +"), HasSubstr("column 8: the expression ends where a value is expected"));
  EXPECT_THAT(mistake("miles + )"), HasSubstr("column 9: a value is expected, not ')'"));
  EXPECT_THAT(mistake("miles miles"), HasSubstr("column 7: 'miles' is not expected here"));
  EXPECT_THAT(mistake("(miles"), HasSubstr("a ')' is missing at the end"));
  EXPECT_THAT(mistake("miles + carrier"),
              HasSubstr("column 7: '+' does not take (long, string); it takes (long, long) or (double, double)"));
  EXPECT_THAT(mistake("lenght(carrier)"), HasSubstr("there is no function 'lenght': did you mean 'length'?"));
  EXPECT_THAT(mistake("length(miles)"), HasSubstr("the function 'length' does not take (long); it takes (string)"));
  EXPECT_THAT(mistake("'open"), HasSubstr("the text is not closed"));
  EXPECT_THAT(mistake("\"AA\""), HasSubstr("text stands in single quotes"));
  EXPECT_THAT(mistake("3x"), HasSubstr("'3x' is no number"));
  EXPECT_THAT(mistake("null"), HasSubstr("null is no value"));
  EXPECT_THAT(mistake(std::string(5000, '(')), HasSubstr("nested deeper than 200 levels"));
  EXPECT_THAT(mistake(std::string(5000, '-') + "miles"), HasSubstr("nested deeper than 200 levels"));
}

/// `times` the text.
std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Expression, ChainsAreAsDeepAsTheyAreLong) {
  EXPECT_EQ(evaluated("0" + repeated(" + 1", 300)), Value(int64_t{300}));
  EXPECT_THAT(mistake("miles" + repeated("+miles", 30000)), HasSubstr("more than 400 steps wait for one another here"));
  EXPECT_THAT(mistake("true" + repeated(" and true", 30000)), HasSubstr("more than 400 steps wait for one another here"));
  EXPECT_THAT(mistake(repeated("(", 150) + "1" + repeated(repeated("+1", 9) + ")", 150)), HasSubstr("more than 400 steps"));
}

TEST(Expression, ListsMayBeLong) {
  EXPECT_EQ(evaluated("9999 in (0" + repeated(", 7", 9999) + ")"), Value(false));
  EXPECT_EQ(evaluated("9999 not in (0" + repeated(", 7", 5000) + ", 9999" + repeated(", 8", 5000) + ")"), Value(false));
}

}  // namespace
}  // namespace weir
