#include "support/gzip.h"
#include "unit/operators/file_reader_fixture.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Flight {
  std::string carrier;
  int32_t number = 0;
  std::optional<int32_t> delay;
  double distance = 0;
  WEIR_FIELDS(carrier, number, delay, distance)
  bool operator==(const Flight&) const = default;
};
using Reader = CsvReader<Flight>;
using Pair = std::tuple<std::string, std::optional<std::string>>;

class CsvReaderTest : public testing::FileReaderTest {
 protected:
  Reader flights(std::string_view text) {
    machine_.write("/flights.csv", text);
    return Reader("/flights.csv");
  }
  std::vector<Pair> pairs(std::string_view rows) {
    machine_.write("/pairs.csv", "a,b\n" + std::string(rows));
    return readAll(CsvReader<Pair>("/pairs.csv", {"a", "b"}));
  }
  std::string pairsFailure(std::string_view rows) {
    machine_.write("/pairs.csv", "a,b\n" + std::string(rows));
    return failure(CsvReader<Pair>("/pairs.csv", {"a", "b"}));
  }
};

TEST_F(CsvReaderTest, FindsTheColumnsByTheNamesOfTheFields) {
  EXPECT_THAT(readAll(flights("distance,unused,delay,carrier,number\n1400.5,x,-2,UA,1545\n")), ElementsAre(Flight{"UA", 1545, -2, 1400.5}));
}

TEST_F(CsvReaderTest, ColumnsMayHaveOtherNamesThanTheFields) {
  machine_.write("/f.csv", "Airline,No,Late,Miles\nUA,1,2,3\n");
  EXPECT_THAT(readAll(Reader("/f.csv", {"Airline", "No", "Late", "Miles"})), ElementsAre(Flight{"UA", 1, 2, 3}));
}

TEST_F(CsvReaderTest, EmptyCellIsNoValueInAnOptionalAndAnEmptyString) {
  EXPECT_THAT(readAll(flights("carrier,number,delay,distance\n,1,,3\n")), ElementsAre(Flight{"", 1, std::nullopt, 3}));
}

TEST_F(CsvReaderTest, EmptyRowsAreNoneWhereThereAreSeveralColumns) {
  EXPECT_THAT(pairs("\n1,2\n\n\r\n3,4\n\n"), ElementsAre(Pair{"1", "2"}, Pair{"3", "4"}));
  machine_.write("/one.csv", "name\na\n\nb\n");
  EXPECT_THAT(readAll(CsvReader<std::string>("/one.csv", {"name"})), ElementsAre("a", "", "b"));
}

TEST_F(CsvReaderTest, QuotedCellsHoldCommasQuotesAndLineBreaks) {
  EXPECT_THAT(pairs("\"a,b\",\"say \"\"hi\"\"\"\n"), ElementsAre(Pair{"a,b", "say \"hi\""}));
  EXPECT_THAT(pairs("\"two\r\nlines\",\"three\n\nof them\"\nx,y\n"), ElementsAre(Pair{"two\r\nlines", "three\n\nof them"}, Pair{"x", "y"}));
  EXPECT_THAT(pairs("\"\"\"\"\"\",\"\"\"x\"\n"), ElementsAre(Pair{"\"\"", "\"x"}));
}

TEST_F(CsvReaderTest, QuotedEmptyCellIsAnEmptyStringAndAnUnquotedOneIsNoValue) {
  EXPECT_THAT(pairs("\"\",\"\"\n,\n"), ElementsAre(Pair{"", ""}, Pair{"", std::nullopt}));
}

TEST_F(CsvReaderTest, ReadsGzipAndAFileWithAByteOrderMark) {
  machine_.write("/pairs.csv", testing::gzip("\xef\xbb\xbf" "a,b\r\n1,2\r\n"));
  EXPECT_THAT(readAll(CsvReader<Pair>("/pairs.csv", {"a", "b"})), ElementsAre(Pair{"1", "2"}));
}

TEST_F(CsvReaderTest, HeaderMayBeQuoted) {
  machine_.write("/pairs.csv", "\"b,\",\"a\"\"\"\n2,1\n");
  EXPECT_THAT(readAll(CsvReader<Pair>("/pairs.csv", {"a\"", "b,"})), ElementsAre(Pair{"1", "2"}));
}

TEST_F(CsvReaderTest, HeaderAloneIsAnEmptyFile) { EXPECT_THAT(pairs(""), IsEmpty()); }

TEST_F(CsvReaderTest, ReadsAllTypesOfCells) {
  using All = std::tuple<bool, int8_t, int16_t, int32_t, int64_t, float, double>;
  machine_.write("/all.csv", "f0,f1,f2,f3,f4,f5,f6\ntrue,-128,32767,-2147483648,9223372036854775807,1.5,-2e300\n0,\"1\",2,3,4,5,6\n");
  EXPECT_THAT(readAll(CsvReader<All>("/all.csv")),
              ElementsAre(All{true, -128, 32767, INT32_MIN, INT64_MAX, 1.5f, -2e300}, All{false, 1, 2, 3, 4, 5, 6}));
}

TEST_F(CsvReaderTest, BadCellNamesFileLineColumnCellWhatWasExpectedAndWhatToDo) {
  EXPECT_EQ(
      failure(flights("carrier,number,delay,distance\nUA,1,2,3\nUA,x1,2,3\n")),
      "/flights.csv line 3, column \"number\": \"x1\" is not a whole number from -2147483648 to 2147483647; correct it, or skip bad rows");
}

TEST_F(CsvReaderTest, NumbersThatDoNotFitOrHaveTextBehindAreBad) {
  const std::string header = "carrier,number,delay,distance\n";
  EXPECT_THAT(failure(flights(header + "UA,2147483648,2,3\n")), HasSubstr("\"2147483648\" is not a whole number"));
  EXPECT_THAT(failure(flights(header + "UA,12 ,2,3\n")), HasSubstr("\"12 \" is not a whole number"));
  EXPECT_THAT(failure(flights(header + "UA,1.5,2,3\n")), HasSubstr("column \"number\": \"1.5\" is not a whole number"));
  EXPECT_THAT(failure(flights(header + "UA,1,n/a,3\n")), HasSubstr("column \"delay\": \"n/a\" is not a whole number"));
  EXPECT_THAT(failure(flights(header + "UA,1,2,far\n")), HasSubstr("column \"distance\": \"far\" is not a number"));
  EXPECT_THAT(failure(flights(header + "UA,,2,3\n")), HasSubstr("column \"number\": the cell is empty"));
}

TEST_F(CsvReaderTest, LongOrBinaryCellsAreShortenedInMessages) {
  const std::string header = "carrier,number,delay,distance\n";
  EXPECT_THAT(failure(flights(header + "UA," + std::string(5000, '9') + ",2,3\n")), HasSubstr(std::string(60, '9') + "...\""));
  EXPECT_THAT(failure(flights(header + "UA,a\tb,2,3\n")), HasSubstr("\"a\\x09b\""));
}

TEST_F(CsvReaderTest, RowWithAnotherNumberOfCellsIsBad) {
  EXPECT_EQ(pairsFailure("1,2\n1\n"), "/pairs.csv line 3 has 1 cell where the header names 2 columns; correct it, or skip bad rows");
  EXPECT_THAT(pairsFailure("1,2,3,4\n"), HasSubstr("line 2 has 4 cells where the header names 2 columns"));
}

TEST_F(CsvReaderTest, MalformedQuotesAreBad) {
  EXPECT_THAT(pairsFailure("\"1\"x,2\n"), HasSubstr("line 2, column \"a\": has text behind its closing quote"));
  EXPECT_THAT(pairsFailure("1,5\" pipe\n"), HasSubstr("line 2, column \"b\": has a quote in the middle"));
}

TEST_F(CsvReaderTest, StrayQuoteDoesNotSwallowTheNextRow) {
  machine_.write("/pairs.csv", "a,b\n1,5\" pipe\n2,3\n");
  auto reader = CsvReader<Pair>("/pairs.csv", {"a", "b"}).badRows(BadRows::kSkipAndCount);
  EXPECT_THAT(readAll(reader), ElementsAre(Pair{"2", "3"}));
}

TEST_F(CsvReaderTest, QuoteThatIsNeverClosedNamesItsLine) {
  EXPECT_EQ(pairsFailure("1,2\n3,\"4\n5,6\n7,8\n"),
            "/pairs.csv line 3: a quote is opened and not closed before the end of the file; close it");
}

TEST_F(CsvReaderTest, LineNumbersCountTheLinesInsideOfQuotes) {
  EXPECT_THAT(pairsFailure("\"1\n2\n3\",4\n5\n"), HasSubstr("line 5 has 1 cell"));
}

TEST_F(CsvReaderTest, RowThatIsNoUtf8IsBad) {
  EXPECT_EQ(pairsFailure("1,2\nM\xfcnchen,2\n"),
            "/pairs.csv line 3 is not valid UTF-8 (byte 0xfc at position 2): convert the file to UTF-8; correct it, or skip bad rows");
}

TEST_F(CsvReaderTest, SkippedRowsAreCountedOverAllCopiesOfTheReader) {
  auto reader = flights("carrier,number,delay,distance\nUA,1,,3\nUA,x,,3\n\xff,1,,3\nUA\nUA,2,,3\n").badRows(BadRows::kSkipAndCount);
  EXPECT_THAT(readAll(reader), ElementsAre(Flight{"UA", 1, std::nullopt, 3}, Flight{"UA", 2, std::nullopt, 3}));
  EXPECT_EQ(reader.badRowCounter()->count(), 3);
  EXPECT_THAT(reader.badRowCounter()->firstProblem(), HasSubstr("/flights.csv line 3, column \"number\": \"x\""));
}

TEST_F(CsvReaderTest, MissingColumnNamesTheColumnsThatExistAndTheNearest) {
  EXPECT_EQ(
      mistake(flights("carrier,nubmer,delay,distance\n")),
      "/flights.csv has no column \"number\": did you mean \"nubmer\"?; its columns are \"carrier\", \"nubmer\", \"delay\", \"distance\"");
  EXPECT_EQ(mistake(flights("Carrier;number\n")), "/flights.csv has no column \"carrier\"; its columns are \"Carrier;number\"");
  EXPECT_THAT(failure(flights("carrier\n")), HasSubstr("has no column \"number\""));
}

TEST_F(CsvReaderTest, ColumnThatExistsTwiceOrIsAskedForTwiceIsAMistake) {
  EXPECT_THAT(mistake(flights("carrier,number,delay,distance,delay\n")), HasSubstr("has two columns \"delay\""));
  machine_.write("/f.csv", "a,b\n");
  EXPECT_THAT(mistake(CsvReader<Pair>("/f.csv", {"a", "a"})), HasSubstr("column \"a\" of /f.csv is asked for twice"));
}

TEST_F(CsvReaderTest, EmptyFileIsAMistake) {
  EXPECT_EQ(mistake(flights("")), "/flights.csv is empty: its first line has to name the columns");
  EXPECT_EQ(mistake(flights("\n\n")), "/flights.csv is empty: its first line has to name the columns");
}

TEST_F(CsvReaderTest, WrongNumberOfColumnNamesIsAMistake) {
  EXPECT_EQ(mistake(Reader("/f.csv", {"a"})), "the reader of /f.csv names 1 columns for rows of 4 fields: name one for each field");
}

TEST_F(CsvReaderTest, ValidationAlsoReadsTheFirstRowUnlessBadRowsAreSkipped) {
  auto reader = flights("carrier,number,delay,distance\nUA,one,2,3\n");
  EXPECT_THAT(mistake(reader), HasSubstr("line 2, column \"number\": \"one\""));
  EXPECT_EQ(mistake(reader.badRows(BadRows::kSkipAndCount)), "(no mistake)");
  EXPECT_EQ(mistake(flights("carrier,number,delay,distance\n")), "(no mistake)");
}

TEST_F(CsvReaderTest, MissingFileNamesWhatLiesBesideIt) {
  machine_.memory.createDirectories("/data").value();
  machine_.write("/data/flights.csv.gz", "");
  EXPECT_THAT(mistake(Reader("/data/flights.csv")), AllOf(HasSubstr("/data/flights.csv: "), HasSubstr("did you mean flights.csv.gz?")));
  EXPECT_THAT(mistake(Reader("/data/orders.csv")), HasSubstr("correct the path"));
  EXPECT_THAT(mistake(Reader("/date/flights.csv")), HasSubstr("there is no folder /date"));
}

TEST_F(CsvReaderTest, AFileThatIsCutOffFailsEvenWhereBadRowsAreSkipped) {
  std::string text = "a,b\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i * 7919) + "," + std::to_string(i * 104729) + "\n";
  const std::string packed = testing::gzip(text);
  machine_.write("/pairs.csv", packed.substr(0, packed.size() / 2));
  auto reader = CsvReader<Pair>("/pairs.csv", {"a", "b"}).badRows(BadRows::kSkipAndCount);
  EXPECT_THAT(failure(reader), HasSubstr("/pairs.csv is cut off"));
}

}  // namespace
}  // namespace weir
