#include "weir/record/short_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "weir/record/string_value.h"

namespace weir {
namespace {

std::string letters(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}
/// The same text in memory that holds something else behind it.
std::string withDirtyTail(const std::string& text) {
  std::string dirty(64, '\xff');
  dirty.assign(text);
  return dirty;
}

TEST(ShortTextTest, EqualsOnlyTheSameCharactersWhateverLiesBehindThem) {
  for (size_t size = 0; size <= ShortText::kMaxSize; ++size) {
    const std::string text = letters(size), dirty = withDirtyTail(text);
    EXPECT_TRUE(ShortText(text).equals(ShortText(dirty))) << size;
    for (size_t i = 0; i < size; ++i) {
      std::string other = text;
      other[i] = '!';
      EXPECT_FALSE(ShortText(text).equals(ShortText(other))) << size << " " << i;
    }
  }
}

TEST(ShortTextTest, KnowsWhetherEveryCharacterIsAscii) {
  for (size_t size = 0; size <= ShortText::kMaxSize; ++size) {
    EXPECT_TRUE(ShortText(withDirtyTail(letters(size))).isAscii()) << size;
    for (size_t i = 0; i < size; ++i) {
      std::string other = letters(size);
      other[i] = '\x80';
      EXPECT_FALSE(ShortText(other).isAscii()) << size << " " << i;
    }
  }
}

TEST(ShortTextTest, IsWrittenAsAnyOtherString) {
  for (size_t size = 0; size <= 40; ++size) {
    const std::string text = letters(size);
    std::vector<uint8_t> whole(stringValueMaxSize(text), 0xee), plain = whole;
    const uint8_t* end = writeStringValue(whole.data(), text);
    const uint8_t* plainEnd = writeStringValue(plain.data(), std::string_view(text));
    ASSERT_EQ(end - whole.data(), plainEnd - plain.data());
    EXPECT_TRUE(std::equal(plain.data(), plain.data() + (plainEnd - plain.data()), whole.data())) << size;
    DataInput in({whole.data(), end});
    std::string back;
    EXPECT_TRUE(readStringValue(in, back));
    EXPECT_EQ(back, text);
  }
}

}  // namespace
}  // namespace weir
