#include "weir/operators/row_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "unit/operators/file_reader_fixture.h"

namespace weir {
namespace {

struct Count {
  std::string word;
  int64_t count = 0;
  WEIR_FIELDS(word, count)
};
struct Nested {
  Count best;
  std::vector<int32_t> sizes;
  std::map<std::string, double> weights;
  std::optional<bool> sure;
  WEIR_FIELDS(best, sizes, weights, sure)
};

template <class T>
std::string text(const T& value) {
  std::string out;
  appendText(out, value);
  return out;
}
template <class T>
std::string csv(const T& value) {
  std::string out;
  appendCsvRow(out, value);
  return out;
}
template <class T>
std::string json(const T& value) {
  std::string out;
  appendJson(out, value);
  return out;
}

TEST(RowText, PrintsTuplesAsFlinkDoesAndStructsWithTheirNames) {
  EXPECT_EQ(text(std::tuple<std::string, int32_t>("Anna", 3)), "(Anna,3)");
  EXPECT_EQ(text(std::pair<bool, double>(true, 0.1)), "(true,0.1)");
  EXPECT_EQ(text(Count{"Anna", 3}), "{word=Anna, count=3}");
  EXPECT_EQ(text(Nested{{"a", 1}, {1, 2}, {{"x", 0.5}, {"y", 2}}, std::nullopt}),
            "{best={word=a, count=1}, sizes=[1, 2], weights={x=0.5, y=2}, sure=null}");
  EXPECT_EQ(text(std::string("plain")), "plain");
  EXPECT_EQ(text(int8_t{-5}), "-5");
}

TEST(RowText, NumbersReadBackTheSame) {
  for (const double value : {0.1, 1e300, -5e-324, 1.0 / 3, 123456789012345680.0})
    EXPECT_EQ(std::strtod(csv(std::tuple<double>(value)).c_str(), nullptr), value);
  EXPECT_EQ(csv(std::tuple<int64_t, float>(INT64_MIN, 0.1f)), "-9223372036854775808,0.1");
}

TEST(RowText, CsvQuotesOnlyWhatNeedsIt) {
  using Row = std::tuple<std::string, std::optional<std::string>, std::optional<int32_t>>;
  EXPECT_EQ(csv(Row("a b", "it's", 1)), "a b,it's,1");
  EXPECT_EQ(csv(Row("a,b", "say \"hi\"", std::nullopt)), "\"a,b\",\"say \"\"hi\"\"\",");
  EXPECT_EQ(csv(Row("a\nb", "c\rd", 1)), "\"a\nb\",\"c\rd\",1");
  EXPECT_EQ(csv(Row("", "", 1)), ",\"\",1");
  EXPECT_EQ(csv(Row("", std::nullopt, std::nullopt)), ",,");
}

TEST(RowText, CsvRowOfOneEmptyStringIsNoEmptyLine) { EXPECT_EQ(csv(std::string()), "\"\""); }

TEST(RowText, CsvHeaderHasTheNamesOfTheFields) {
  EXPECT_EQ(csvHeader<Count>(), "word,count");
  EXPECT_EQ((csvHeader<std::tuple<int32_t, bool>>()), "f0,f1");
}

TEST(RowText, JsonHasKeysAndNestsAndEscapes) {
  EXPECT_EQ(json(Count{"a\"b\\\n\x01\u00e9", 3}), "{\"word\":\"a\\\"b\\\\\\n\\u0001\u00e9\",\"count\":3}");
  EXPECT_EQ(json(Nested{{"a", 1}, {1, 2}, {{"x", 0.5}}, true}),
            R"({"best":{"word":"a","count":1},"sizes":[1,2],"weights":{"x":0.5},"sure":true})");
  EXPECT_EQ(json(std::tuple<int32_t, bool>(1, false)), R"({"f0":1,"f1":false})");
  EXPECT_EQ(json(std::tuple<double, std::optional<float>>(std::numeric_limits<double>::quiet_NaN(), std::nullopt)),
            R"({"f0":null,"f1":null})");
}

TEST(RowText, StringThatIsNoUtf8CannotBeJson) { EXPECT_THROW(json(std::string("\xff")), Throwable); }

struct Any {
  std::string name;
  std::optional<std::string> note;
  std::optional<int64_t> number;
  double weight = 0;
  bool flag = false;
  WEIR_FIELDS(name, note, number, weight, flag)
  bool operator==(const Any&) const = default;
};

/// What is written as CSV or JSON lines is read back the same, whatever stands in the strings.
using RoundTripTest = testing::FileReaderTest;

TEST_F(RoundTripTest, ReadsBackWhatWasWritten) {
  Random random(3);
  constexpr std::string_view kPieces[] = {"a", ",", "\"", "\n", "\r\n", " ", "\t", "\u00e9", "\U0001F600", "\\", "{", "\x01"};
  const auto string = [&] {
    std::string value;
    for (uint64_t n = random.below(6); n > 0; --n) value += kPieces[random.below(std::size(kPieces))];
    return value;
  };
  std::vector<Any> rows(2000);
  std::string csvFile = csvHeader<Any>() + "\n", jsonFile;
  for (Any& row : rows) {
    row.name = string();
    if (random.oneIn(2)) row.note = string();
    if (random.oneIn(2)) row.number = static_cast<int64_t>(random.next());
    row.weight = random.unit() * 1e6;
    row.flag = random.oneIn(2);
    appendCsvRow(csvFile, row);
    csvFile += '\n';
    appendJson(jsonFile, row);
    jsonFile += '\n';
  }
  machine_.write("/rows.csv", csvFile);
  machine_.write("/rows.jsonl", jsonFile);
  EXPECT_EQ(readAll(CsvReader<Any>("/rows.csv")), rows);
  EXPECT_EQ(readAll(JsonLinesReader<Any>("/rows.jsonl")), rows);
}

}  // namespace
}  // namespace weir
