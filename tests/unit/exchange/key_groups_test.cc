#include "weir/exchange/key_groups.h"

#include <gtest/gtest.h>

#include "support/golden_bytes.h"
#include "weir/base/random.h"

namespace weir {
namespace {

using test::goldenRows;
using test::Row;
using test::split;
using test::textFromHex;

constexpr int32_t kParallelisms[] = {1, 2, 3, 4, 7, 16, 100, 128};

template <class K>
void checkKey(const K& key, const Row& row) {
  int32_t maxParallelism = std::stoi(row[3]);
  EXPECT_EQ(javaHash(key), std::stoi(row[2]));
  EXPECT_EQ(assignToKeyGroup(key, maxParallelism), std::stoi(row[4]));
  for (size_t i = 0; i < std::size(kParallelisms); ++i) {
    if (row[5 + i] == "-") continue;
    EXPECT_EQ(assignKeyToParallelOperator(key, kParallelisms[i], maxParallelism), std::stoi(row[5 + i]));
    EXPECT_EQ(KeyGroupAssigner(kParallelisms[i], maxParallelism).subtaskOf(key), std::stoi(row[5 + i]));
  }
}

/// A row of a key; false where the row is of another kind.
bool checkKeyRow(const Row& row) {
  const std::string &type = row[0], &text = row[1];
  if (type == "string")
    checkKey(textFromHex(text), row);
  else if (type == "int")
    checkKey(std::stoi(text), row);
  else if (type == "long")
    checkKey(int64_t{std::stoll(text)}, row);
  else if (type == "short")
    checkKey(static_cast<int16_t>(std::stoi(text)), row);
  else if (type == "byte")
    checkKey(static_cast<int8_t>(std::stoi(text)), row);
  else if (type == "boolean")
    checkKey(text == "true", row);
  else if (type == "float")
    checkKey(std::stof(text), row);
  else if (type == "double")
    checkKey(std::stod(text), row);
  else if (type.starts_with("tuple")) {
    auto part = split(text, ',');
    if (type == "tuple2<string,long>")
      checkKey(std::pair(textFromHex(part[0]), int64_t{std::stoll(part[1])}), row);
    else if (type == "tuple2<long,long>")
      checkKey(std::tuple(int64_t{std::stoll(part[0])}, int64_t{std::stoll(part[1])}), row);
    else if (type == "tuple3<string,long,int>")
      checkKey(std::tuple(textFromHex(part[0]), int64_t{std::stoll(part[1])}, std::stoi(part[2])), row);
    else
      return false;
  } else {
    return false;
  }
  return true;
}

TEST(KeyGroups, EveryKeyHasHashGroupAndSubtaskOfFlink) {
  int checked = 0;
  for (const Row& row : goldenRows("key-groups.tsv")) {
    SCOPED_TRACE("line " + std::to_string(row.line));
    checked += checkKeyRow(row);
  }
  EXPECT_EQ(checked, 996);
}

TEST(KeyGroups, DefaultMaxParallelismAndRangesAreThoseOfFlink) {
  int defaults = 0, ranges = 0;
  for (const Row& row : goldenRows("key-groups.tsv")) {
    SCOPED_TRACE("line " + std::to_string(row.line));
    auto number = [&](size_t i) { return std::stoi(row[i]); };
    if (row[0] == "defaultMax") {
      EXPECT_EQ(computeDefaultMaxParallelism(number(1)), number(2));
      ++defaults;
    } else if (row[0] == "range") {
      KeyGroupRange range = keyGroupRangeForOperatorIndex(number(3), number(2), number(1));
      EXPECT_EQ(range.first, number(4));
      EXPECT_EQ(range.last, number(5));
      ++ranges;
    }
  }
  EXPECT_EQ(defaults, 17);
  EXPECT_EQ(ranges, 133);
}

TEST(KeyGroups, RangesCoverEveryGroupOnceAndAgreeWithTheOwnerOfEachGroup) {
  for (auto [parallelism, maxParallelism] : {std::pair{1, 1}, {3, 7}, {7, 7}, {100, 128}, {333, 512}, {32768, 32768}}) {
    int32_t next = 0, index = 0;
    for (KeyGroupRange range : keyGroupRanges(parallelism, maxParallelism)) {
      ASSERT_EQ(range.first, next);
      for (int32_t group = range.first; group <= range.last; ++group)
        ASSERT_EQ(operatorIndexForKeyGroup(group, parallelism, maxParallelism), index);
      next = range.last + 1;
      ++index;
    }
    EXPECT_EQ(next, maxParallelism);
  }
}

TEST(KeyGroups, TheAssignerAgreesWithTheFormulaForAnyHash) {
  Random random(7);
  for (int32_t maxParallelism : {1, 7, 128, 1000, 4096, 32767, 32768}) {
    KeyGroupAssigner assigner(1, maxParallelism);
    for (int i = 0; i < 20000; ++i) {
      auto hash = static_cast<int32_t>(random.next());
      ASSERT_EQ(assigner.keyGroup(hash), keyGroupForHash(hash, maxParallelism)) << hash;
    }
  }
}

TEST(KeyGroups, MurmurOfAnyHashIsNotNegative) {
  Random random(8);
  for (int i = 0; i < 100000; ++i) ASSERT_GE(murmurHash(static_cast<int32_t>(random.next())), 0);
}

int32_t plainHash(std::string_view ascii) {
  uint32_t hash = 0;
  for (char c : ascii) hash = 31 * hash + static_cast<uint8_t>(c);
  return static_cast<int32_t>(hash);
}

TEST(JavaHash, OfAsciiOfEveryLengthIsThatOfTheCharactersOneByOne) {
  Random random(9);
  for (size_t size = 0; size <= 200; ++size) {
    std::string text;
    while (text.size() < size) text += static_cast<char>(random.below(128));
    ASSERT_EQ(javaHash(text), plainHash(text)) << size;
    ASSERT_EQ(javaHash(std::string(size, '\x7f')), plainHash(std::string(size, '\x7f'))) << size;
  }
}

TEST(JavaHash, CountsUtf16UnitsWhereverTheFirstWideCharacterStands) {
  for (size_t before = 0; before < 300; ++before) {
    std::string ascii(before, 'x');
    auto expected = [&](std::initializer_list<uint32_t> units) {
      auto hash = static_cast<uint32_t>(plainHash(ascii));
      for (uint32_t unit : units) hash = 31 * hash + unit;
      return static_cast<int32_t>(hash);
    };
    ASSERT_EQ(javaHash(ascii + "\u00e9y"), expected({0xe9, 'y'})) << before;
    ASSERT_EQ(javaHash(ascii + "\U0001F600"), expected({0xd83d, 0xde00})) << before;
  }
}

TEST(JavaHash, OfBytesThatAreNoUtf8FailsTheTask) {
  for (std::string text : {"\xff", "abc\xc3", "12345678\xed\xa0\x80", "1234567890123456\xf5\x80\x80\x80"})
    EXPECT_THROW(javaHash(text), Throwable) << text;
}

struct Order {
  std::string customer;
  std::optional<int32_t> shop;
  WEIR_FIELDS(customer, shop)
};
enum class Colour { kRed };

TEST(JavaHash, OfAStructIsThatOfTheTupleAndANullFieldCountsZero) {
  EXPECT_EQ(javaHash(Order{"a", 1}), 3008);
  EXPECT_EQ(javaHash(Order{"a", std::nullopt}), 97 * 31);
  EXPECT_EQ(javaHash(std::tuple(int64_t{1} << 32)), 1);
}

TEST(JavaHash, WhatFlinkRefusesIsNoKey) {
  static_assert(Key<int32_t> && Key<std::string> && Key<Order> && Key<std::pair<bool, double>> && Key<char16_t>);
  static_assert(!Key<std::vector<uint8_t>> && !Key<std::vector<int32_t>> && !Key<std::map<int32_t, int32_t>>);
  static_assert(!Key<Colour> && !Key<std::pair<int32_t, Colour>> && !Key<std::tuple<std::vector<uint8_t>>>);
  static_assert(!Key<std::optional<int32_t>> && !Key<uint32_t> && !Key<const char*> && !Key<char>);
}

TEST(JavaHashTest, OfAStringIsThatOfItsCharactersAtEveryLength) {
  std::string text, wide;
  for (int size = 0; size <= 200; ++size) {
    uint32_t expected = 0;
    for (const char c : text) expected = 31 * expected + static_cast<uint8_t>(c);
    EXPECT_EQ(javaHash(text), static_cast<int32_t>(expected)) << size;
    EXPECT_EQ(javaHash(std::string_view(text)), static_cast<int32_t>(expected)) << size;
    wide = text + "\u00e4";
    EXPECT_EQ(javaHash(wide), static_cast<int32_t>(31 * expected + 0xe4)) << size;
    text += static_cast<char>(1 + size * 37 % 127);
  }
}

}  // namespace
}  // namespace weir
