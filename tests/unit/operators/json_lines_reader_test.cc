#include <nlohmann/json.hpp>

#include "unit/operators/file_reader_fixture.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Order {
  std::string customer;
  int64_t cents = 0;
  std::optional<double> discount;
  bool paid = false;
  WEIR_FIELDS(customer, cents, discount, paid)
  bool operator==(const Order&) const = default;
};

class JsonLinesReaderTest : public testing::FileReaderTest {
 protected:
  JsonLinesReader<Order> orders(std::string_view text) {
    machine_.write("/orders.jsonl", text);
    return JsonLinesReader<Order>("/orders.jsonl");
  }
};

TEST_F(JsonLinesReaderTest, FindsTheFieldsByTheirKeysInAnyOrder) {
  EXPECT_THAT(readAll(orders("{\"customer\":\"Anna\",\"cents\":120,\"discount\":0.5,\"paid\":true}\n"
                             " { \"paid\" : false, \"other\": [1, {\"cents\": 7}], \"cents\" : -3, \"customer\" : \"Ben\" } \r\n\n")),
              ElementsAre(Order{"Anna", 120, 0.5, true}, Order{"Ben", -3, std::nullopt, false}));
}

TEST_F(JsonLinesReaderTest, NullAndMissingAreNoValue) {
  EXPECT_THAT(readAll(orders("{\"customer\":\"\",\"cents\":1,\"discount\":null,\"paid\":true}")),
              ElementsAre(Order{"", 1, std::nullopt, true}));
  EXPECT_EQ(failure(orders("{\"cents\":1,\"paid\":true}")),
            "/orders.jsonl line 1, key \"customer\": there is no value, expected is a string; use std::optional where it may be missing; "
            "correct it, or skip bad rows");
}

TEST_F(JsonLinesReaderTest, EscapesAreResolved) {
  EXPECT_THAT(readAll(orders(R"({"customer":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00","cents":1,"paid":true,"\u0064iscount":2})")),
              ElementsAre(Order{"\"\\/\b\f\n\r\t\u00e9\U0001F600", 1, 2.0, true}));
}

TEST_F(JsonLinesReaderTest, OfEqualKeysTheLastCounts) {
  EXPECT_THAT(readAll(orders(R"({"cents":1,"customer":"a","cents":2,"paid":true})")), ElementsAre(Order{"a", 2, std::nullopt, true}));
}

TEST_F(JsonLinesReaderTest, TypesAreNotMixedUp) {
  EXPECT_THAT(failure(orders(R"({"customer":"a","cents":"1","paid":true})")),
              HasSubstr("key \"cents\": the string \"1\" is not a whole number"));
  EXPECT_THAT(failure(orders(R"({"customer":7,"cents":1,"paid":true})")), HasSubstr("key \"customer\": 7 is not a string"));
  EXPECT_THAT(failure(orders(R"({"customer":"a","cents":1.0,"paid":true})")), HasSubstr("key \"cents\": 1.0 is not a whole number"));
  EXPECT_THAT(failure(orders(R"({"customer":"a","cents":1,"paid":1})")), HasSubstr("key \"paid\": 1 is not true or false"));
  EXPECT_THAT(failure(orders(R"({"customer":["a"],"cents":1,"paid":true})")), HasSubstr("key \"customer\": [\"a\"] is not a string"));
}

TEST_F(JsonLinesReaderTest, BadRowNamesLineAndPosition) {
  EXPECT_EQ(failure(orders("{\"customer\":\"a\",\"cents\":1,\"paid\":true}\n{\"customer\":\"a\" \"cents\"}\n")),
            "/orders.jsonl line 2 has neither a comma nor } behind a value (at position 17); correct it, or skip bad rows");
  EXPECT_THAT(failure(orders("[1]\n")), HasSubstr("line 1 is no JSON object"));
  EXPECT_THAT(failure(orders("{} {}\n")), HasSubstr("line 1 has text behind its object"));
  EXPECT_THAT(failure(orders("{\"a\":\xff}\n")), HasSubstr("line 1 is not valid UTF-8"));
}

TEST_F(JsonLinesReaderTest, DeepNestingIsRefusedAndNotFollowed) {
  EXPECT_THAT(failure(orders("{\"a\":" + std::string(500'000, '[') + "\n")), HasSubstr("is nested deeper than 64 levels"));
}

TEST_F(JsonLinesReaderTest, BadRowsCanBeSkipped) {
  auto reader = orders("{\"customer\":\"a\",\"cents\":1,\"paid\":true}\nnonsense\n{}\n").badRows(BadRows::kSkipAndCount);
  EXPECT_EQ(readAll(reader).size(), 1u);
  EXPECT_EQ(reader.badRowCounter()->count(), 2);
}

TEST_F(JsonLinesReaderTest, EmptyFileHasNoRows) {
  EXPECT_THAT(readAll(orders("")), IsEmpty());
  EXPECT_EQ(mistake(orders("")), "(no mistake)");
  EXPECT_THAT(mistake(orders("{\"customer\":1}")), HasSubstr("key \"customer\": 1 is not a string"));
}

/// Accepts and refuses what another parser does, on lines that are nearly right.
TEST_F(JsonLinesReaderTest, AgreesWithAnotherParserOnMutatedLines) {
  const std::string line = R"({"a":"x\"\u00e9\\","b":-12.5e+3,"c":[true,false,null,{"d":[]}],"e":{"f":0}, "g":1e5 })";
  constexpr std::string_view kReplacements = "{}[]\",:\\ 01-+.eEtfnu\tx\x01";
  JsonLinesFormat format;
  machine_.write("/empty", "");
  auto lines = std::move(LineReader::open(machine_.files, "/empty").value());
  format.begin(lines, {"a", "g"}).value();
  Random random(5);
  int accepted = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string mutated = line;
    for (uint64_t changes = random.between(1, 3); changes > 0; --changes) {
      const size_t at = random.below(mutated.size());
      const char c = kReplacements[random.below(kReplacements.size())];
      switch (random.below(3)) {
        case 0: mutated[at] = c; break;
        case 1: mutated.insert(at, 1, c); break;
        default: mutated.erase(at, 1);
      }
    }
    std::array<Cell, 2> cells;
    RowProblem problem;
    const bool ours = format.parse(mutated, cells, problem);
    const auto theirs = nlohmann::json::parse(mutated, nullptr, false);
    ASSERT_EQ(ours, theirs.is_object()) << mutated << " " << problem.what;
    if (!ours) continue;
    ++accepted;
    const bool isString = theirs.contains("a") && theirs["a"].is_string();
    ASSERT_EQ(cells[0].kind == Cell::Kind::kString, isString) << mutated;
    if (isString) {
      ASSERT_EQ(cells[0].text, theirs["a"].get<std::string>()) << mutated;
    }
    double number = 0;
    const bool isNumber = theirs.contains("g") && theirs["g"].is_number();
    ASSERT_EQ(cells[1].kind == Cell::Kind::kNumber, isNumber) << mutated;
    if (isNumber && parseCell(cells[1], number) == nullptr) {
      ASSERT_EQ(number, theirs["g"].get<double>()) << mutated;
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace weir
