#include "weir/operators/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/gzip.h"
#include "support/operator_harness.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LineReaderTest : public ::testing::Test {
 protected:
  LineReader open(std::string_view bytes, LineReaderOptions options = {}) {
    machine_.write("/file", bytes);
    return std::move(LineReader::open(machine_.files, "/file", options).value());
  }
  static std::vector<std::string> readAll(LineReader& reader) {
    std::vector<std::string> lines;
    std::string_view line;
    while (reader.next(line)) lines.emplace_back(line);
    return lines;
  }
  std::vector<std::string> lines(std::string_view bytes, LineReaderOptions options = {}) {
    LineReader reader = open(bytes, options);
    auto all = readAll(reader);
    EXPECT_FALSE(reader.error()) << reader.error()->message;
    return all;
  }
  /// What opening or reading it fails with.
  Error failure(std::string_view bytes) {
    machine_.write("/file", bytes);
    auto reader = LineReader::open(machine_.files, "/file");
    if (reader.has_error()) return reader.error();
    readAll(*reader);
    return reader->error().value_or(Error{ErrorCode::kFailed, "(no failure)"});
  }
  testing::OperatorMachine machine_;
};

TEST_F(LineReaderTest, EndsLinesAtLfAndCrLfAndAtTheEndOfTheFile) {
  EXPECT_THAT(lines("a\nb\r\n\nc"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(lines("a\n"), ElementsAre("a"));
  EXPECT_THAT(lines(""), IsEmpty());
  EXPECT_THAT(lines("\n"), ElementsAre(""));
}

TEST_F(LineReaderTest, KeepsACarriageReturnThatEndsNoLine) { EXPECT_THAT(lines("a\rb\n"), ElementsAre("a\rb")); }

TEST_F(LineReaderTest, SaysNumberAndEndOfTheLine) {
  LineReader reader = open("a\r\nb\nc");
  std::string_view line;
  for (const std::string_view end : {"\r\n", "\n", ""}) {
    ASSERT_TRUE(reader.next(line));
    EXPECT_EQ(reader.lineEnd(), end);
  }
  EXPECT_EQ(reader.lineNumber(), 3);
  EXPECT_FALSE(reader.next(line));
  EXPECT_FALSE(reader.next(line));
  EXPECT_FALSE(reader.error());
}

TEST_F(LineReaderTest, LeavesOutAByteOrderMark) {
  EXPECT_THAT(lines("\xef\xbb\xbf" "a\n"), ElementsAre("a"));
  EXPECT_THAT(lines("\xef\xbb\xbf"), IsEmpty());
  EXPECT_THAT(lines("\xef\xbb"), ElementsAre("\xef\xbb"));
}

TEST_F(LineReaderTest, LinesMayLieAcrossBuffersOfAnySize) {
  std::string text;
  std::vector<std::string> expected;
  for (size_t length = 0; length < 200; ++length) {
    expected.emplace_back(length, static_cast<char>('a' + length % 26));
    text += expected.back() + (length % 3 == 0 ? "\r\n" : "\n");
  }
  for (size_t buffer : {16, 17, 100, 1000, 100'000}) EXPECT_EQ(lines(text, {.bufferBytes = buffer}), expected) << buffer;
  EXPECT_EQ(lines(testing::gzip(text), {.bufferBytes = 16}), expected);
}

TEST_F(LineReaderTest, ReadsGzipWhateverItsName) {
  EXPECT_THAT(lines(testing::gzip("a\nb\n")), ElementsAre("a", "b"));
  EXPECT_THAT(lines(testing::gzip("")), IsEmpty());
}

TEST_F(LineReaderTest, ReadsGzipMembersBehindEachOtherAndZerosAtTheEnd) {
  EXPECT_THAT(lines(testing::gzip("a\nb") + testing::gzip("") + testing::gzip("c\nd\n") + std::string(600, '\0')),
              ElementsAre("a", "bc", "d"));
}

TEST_F(LineReaderTest, EveryCutOffGzipIsAnErrorThatNamesTheFile) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::to_string(i * 7919) + "\n";
  const std::string packed = testing::gzip(text);
  for (size_t size = 2; size < packed.size(); ++size) {
    ASSERT_THAT(failure(packed.substr(0, size)).message, AllOf(HasSubstr("/file is cut off"), HasSubstr("get the whole file"))) << size;
  }
}

TEST_F(LineReaderTest, DamagedGzipIsAnError) {
  std::string packed = testing::gzip("some text that is packed\n");
  packed[packed.size() - 6] ^= 1;  // the checksum
  EXPECT_THAT(failure(packed).message, HasSubstr("/file is damaged"));
  EXPECT_EQ(failure(packed).code, ErrorCode::kCorrupt);
  EXPECT_THAT(failure(testing::gzip("a\n") + "plain text behind it").message, HasSubstr("/file is damaged"));
}

TEST_F(LineReaderTest, BoundsTheLengthOfALine) {
  EXPECT_THAT(lines(std::string(100, 'x') + "\n", {.maxLineBytes = 100, .bufferBytes = 16}), ElementsAre(std::string(100, 'x')));
  for (const size_t length : {size_t{101}, size_t{1'000'000}}) {
    LineReader reader = open("short\n" + std::string(length, 'x'), {.maxLineBytes = 100, .bufferBytes = 16});
    EXPECT_THAT(readAll(reader), ElementsAre("short"));
    ASSERT_TRUE(reader.error());
    EXPECT_THAT(reader.error()->message, HasSubstr("/file line 2 is longer than 100 bytes"));
  }
}

TEST_F(LineReaderTest, FailedReadIsAnErrorAndNotTheEndOfTheFile) {
  machine_.faults.add({.path = "/file", .operations = {FileOperation::kRead}, .afterCalls = 2});
  LineReader reader = open(std::string(1000, 'x') + "\n" + std::string(1000, 'y'), {.bufferBytes = 64});
  readAll(reader);
  ASSERT_TRUE(reader.error());
  EXPECT_THAT(reader.error()->message, HasSubstr("/file"));
}

TEST_F(LineReaderTest, AMissingFileIsNotFound) {
  const auto opened = LineReader::open(machine_.files, "/nothing");
  ASSERT_TRUE(opened.has_error());
  EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace weir
