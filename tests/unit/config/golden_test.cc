#include <gtest/gtest.h>

#include <fmt/format.h>

#include "support/golden_tsv.h"
#include "weir/base/memory_file_system.h"
#include "weir/config/checkpointing_options.h"
#include "weir/config/configuration.h"
#include "weir/config/configuration_loader.h"

// Each row of tests/golden/config was made by a real Flink 2.3.0.
namespace weir {
namespace {

using testing::goldenMessages;
using testing::GoldenRow;
using testing::goldenRows;

std::string rowName(const ::testing::TestParamInfo<GoldenRow>& row) { return "Line" + std::to_string(row.param.line); }

/// "first second" at the first blank.
std::pair<std::string, std::string> atBlank(const std::string& text) {
  const size_t blank = text.find(' ');
  return {text.substr(0, blank), text.substr(blank + 1)};
}

template <class T>
std::string shown(const T& value) {
  return ConfigType<T>::print(value);
}
std::string shown(const Duration& value) { return value.toIsoString(); }
std::string shown(const ConfigMap& value) {
  std::string text;
  for (const auto& [key, item] : value) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, item);
  return "{" + text + "}";
}
template <class T>
std::string shown(const std::vector<T>& value) {
  std::string text;
  for (const T& item : value) text += "[" + shown(item) + "]";
  return value.empty() ? "(empty list)" : text;
}

/// The option `key` of type T, as the golden file prints what Flink saw.
template <class T>
std::string read(const Configuration& configuration, const std::string& key, const char* absent) {
  const auto value = configuration.getOptional(ConfigOption<T>{key});
  if (value.has_error()) return "error: " + value.error().message;
  return *value ? shown(**value) : absent;
}

std::string readAs(const std::string& type, const Configuration& configuration, const std::string& key, const char* absent) {
  if (type == "boolean") return read<bool>(configuration, key, absent);
  if (type == "int") return read<int32_t>(configuration, key, absent);
  if (type == "long") return read<int64_t>(configuration, key, absent);
  if (type == "float") return read<float>(configuration, key, absent);
  if (type == "double") return read<double>(configuration, key, absent);
  if (type == "string") return read<std::string>(configuration, key, absent);
  if (type == "duration") return read<Duration>(configuration, key, absent);
  if (type == "memory") return read<MemorySize>(configuration, key, absent);
  if (type == "enum") return read<CheckpointingMode>(configuration, key, absent);
  if (type == "list") return read<std::vector<std::string>>(configuration, key, absent);
  if (type == "intlist") return read<std::vector<int32_t>>(configuration, key, absent);
  if (type == "map") return read<ConfigMap>(configuration, key, absent);
  throw std::runtime_error("no type " + type);
}

class OptionRow : public ::testing::TestWithParam<GoldenRow> {};

TEST_P(OptionRow, ReadsTheValueAsFlinkDoes) {
  const auto [type, text] = atBlank(GetParam().column(0));
  const std::string expected = GetParam().column(2);
  const auto configuration = parseYamlConfiguration("x: " + text + "\n", "config.yaml");
  if (configuration.has_error()) {
    EXPECT_EQ(GetParam().column(1), "error") << configuration.error().message;
    EXPECT_EQ(expected.find("RuntimeException: Error parsing YAML configuration."), 0u);
    EXPECT_EQ(configuration.error().message.find("config.yaml:"), 0u) << configuration.error().message;
    EXPECT_NE(configuration.error().message.find(": Error parsing YAML configuration: "), std::string::npos);
    return;
  }
  const std::string actual = readAs(type, *configuration, "x", "(absent)");
  if (GetParam().column(1) == "ok") {
    EXPECT_EQ(actual, expected);
    return;
  }
  const auto messages = goldenMessages(expected);
  ASSERT_EQ(messages.size(), 2u);
  const std::string head = messages[0].substr(0, messages[0].size() - 1);  // without the full stop
  EXPECT_EQ(actual, "error: config.yaml:1:4: " + head + ": " + messages[1]);
}

INSTANTIATE_TEST_SUITE_P(Golden, OptionRow, ::testing::ValuesIn(goldenRows("config/options.tsv")), rowName);

class ConfigFileRow : public ::testing::TestWithParam<GoldenRow> {};

TEST_P(ConfigFileRow, IsFlattenedAsFlinkDoes) {
  std::string text = GetParam().column(0), name = "config.yaml", folder = "/conf";
  if (const size_t bar = text.find('|'); bar != std::string::npos && text.substr(0, bar).find('\n') == std::string::npos &&
                                         (text.starts_with("(") || text.substr(0, bar).ends_with("ml"))) {
    name = text.substr(0, bar);
    text = text.substr(bar + 1);
  }
  MemoryFileSystem files;
  if (name == "(missing folder)")
    folder = "/does/not/exist";
  else
    ASSERT_FALSE(files.createDirectories(folder).has_error());
  if (!name.starts_with("(")) {
    auto file = files.create(folder + "/" + name, FileSystem::Create::kNew).value();
    ASSERT_FALSE(file->append(std::as_bytes(std::span(text))).has_error());
  }
  const auto configuration = loadConfiguration(files, folder, ConfigFiles::kFlink2);
  const std::string expected = GetParam().column(2);
  if (GetParam().column(1) == "error") {
    ASSERT_TRUE(configuration.has_error()) << shown(configuration->toMap(false));
    if (expected.starts_with("RuntimeException")) {
      EXPECT_EQ(configuration.error().message.find("/conf/config.yaml:"), 0u) << configuration.error().message;
      EXPECT_NE(configuration.error().message.find(": Error parsing YAML configuration: "), std::string::npos);
    } else {
      EXPECT_EQ(configuration.error().message, goldenMessages(expected).front());
    }
    return;
  }
  ASSERT_TRUE(configuration.has_value()) << configuration.error().message;
  EXPECT_EQ(shown(configuration->toMap(false)), expected);
}

INSTANTIATE_TEST_SUITE_P(Golden, ConfigFileRow, ::testing::ValuesIn(goldenRows("config/config-yaml.tsv")), rowName);

class FallbackRow : public ::testing::TestWithParam<GoldenRow> {};

TEST_P(FallbackRow, FindsTheValueUnderFormerKeys) {
  const std::string text = GetParam().column(0);
  const size_t bar = text.find(" | ");
  const std::string key = text.substr(0, bar);
  std::string sets = text.substr(bar + 3);
  Configuration configuration;
  while (sets != "(nothing)" && !sets.empty()) {
    const size_t comma = std::min(sets.find(", "), sets.size());
    ASSERT_FALSE(configuration.setDynamic(sets.substr(0, comma)).has_error());
    sets.erase(0, comma + 2);
  }
  const KnownOption* known = findKnownOption(key);
  ASSERT_NE(known, nullptr) << key;
  const std::map<std::string_view, std::string> types{
      {"Boolean", "boolean"}, {"Integer", "int"}, {"String", "string"}, {"Duration", "duration"}, {"MemorySize", "memory"}};
  const std::string fallback = known->defaultValue.empty() ? "null" : std::string(known->defaultValue);
  EXPECT_EQ(readAs(types.at(known->type), configuration, key, fallback.c_str()), GetParam().column(2));
}

INSTANTIATE_TEST_SUITE_P(Golden, FallbackRow, ::testing::ValuesIn(goldenRows("config/fallback-keys.tsv")), rowName);

class SplitterRow : public ::testing::TestWithParam<GoldenRow> {};

TEST_P(SplitterRow, SplitsAsFlinkDoes) {
  const std::string text = GetParam().column(0);
  const auto parts = splitStructured(text.substr(2), text[0]);
  if (GetParam().column(1) == "error") {
    ASSERT_TRUE(parts.has_error());
    EXPECT_EQ(parts.error().message, goldenMessages(GetParam().column(2)).front());
    return;
  }
  ASSERT_TRUE(parts.has_value()) << parts.error().message;
  std::string joined;
  for (const std::string& part : *parts) joined += "[" + part + "]";
  EXPECT_EQ(joined, GetParam().column(2));
}

INSTANTIATE_TEST_SUITE_P(Golden, SplitterRow, ::testing::ValuesIn(goldenRows("config/splitter.tsv")), rowName);

class SensitiveKeyRow : public ::testing::TestWithParam<GoldenRow> {};

TEST_P(SensitiveKeyRow, IsHiddenWhereFlinkHidesIt) {
  EXPECT_EQ(isSensitiveKey(GetParam().column(0)) ? "true" : "false", GetParam().column(2));
}

INSTANTIATE_TEST_SUITE_P(Golden, SensitiveKeyRow, ::testing::ValuesIn(goldenRows("config/sensitive-keys.tsv")), rowName);

class DurationOptionRow : public ::testing::TestWithParam<GoldenRow> {};

TEST_P(DurationOptionRow, ReadsTheSameFromTheCommandLine) {
  Configuration configuration;
  configuration.setText("x", GetParam().column(0), {.source = "-D"});
  const auto value = configuration.get(ConfigOption<Duration>{"x", Duration()});
  EXPECT_EQ(value.has_error() ? "error" : "ok", GetParam().column(1));
  if (value.has_value()) {
    EXPECT_EQ(value->toString(), GetParam().column(3));
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, DurationOptionRow, ::testing::ValuesIn(goldenRows("config/durations.tsv")), rowName);

class MemorySizeOptionRow : public ::testing::TestWithParam<GoldenRow> {};

TEST_P(MemorySizeOptionRow, ReadsTheSameFromTheCommandLine) {
  Configuration configuration;
  configuration.setText("x", GetParam().column(0), {.source = "-D"});
  const auto value = configuration.get(ConfigOption<MemorySize>{"x", MemorySize()});
  EXPECT_EQ(value.has_error() ? "error" : "ok", GetParam().column(1));
  if (value.has_value()) {
    EXPECT_EQ(value->toString(), GetParam().column(3));
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, MemorySizeOptionRow, ::testing::ValuesIn(goldenRows("config/memory-sizes.tsv")), rowName);

}  // namespace
}  // namespace weir
