#include "support/golden.h"

#include <gtest/gtest-spi.h>

namespace weir::golden {
namespace {

TEST(Golden, CommentsHaveNoTabAndRowsMayStartWithAHash) {
  const std::vector<Row> rows = readRows("config/config-yaml.tsv");
  ASSERT_GE(rows.size(), 3u);
  EXPECT_EQ(rows[0].line, 2);
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"", "ok", "{}"}));
  EXPECT_EQ(rows[1].fields.at(0), "# only a comment\\n");
}

TEST(Golden, KeepsEmptyFieldsAlsoAtTheEnd) {
  const std::vector<Row> rows = readRows("config/splitter.tsv");
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"; ", "ok", ""}));
}

TEST(Golden, UnescapesWhatTheConfigFilesEscape) { EXPECT_EQ(unescape("a\\tb\\nc\\r\\\\n"), "a\tb\nc\r\\n"); }

TEST(Golden, ReadsHex) {
  EXPECT_EQ(fromHex("00ff1a"), (std::vector<std::byte>{std::byte{0}, std::byte{255}, std::byte{0x1a}}));
  EXPECT_NONFATAL_FAILURE(fromHex("0g"), "is not hex");
  EXPECT_NONFATAL_FAILURE(fromHex("012"), "is not hex");
}

TEST(Golden, AMissingFileFailsTheTest) {
  EXPECT_NONFATAL_FAILURE(readText("no-such-file"), "cannot read the golden file");
}

}  // namespace
}  // namespace weir::golden
