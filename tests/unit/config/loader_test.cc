#include "weir/config/configuration_loader.h"

#include <gtest/gtest.h>

#include "weir/base/memory_file_system.h"

namespace weir {
namespace {

void put(FileSystem& files, const std::string& path, std::string_view text) {
  auto file = files.create(path, FileSystem::Create::kTruncate).value();
  ASSERT_FALSE(file->append(std::as_bytes(std::span(text.data(), text.size()))).has_error());
}

class ConfFolder : public ::testing::Test {
 protected:
  ConfFolder() { EXPECT_FALSE(files_.createDirectories("/conf").has_error()); }
  std::string nameRead(ConfigFiles which) {
    const auto configuration = loadConfiguration(files_, "/conf", which);
    return configuration.has_error() ? "(" + configuration.error().message + ")" : configuration->find("pipeline.name")->text;
  }
  MemoryFileSystem files_;
};

TEST_F(ConfFolder, WithBothFilesFollowsTheVersion) {
  put(files_, "/conf/config.yaml", "pipeline.name: new\n");
  put(files_, "/conf/flink-conf.yaml", "pipeline.name: old\n");
  EXPECT_EQ(nameRead(ConfigFiles::kFlink2), "new");
  EXPECT_EQ(nameRead(ConfigFiles::kFlink119), "old");
  EXPECT_EQ(nameRead(ConfigFiles::kEither), "new");
  const auto notes = loadConfiguration(files_, "/conf")->notes();
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes[0].text, "/conf holds both config.yaml and flink-conf.yaml: only /conf/config.yaml is read");
}

TEST_F(ConfFolder, WithTheOldFileAloneIsReadByDefault) {
  put(files_, "/conf/flink-conf.yaml", "pipeline.name: old\n");
  EXPECT_EQ(nameRead(ConfigFiles::kEither), "old");
  EXPECT_EQ(nameRead(ConfigFiles::kFlink119), "old");
  EXPECT_EQ(nameRead(ConfigFiles::kFlink2), "(The Flink config file '/conf/config.yaml' (/conf/config.yaml) does not exist.)");
}

TEST_F(ConfFolder, WithoutAFileIsAnError) {
  EXPECT_EQ(nameRead(ConfigFiles::kEither), "(The Flink config file '/conf/config.yaml' (/conf/config.yaml) does not exist.)");
}

TEST_F(ConfFolder, RefusesAFileThatCannotBeAConfiguration) {
  put(files_, "/conf/config.yaml", std::string((16 << 20) + 1, ' '));
  EXPECT_NE(nameRead(ConfigFiles::kEither).find("is no configuration: it has 16777217 bytes"), std::string::npos);
}

using Map = std::map<std::string, std::string>;

TEST(FlatFile, SplitsAtTheFirstColonAndBlank) {
  EXPECT_EQ(parseFlatConfiguration("a: b: c\n  key :  value  \r\nurl: http://h:1\n", "f").toMap(false),
            (Map{{"a", "b: c"}, {"key", "value"}, {"url", "http://h:1"}}));
}

TEST(FlatFile, CutsCommentsAnywhere) {
  EXPECT_EQ(parseFlatConfiguration("# all\na: b#c\nb: 'x # y'\n", "f").toMap(false), (Map{{"a", "b"}, {"b", "'x"}}));
}

TEST(FlatFile, LaterLinesWin) { EXPECT_EQ(parseFlatConfiguration("a: 1\na: 2", "f").toMap(false), (Map{{"a", "2"}})); }

TEST(FlatFile, KeepsTextAsItIs) {
  EXPECT_EQ(parseFlatConfiguration("a: 010\nb: \"q\"\nc: True\n", "f").toMap(false), (Map{{"a", "010"}, {"b", "\"q\""}, {"c", "True"}}));
}

TEST(FlatFile, NestedYamlGivesShortKeys) {
  EXPECT_EQ(parseFlatConfiguration("execution:\n  checkpointing:\n    interval: 10 s\n", "f").toMap(false), (Map{{"interval", "10 s"}}));
}

TEST(FlatFile, SkipsOddLinesWithANote) {
  const Configuration configuration = parseFlatConfiguration("\npipeline.name:x\n: v\nparallelism.default: \n", "flink-conf.yaml");
  EXPECT_TRUE(configuration.values().empty());
  const auto notes = configuration.notes();
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0].text, "flink-conf.yaml:2: skipped 'pipeline.name:x': a line is 'key: value', with a blank behind the colon");
  EXPECT_EQ(notes[1].text, "flink-conf.yaml:3: skipped ': v': key or value is empty");
  EXPECT_EQ(notes[2].text, "flink-conf.yaml:4: skipped 'parallelism.default:': key or value is empty");
}

TEST(FlatFile, RemembersLineAndColumn) {
  const Configuration configuration = parseFlatConfiguration("# c\n  a:  b\n", "flink-conf.yaml");
  EXPECT_EQ(configuration.find("a")->origin.prefix(), "flink-conf.yaml:2:7: ");
}

std::string yamlError(std::string_view text) {
  const auto configuration = parseYamlConfiguration(text, "config.yaml");
  return configuration.has_error() ? configuration.error().message : "(no error)";
}

TEST(YamlFile, AKeyThatIsSetTwiceByDifferentPathsIsTold) {
  const auto configuration = parseYamlConfiguration("parallelism:\n  default: 2\nparallelism.default: 3\n", "config.yaml");
  ASSERT_TRUE(configuration.has_value());
  EXPECT_EQ(configuration->find("parallelism.default")->text, "3") << "as in Flink";
  const auto notes = configuration->notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].text, "config.yaml:3:22: parallelism.default is set here and in line 2: what is set here counts");
}

TEST(YamlFile, LegacyClaimModeIsToldToBeNoClaim) {
  const auto configuration = parseYamlConfiguration("execution.state-recovery.claim-mode: LEGACY\n", "config.yaml");
  const auto notes = configuration->notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].level, LogLevel::kWarn);
  EXPECT_NE(notes[0].text.find("LEGACY is taken as NO_CLAIM"), std::string::npos);
}

TEST(YamlFile, PointsAtTheMistake) {
  EXPECT_EQ(yamlError("a: 1\nb:\n  c: 1\n  c: 2\n"), "config.yaml:4:3: Error parsing YAML configuration: found duplicate key c");
  EXPECT_EQ(yamlError("a:\n  b:\n"),
            "config.yaml:2:3: Error parsing YAML configuration: Value must not be null. Give 'a.b' a value or remove it");
  EXPECT_EQ(yamlError("x: 1\n2: y\n"), "config.yaml:2:1: Error parsing YAML configuration: a key must be a string: put it in quotes");
  EXPECT_EQ(yamlError("- a\n"), "config.yaml:1:1: Error parsing YAML configuration: the document must be a mapping, of lines 'key: value'");
}

TEST(YamlFile, CommaInFrontIsNoEndlessRowOfDocuments) {
  const auto read = parseYamlConfiguration(",: a\n", "config.yaml");
  ASSERT_TRUE(read.has_error());
  EXPECT_EQ(read.error().message, "config.yaml:1:1: Error parsing YAML configuration: a document cannot begin with this");
}

TEST(YamlFile, DoesNotFollowAliasesForever) {
  EXPECT_NE(yamlError("a: &x\n  b: *x\n").find("nested deeper than 100 levels"), std::string::npos) << yamlError("a: &x\n  b: *x\n");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k ? ", " : "") + before;
    bomb += "]\n";
  }
  EXPECT_NE(yamlError(bomb).find("more than 100000 values"), std::string::npos);
}

TEST(YamlFile, QuotesWhatWouldReadOtherwiseInsideAList) {
  EXPECT_EQ(parseYamlConfiguration("a: ['1', \"b, c\", d e, 'true', 'it''s']\n", "f")->find("a")->text,
            "['1', 'b, c', d e, 'true', 'it''s']");
}

}  // namespace
}  // namespace weir
