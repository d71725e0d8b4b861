#include "weir/scenario/row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "weir/exchange/key_groups.h"
#include "weir/scenario/schema.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

RowKey keyOf(std::vector<Value> values) {
  std::vector<size_t> columns(values.size());
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = i;
  return RowKeySelector(columns)(Row{std::move(values)});
}
Row sample() { return Row{{Value(std::string("Ärger")), Value(int64_t{-5}), Value(), Value(true), Value(int32_t{7}), Value(2.5)}}; }

TEST(RowKey, OneColumnHashesAsThatJavaType) {
  EXPECT_EQ(javaHash(keyOf({Value(std::string("AA"))})), javaHash(std::string("AA")));
  EXPECT_EQ(javaHash(keyOf({Value(int64_t{-5})})), javaHash(int64_t{-5}));
  EXPECT_EQ(javaHash(keyOf({Value(int32_t{-5})})), -5);
  EXPECT_EQ(javaHash(keyOf({Value(2.5)})), javaHash(2.5));
  EXPECT_EQ(javaHash(keyOf({Value(true)})), 1231);
}

TEST(RowKey, IntAndLongOfTheSameNegativeNumberHashDifferently) {
  EXPECT_NE(javaHash(keyOf({Value(int64_t{-5})})), javaHash(keyOf({Value(int32_t{-5})})));
}

TEST(RowKey, SeveralColumnsHashAsFlinksTuple) {
  const std::tuple<std::string, int64_t, std::optional<double>> tuple("UA", 17, std::nullopt);
  EXPECT_EQ(javaHash(keyOf({Value(std::string("UA")), Value(int64_t{17}), Value()})), javaHash(tuple));
}

TEST(RowKey, DoublesAreEqualAsInJava) {
  EXPECT_NE(keyOf({Value(0.0)}), keyOf({Value(-0.0)}));
  EXPECT_EQ(keyOf({Value(std::numeric_limits<double>::quiet_NaN())}), keyOf({Value(-std::numeric_limits<double>::quiet_NaN())}));
  EXPECT_EQ(assignToKeyGroup(keyOf({Value(-0.0)}), 128), 108);  // as a real Flink assigned them
  EXPECT_EQ(assignToKeyGroup(keyOf({Value(0.0)}), 128), 94);
}

TEST(RowKey, ANullColumnIsNoKey) {
  try {
    keyOf({Value()});
    FAIL();
  } catch (const Throwable& thrown) {
    EXPECT_EQ(thrown.className(), "java.lang.NullPointerException");
    EXPECT_EQ(thrown.message(), "Assigned key must not be null!");
  }
}

TEST(Row, FieldsLieOnTheWireAsFlinkWritesATupleOfThem) {
  DataOutput row, tuple;
  serialize(row, Row{{Value(std::string("AA")), Value(int64_t{9}), Value(), Value(0.5)}});
  serialize(tuple, std::tuple<std::string, int64_t, double>("AA", 9, 0.5));
  const auto bytes = row.bytes();
  ASSERT_GT(bytes.size(), 8u);
  const auto inside = static_cast<uint8_t>(bytes.size() - 4);
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.begin() + 8), (std::vector<uint8_t>{0, 0, 0, inside, 0, 4, 0x35, 0x40}));
  EXPECT_TRUE(std::equal(bytes.begin() + 8, bytes.end(), tuple.bytes().begin(), tuple.bytes().end()));
}

TEST(Row, ComesBackFromItsBytes) {
  DataOutput out;
  serialize(out, sample());
  EXPECT_EQ(*deserialize<Row>(out.bytes()), sample());
  DataOutput key;
  serialize(key, keyOf(sample().values));
  EXPECT_EQ(*deserialize<RowKey>(key.bytes()), keyOf(sample().values));
}

TEST(Row, EveryTruncationIsRefused) {
  DataOutput out;
  serialize(out, sample());
  for (size_t size = 0; size < out.bytes().size(); ++size)
    EXPECT_TRUE(deserialize<Row>(out.bytes().first(size)).has_error()) << size << " bytes";
}

TEST(Row, AnUnknownKindOfValueIsRefused) {
  const std::vector<uint8_t> bytes{0, 0, 0, 7, 0, 1, 0x0f, 0, 0, 0, 0};
  EXPECT_THAT(deserialize<Row>(bytes).error().message, HasSubstr("does not fit its bytes"));
}

TEST(Value, TextHasTheOrderOfUtf16Units) {
  const Value emoji(std::string("\xf0\x9f\x98\x80")), privateUse(std::string("\xee\x80\x80")), a(std::string("a")), ab(std::string("ab"));
  EXPECT_TRUE(compareValues(emoji, privateUse) < 0);
  EXPECT_TRUE(compareValues(a, ab) < 0);
  EXPECT_TRUE(compareValues(Value(), a) < 0);
}

TEST(Timestamp, IsReadInItsCommonForms) {
  EXPECT_EQ(parseTimestamp("1357035300000"), 1357035300000);
  EXPECT_EQ(parseTimestamp("2013-01-01T10:15:00Z"), 1357035300000);
  EXPECT_EQ(parseTimestamp("2013-01-01 10:15"), 1357035300000);
  EXPECT_EQ(parseTimestamp("2013-01-01T05:15:00.250-05:00"), 1357035300250);
  EXPECT_EQ(parseTimestamp("1969-12-31"), -86'400'000);
  for (const char* wrong :
       {"", "soon", "2013-13-01", "2013-02-30", "2013-01-01T25:00", "2013-01-01T10:15:00 o'clock", "2013-01-01T10:15:00."})
    EXPECT_EQ(parseTimestamp(wrong), std::nullopt) << wrong;
}

TEST(Timestamp, IsPrintedInUtc) {
  const auto text = [](int64_t millis) {
    std::string out;
    appendTimestamp(out, millis);
    return out;
  };
  EXPECT_EQ(text(1357035300000), "2013-01-01T10:15:00Z");
  EXPECT_EQ(text(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(text(std::numeric_limits<int64_t>::max()), "9223372036854775807");
}

TEST(RowText, HasAFormForPeopleForCsvAndForJson) {
  const Schema schema({{"name", ColumnType::kString}, {"at", ColumnType::kTimestamp}, {"x", ColumnType::kDouble, true}});
  const Row row{{Value(std::string("a,\"b\"")), Value(int64_t{0}), Value()}};
  std::string text, csv, json;
  appendRowText(text, row, schema);
  appendRowCsv(csv, row, schema);
  appendRowJson(json, row, schema);
  EXPECT_EQ(text, "{name=a,\"b\", at=1970-01-01T00:00:00Z, x=null}");
  EXPECT_EQ(schemaCsvHeader(schema), "name,at,x");
  EXPECT_EQ(csv, "\"a,\"\"b\"\"\",1970-01-01T00:00:00Z,");
  EXPECT_EQ(json, R"({"name":"a,\"b\"","at":"1970-01-01T00:00:00Z","x":null})");
}

}  // namespace
}  // namespace weir
