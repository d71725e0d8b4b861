#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

namespace weir {

namespace detail {

/// By the size of a ShortText.
struct ShortTextTables {
  std::array<uint64_t, 33> low{}, high{};  ///< masks of what belongs to the text in the two words of its first block
  std::array<uint64_t, 33> lastBlockAt{};

  constexpr ShortTextTables() {
    for (size_t size = 0; size <= 32; ++size) {
      low[size] = firstBytes(size);
      high[size] = size > 8 ? firstBytes(size - 8) : 0;
      lastBlockAt[size] = size > 16 ? size - 16 : 0;
    }
  }
  static constexpr uint64_t firstBytes(size_t n) { return n >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * n) - 1; }
};
inline constexpr ShortTextTables kShortTextTables;

}  // namespace detail

/// Texts of up to 32 bytes, as most keys are, looked at without a branch on their length: lengths vary from record to record, and a branch
/// that is guessed wrong costs more than all the work on such a text. Two blocks of 16 bytes hold all of it: the first ones, and the last
/// ones, which overlap or, up to 16 bytes, are the same. So 16 bytes must be readable, whatever the length; what lies behind the end of the
/// text is masked out, and may be uninitialized.
class ShortText {
 public:
  static constexpr size_t kMaxSize = 32, kBlock = 16;
  static bool fits(const std::string& text) { return text.size() <= kMaxSize; }

  /// Requires: `size` <= kMaxSize, max(size, kBlock) readable bytes.
  ShortText(const char* text, size_t size)
      : first_(text), last_(text + detail::kShortTextTables.lastBlockAt[size]), low_(detail::kShortTextTables.low[size]),
        high_(detail::kShortTextTables.high[size]) {}
  /// Requires: fits(text).
  explicit ShortText(const std::string& text) : ShortText(text.data(), text.size()) {}

  // Words of the two blocks, without what does not belong to the text. Where it has at most 16 bytes the blocks are equal.
  uint64_t word0() const { return load(first_) & low_; }
  uint64_t word1() const { return load(first_ + 8) & high_; }
  uint64_t word2() const { return load(last_) & low_; }
  uint64_t word3() const { return load(last_ + 8) & high_; }

  bool isAscii() const { return ((word0() | word1() | word2() | word3()) & 0x8080808080808080) == 0; }
  /// Requires: texts of the same size.
  bool equals(const ShortText& other) const {
    return ((word0() ^ other.word0()) | (word1() ^ other.word1()) | (word2() ^ other.word2()) | (word3() ^ other.word3())) == 0;
  }
  /// Requires: max(size, kBlock) writable bytes at `at`, all of which are written.
  void copyTo(void* at) const {
    char first[kBlock], last[kBlock];
    std::memcpy(first, first_, kBlock);
    std::memcpy(last, last_, kBlock);
    std::memcpy(at, first, kBlock);
    std::memcpy(static_cast<char*>(at) + (last_ - first_), last, kBlock);
  }

 private:
  static uint64_t load(const char* at) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    return word;
  }
  const char* first_;
  const char* last_;
  uint64_t low_, high_;
};

static_assert(std::endian::native == std::endian::little, "the first character of a word must be its lowest byte");

// Every std::string of libstdc++ owns 16 bytes at least: those in itself, or more on the heap.
static_assert(sizeof(std::string) == 32, "ShortText reads 16 bytes of any std::string: does this library have them?");

}  // namespace weir
