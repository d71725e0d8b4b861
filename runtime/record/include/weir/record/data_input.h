#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/record/big_endian.h"

namespace weir {

/// Reads a span of bytes from front to back, numbers with the most significant byte first, and never past its end.
///
/// Flink: DataInputDeserializer. Differs: does not throw. The first read that asks for more than there is (or that fails a
/// check of its caller, see fail()) puts the input into the failed state: from then on it is empty and every read returns zero.
/// So a caller reads all fields in a row and asks failed() once.
/// Threads: belongs to its owner. The bytes must outlive it.
class DataInput {
 public:
  explicit DataInput(std::span<const uint8_t> bytes) : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  bool readBoolean() { return number<uint8_t>() != 0; }
  int8_t readByte() { return number<int8_t>(); }
  uint8_t readUnsignedByte() { return number<uint8_t>(); }
  int16_t readShort() { return number<int16_t>(); }
  uint16_t readUnsignedShort() { return number<uint16_t>(); }
  char16_t readChar() { return static_cast<char16_t>(number<uint16_t>()); }
  int32_t readInt() { return number<int32_t>(); }
  int64_t readLong() { return number<int64_t>(); }
  float readFloat() { return number<float>(); }
  double readDouble() { return number<double>(); }
  /// Any arithmetic type.
  template <class T>
  T number() {
    if (__builtin_expect(remaining() < sizeof(T), 0)) {
      fail("ends too early");
      return T{};
    }
    T value = loadBigEndian<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  /// The next `size` bytes, in place; empty where there are fewer.
  std::span<const uint8_t> take(size_t size) {
    if (__builtin_expect(remaining() < size, 0)) {
      fail("ends too early");
      return {};
    }
    at_ += size;
    return {at_ - size, size};
  }
  /// Java's readUTF, as UTF-8. Modified UTF-8 that no Java writes (a lone surrogate included) fails the input.
  std::string readUtf();

  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  /// How many bytes were read. After a failure: where it happened.
  size_t position() const { return failure_ ? failedAt_ : static_cast<size_t>(at_ - begin_); }
  std::span<const uint8_t> rest() const { return {at_, remaining()}; }
  /// The next byte to be read; valid where remaining() > 0. For decoders that advance by themselves.
  const uint8_t* at() const { return at_; }
  void skipTo(const uint8_t* at) { at_ = at; }

  /// Marks the bytes as corrupt; `why` is a literal that continues "<what> ...". The first reason stays.
  [[gnu::cold, gnu::noinline]] bool fail(const char* why);
  bool failed() const { return failure_ != nullptr; }
  bool ok() const { return failure_ == nullptr; }
  /// "`what` ends too early (at byte 12 of 30)". Requires: failed().
  Error error(std::string_view what) const;

 private:
  const uint8_t* begin_;
  const uint8_t* at_;
  const uint8_t* end_;
  const char* failure_ = nullptr;
  size_t failedAt_ = 0, sizeAtFailure_ = 0;
};

}  // namespace weir
