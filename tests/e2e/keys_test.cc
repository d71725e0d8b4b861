#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/command.h"
#include "support/golden.h"
#include "support/temp_dir.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Answer;
using testing::expectUsageError;
using testing::TempDir;
using testing::weir;

TEST(KeyGroupCommand, SaysWhoOwnsAKey) {
  const Answer answer = weir({"keygroup", "alice", "bob", "--parallelism", "16", "--output", "json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto report = nlohmann::json::parse(answer.out);
  EXPECT_EQ(report["maxParallelism"], 128);
  EXPECT_EQ(report["keys"][0]["hash"], 92903040);
  EXPECT_EQ(report["keys"][0]["keyGroup"], 116);
  EXPECT_EQ(report["keys"][0]["subtask"], 14);
  EXPECT_EQ(report["keys"][0]["keyGroupsOfSubtask"], nlohmann::json({112, 119}));
}

TEST(KeyGroupCommand, TheTypeDecidesTheHash) {
  const auto hashOf = [](const std::string& type, const std::string& key) {
    const Answer answer = weir({"keygroup", "--type", type, "--output", "json", "--", key});
    return nlohmann::json::parse(answer.out)["keys"][0]["hash"].get<int>();
  };
  EXPECT_EQ(hashOf("string", "42"), 1662);
  EXPECT_EQ(hashOf("int", "42"), 42);
  EXPECT_EQ(hashOf("long", "-7"), 6);
  EXPECT_EQ(hashOf("boolean", "true"), 1231);
  EXPECT_EQ(hashOf("double", "1"), 1072693248);
}

TEST(KeyGroupCommand, CountsSubtasksThatShareAndMiss) {
  const Answer answer = weir({"keygroup", "a", "b", "c", "d", "e", "f", "--parallelism", "2"});
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(answer.out, HasSubstr("2 of 2 subtasks own one of these keys; subtask "));
}

TEST(KeyGroupCommand, MistakesAreOneSentence) {
  expectUsageError({"keygroup"}, {"KEY", "weir keygroup --help"});
  expectUsageError({"keygroup", "x", "--type", "int"}, {"'x' is no int", "-2147483648 to 2147483647"});
  expectUsageError({"keygroup", "4294967296", "--type", "int"}, {"'4294967296' is no int"});
  expectUsageError({"keygroup", "x", "--type", "blob"}, {"'blob' is no type of key"});
  expectUsageError({"keygroup", "x", "--parallelism", "0"}, {"--parallelism", "'0' is not a whole number from 1 to 32768"});
  expectUsageError({"keygroup", "x", "--parallelism", "200", "--max-parallelism", "128"},
                   {"the parallelism 200 is above the max parallelism 128"});
  expectUsageError({"keygroup", "\xff"}, {"UTF-8"});
}

TEST(SaltsCommand, GivesTheBalanceOfARealFlink) {
  const Answer answer = weir({"salts", "--parallelism", "16", "--share", "0.6", "--output", "json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto report = nlohmann::json::parse(answer.out);
  int compared = 0;
  for (const auto& row : golden::readRows("semantics/salt-balance.tsv"))
    for (const auto& choice : report["choices"]) {
      if (row[0] != "Tuple2(int salt,hot)" || row[1] != choice["salts"].dump()) continue;
      EXPECT_EQ(choice["max"].dump(), row[4]);
      EXPECT_EQ(choice["min"].dump(), row[5]);
      EXPECT_EQ(choice["saltsPerSubtask"].dump(), row[9]);
      ++compared;
    }
  EXPECT_EQ(compared, 8);
  EXPECT_EQ(report["recommended"], 64);
}

TEST(SaltsCommand, ReadsTheWeightsOfProduction) {
  TempDir folder;
  std::ofstream(folder / "keys.csv") << "customer,orders\n\"big, inc\",6000\nsmall,10\nother,20\n";
  const Answer answer = weir({"salts", "--parallelism", "4", "--weights", folder / "keys.csv"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("max/mean"), HasSubstr("6,0"), HasSubstr("salts: the fewest with")));
}

TEST(SaltsCommand, NothingToSaltIsSaid) {
  TempDir folder;
  {
    std::ofstream file(folder / "keys.csv");
    for (int i = 0; i < 1000; ++i) file << "key-" << i << ",10\n";
  }
  const Answer answer = weir({"salts", "--parallelism", "4", "--weights", folder / "keys.csv"});
  EXPECT_THAT(answer.out, HasSubstr("there is nothing to salt"));
}

TEST(SaltsCommand, MistakesAreOneSentence) {
  TempDir folder;
  std::ofstream(folder / "bad.csv") << "key,count\na,1\nb,many\n";
  std::ofstream(folder / "none.csv") << "key,count\n";
  std::ofstream(folder / "text.csv") << "one\n";
  expectUsageError({"salts"}, {"--share", "--weights"});
  expectUsageError({"salts", "--share", "1.5"}, {"--share", "'1.5' is no share"});
  expectUsageError({"salts", "--share", "0.5", "--form", "pepper"}, {"'pepper' is no form of a salted key", "salt|key"});
  expectUsageError({"salts", "--weights", folder / "bad.csv"}, {"bad.csv:3: 'many' is no count"});
  expectUsageError({"salts", "--weights", folder / "none.csv"}, {"none.csv: no key with a count above 0"});
  expectUsageError({"salts", "--weights", folder / "text.csv"}, {"text.csv:1: no comma"});
  expectUsageError({"salts", "--weights", folder / "absent.csv"}, {"absent.csv"});
  expectUsageError({"salts", "--share", "0.5", "--parallelism", "200", "--max-parallelism", "128"}, {"the parallelism 200"});
}

}  // namespace
}  // namespace weir
