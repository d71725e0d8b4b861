#include "weir/config/known_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/golden.h"
#include "weir/config/config_option.h"

namespace weir {
namespace {

bool isTyped(const KnownOption& option) {
  return option.effect == OptionEffect::kUsed || option.effect == OptionEffect::kUsedFlink1 || option.effect == OptionEffect::kNotYet;
}

TEST(KnownOptions, AreSorted) {
  const auto& options = allOptions();
  EXPECT_GT(options.size(), 800u);
  EXPECT_TRUE(std::is_sorted(options.begin(), options.end(), [](const auto& a, const auto& b) { return a.key < b.key; }));
}

TEST(KnownOptions, HoldEveryOptionOfFlinkWithTypeDefaultAndFormerKeys) {
  for (const golden::Row& row : golden::readRows("config/all-options.tsv")) {
    const std::string& key = row.fields[0];
    if (key == "key" || key.starts_with("$internal") || key.starts_with("<")) continue;
    const KnownOption* known = findKnownOption(key);
    ASSERT_NE(known, nullptr) << key;
    EXPECT_EQ(known->type, row.fields[2] == "true" ? "List<" + row.fields[1] + ">" : row.fields[1]) << key;
    EXPECT_EQ(known->defaultValue, row.fields[3] == "(none)" ? "" : row.fields[3].empty() ? "(empty)" : row.fields[3]) << key;
    std::string aliases;
    for (const OptionAlias& alias : known->aliases) {
      aliases += (aliases.empty() ? "" : ",") + std::string(alias.deprecated ? "D:" : "F:") + std::string(alias.key);
    }
    // Spellings of Flink 1.x may follow that 2.3.0 no longer reads.
    EXPECT_EQ(aliases.substr(0, row.fields[4].size()), row.fields[4]) << key;
  }
}

TEST(KnownOptions, AreUsedOrWillBeWhereAndOnlyWhereTheEngineHasThemTyped) {
  std::set<std::string_view> typed;
  for (const TypedOption& option : typedOptions()) typed.insert(option.key);
  for (const KnownOption& option : allOptions()) {
    if (option.key.find('<') != std::string_view::npos) continue;
    EXPECT_EQ(isTyped(option), typed.contains(option.key)) << option.key;
    EXPECT_TRUE(!isTyped(option) || !option.description.empty()) << option.key;
  }
}

TEST(KnownOptions, AgreeWithTheTypedOnes) {
  for (const TypedOption& option : typedOptions()) {
    const KnownOption* known = findKnownOption(option.key);
    ASSERT_NE(known, nullptr) << option.key;
    EXPECT_EQ(option.defaultValue, known->defaultValue) << option.key;
    // Flink reads some enums as text.
    EXPECT_TRUE(option.type == "Enum" || option.type == known->type) << option.key << ": " << option.type;
  }
}

TEST(KnownOptions, StandForKeysWithAPlaceholder) {
  EXPECT_EQ(findKnownOption("metrics.reporter.prom.interval")->key, "metrics.reporter.<name>.interval");
  EXPECT_EQ(findKnownOption("metrics.reporter.prom.factory.class")->key, "metrics.reporter.<name>.factory.class");
  EXPECT_EQ(findKnownOption("metrics.reporter.prom.my.own")->key, "metrics.reporter.<name>.<parameter>");
  EXPECT_EQ(findKnownOption("metrics.reporter.prom"), nullptr);
}

TEST(KnownOptions, KnowTheirFormerKeys) {
  EXPECT_EQ(findKnownOption("web.port"), nullptr);
  const auto owners = optionsWithAlias("web.port");
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[0]->key, "rest.bind-port");
  EXPECT_EQ(owners[1]->key, "rest.port");
  EXPECT_TRUE(optionsWithAlias("rest.bind-port").empty());
}

TEST(NearestKey, IsFoundForTyposPrefixesAndCase) {
  EXPECT_EQ(nearestKnownKey("paralelism.default"), "parallelism.default");
  EXPECT_EQ(nearestKnownKey("taskmanager.numberoftaskslots"), "taskmanager.numberOfTaskSlots");
  EXPECT_EQ(nearestKnownKey("checkpointing.interval"), "execution.checkpointing.interval");
  EXPECT_EQ(nearestKnownKey("state.checkpoint.dir"), "execution.checkpointing.dir") << "through the former key state.checkpoints.dir";
  EXPECT_EQ(nearestKnownKey("weir.exekutor"), "weir.executor");
  EXPECT_EQ(nearestKnownKey("nothing.like.it.anywhere"), "");
  EXPECT_EQ(nearestKnownKey(""), "");
}

}  // namespace
}  // namespace weir
