#include "weir/aggregate/salt_balance.h"

#include <fmt/format.h>

#include <cmath>

#include "support/golden.h"

namespace weir {
namespace {

/// A hot key with 60 % of a million records over 1000 cold keys.
std::vector<KeyWeight> hotOverCold() {
  std::vector<KeyWeight> keys{{"hot", 600'000, true}};
  for (int i = 0; i < 1000; ++i) keys.push_back({"key-" + std::to_string(i), 400, false});
  return keys;
}

SaltForm formOf(const std::string& golden) {
  if (golden == "int salt") return SaltForm::kSaltAlone;
  if (golden == "Tuple2(int salt,hot)") return SaltForm::kTuple;
  if (golden == "string salt|hot") return SaltForm::kSaltBarKey;
  if (golden == "string hot|salt") return SaltForm::kKeyBarSalt;
  return SaltForm::kKeyHashSalt;
}

TEST(SaltBalance, IsThatOfARealFlink) {
  const auto keys = hotOverCold();
  size_t compared = 0;
  for (const auto& row : golden::readRows("semantics/salt-balance.tsv")) {
    if (row[0] == "key") continue;
    SCOPED_TRACE(row.line);
    const auto balance = balanceSalts(keys, formOf(row[0]), std::stoi(row[1]), std::stoi(row[2]), std::stoi(row[3]));
    EXPECT_EQ(std::to_string(std::llround(balance.most())), row[4]);
    EXPECT_EQ(std::to_string(std::llround(balance.least())), row[5]);
    EXPECT_EQ(fmt::format("{:.2f}", balance.mostOverLeast()), row[6]);
    EXPECT_EQ(fmt::format("{:.2f}", balance.mostOverMean()), row[7]);
    EXPECT_EQ(std::to_string(balance.subtasksWithoutSalt()), row[8]);
    EXPECT_EQ(fmt::format("[{}]", fmt::join(balance.saltsOfSubtask, ",")), row[9]);
    ++compared;
  }
  EXPECT_GT(compared, 40U);
}

TEST(SaltBalance, HotIsWhatHasMoreThanItsShare) {
  std::vector<KeyWeight> keys{{"a", 50}, {"b", 30}, {"c", 20}};
  EXPECT_EQ(markHotKeys(keys, 0.25), 2U);
  EXPECT_TRUE(keys[0].hot && keys[1].hot && !keys[2].hot);
}

TEST(SaltBalance, NamesOfForms) {
  for (SaltForm form : {SaltForm::kTuple, SaltForm::kSaltBarKey, SaltForm::kKeyBarSalt, SaltForm::kKeyHashSalt, SaltForm::kSaltAlone})
    EXPECT_EQ(saltFormNamed(toString(form)), form);
  EXPECT_EQ(saltFormNamed("pepper"), std::nullopt);
}

}  // namespace
}  // namespace weir
