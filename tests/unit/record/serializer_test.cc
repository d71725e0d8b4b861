#include "weir/record/serializer.h"

#include <gtest/gtest.h>

#include "support/golden_bytes.h"
#include "weir/base/random.h"

namespace weir {
namespace {

using test::fromHex;
using test::toHex;

struct Flight {
  std::string carrier;
  int32_t number = 0;
  std::optional<double> delay;
  WEIR_FIELDS(carrier, number, delay)
  bool operator==(const Flight&) const = default;
};
/// Names its members by hand, and nests another struct.
struct Leg {
  Flight flight;
  std::vector<std::string> seats;
  static auto fields(auto& self) { return std::tie(self.flight, self.seats); }
  bool operator==(const Leg&) const = default;
};
struct Point {
  int32_t x = 0;
  double y = 0;
  WEIR_FIELDS(x, y)
};

template <class T>
std::string hexOf(const T& value) {
  DataOutput out;
  serialize(out, value);
  EXPECT_LE(out.size(), Serializer<T>::maxSize(value));
  return toHex(out.bytes());
}
template <class T>
void expectRoundTrip(const T& value) {
  DataOutput out;
  serialize(out, value);
  auto back = deserialize<T>(out.bytes());
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(*back, value);
}

TEST(Serializer, AStructIsItsFieldsBackToBack) {
  EXPECT_EQ(hexOf(Flight{"AA", 7, 1.5}),
            "034141"
            "00000007"
            "00"
            "3ff8000000000000");
  EXPECT_EQ(hexOf(Flight{"AA", 7, std::nullopt}),
            "034141"
            "00000007"
            "01");
  EXPECT_EQ(hexOf(Leg{{"", 1, std::nullopt}, {"1A"}}),
            "01"
            "00000001"
            "01"
            "00000001"
            "033141");
  expectRoundTrip(Leg{{"UA", 1, 0.25}, {"1A", "", "\u00e9"}});
}

TEST(Serializer, KnowsAtCompileTimeWhatHasAFixedSize) {
  static_assert(Serializer<int64_t>::kFixedSize == 8 && Serializer<bool>::kFixedSize == 1 && Serializer<char16_t>::kFixedSize == 2);
  static_assert(Serializer<Point>::kFixedSize == 12 && Serializer<std::pair<int8_t, float>>::kFixedSize == 5);
  static_assert(Serializer<std::string>::kFixedSize == 0 && Serializer<Flight>::kFixedSize == 0);
  static_assert(Serializer<long long>::kFixedSize == 8);
}

TEST(Serializer, KnowsWhatItCannotSerialize) {
  enum class Colour { kRed };
  static_assert(!Serializable<Colour> && !Serializable<char> && !Serializable<uint32_t> && !Serializable<void*> &&
                !Serializable<const char*>);
  static_assert(!Serializable<std::vector<Colour>> && !Serializable<std::pair<int32_t, void*>> && !Serializable<std::vector<bool>>);
  static_assert(Serializable<Leg> && Serializable<std::map<std::string, std::vector<Leg>>>);
}

TEST(Serializer, WritesEveryNanAsTheOneOfJava) {
  EXPECT_EQ(hexOf(-std::numeric_limits<double>::quiet_NaN()), "7ff8000000000000");
  EXPECT_EQ(hexOf(std::bit_cast<float>(0xffc00001)), "7fc00000");
}

TEST(Serializer, ReusesTheMemoryOfItsTarget) {
  std::vector<std::string> target(8, std::string(100, 'x'));
  const char* memory = target[0].data();
  auto bytes = fromHex(
      "00000002"
      "026103"
      "6263");
  DataInput in(bytes);
  ASSERT_TRUE(Serializer<std::vector<std::string>>::read(in, target));
  EXPECT_EQ(target, (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(target[0].data(), memory);
}

TEST(Serializer, RefusesMoreElementsThanBytesBeforeItAllocates) {
  EXPECT_FALSE(deserialize<std::vector<int64_t>>(fromHex("7fffffff00")).has_value());
  EXPECT_FALSE(deserialize<std::vector<int64_t>>(fromHex("ffffffff00")).has_value());
  EXPECT_FALSE(deserialize<std::vector<uint8_t>>(fromHex("00000002ff")).has_value());
  EXPECT_FALSE((deserialize<std::map<bool, bool>>(fromHex("00000007ff")).has_value()));
  EXPECT_EQ(deserialize<std::string>(fromHex("0361"), "The key").error().message,
            "The key announces a string longer than its bytes (at byte 1 of 2)");
}

TEST(Serializer, RefusesBytesBehindAValue) {
  auto value = deserialize<int32_t>(fromHex("0000000100"));
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().code, ErrorCode::kCorrupt);
}

TEST(StringValue, LengthsTakeSevenBitsAByte) {
  for (size_t size : {0u, 1u, 125u, 126u, 127u, 128u, 16381u, 16382u, 16383u, 16384u, 70000u}) {
    std::string text(size, 'q');
    DataOutput out;
    serialize(out, text);
    EXPECT_EQ(out.size(), size + (size + 1 < 128 ? 1 : size + 1 < 16384 ? 2 : 3));
    expectRoundTrip(text);
  }
}

TEST(StringValue, EveryCodePointIsReadBack) {
  std::string text;
  for (uint32_t point = 0; point <= 0x10ffff; point += point < 0x3000 ? 1 : 97) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    char bytes[4];
    text.assign(bytes, putCodePoint(bytes, point));
    ASSERT_TRUE(isValidUtf8(text)) << point;
    DataOutput out;
    serialize(out, text);
    ASSERT_LE(out.size(), stringValueMaxSize(text)) << point;
    ASSERT_EQ(deserialize<std::string>(out.bytes()).value(), text) << point;
  }
}

TEST(StringValue, ThatIsNoUtf8FailsTheTaskAndNamesTheByte) {
  for (std::string text :
       {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff", "\xe4\xb8"}) {
    EXPECT_FALSE(isValidUtf8(text));
    DataOutput out;
    EXPECT_THROW(serialize(out, text), Throwable);
  }
  try {
    DataOutput out;
    serialize(out, std::string("0123456789\xff"));
    FAIL();
  } catch (const Throwable& error) {
    EXPECT_EQ(error.className(), "java.nio.charset.MalformedInputException");
    EXPECT_NE(error.message().find("at byte 10"), std::string::npos) << error.message();
  }
}

TEST(StringValue, UnitsThatNoStringHasAreRefused) {
  EXPECT_FALSE(deserialize<std::string>(fromHex("0280b003")).has_value()) << "a high surrogate alone";
  EXPECT_FALSE(deserialize<std::string>(fromHex("0280b803")).has_value()) << "a low surrogate alone";
  EXPECT_FALSE(deserialize<std::string>(fromHex("03"
                                                "80b003"
                                                "61"))
                   .has_value())
      << "a high surrogate before a letter";
  EXPECT_FALSE(deserialize<std::string>(fromHex("02808004")).has_value()) << "above 65535";
  EXPECT_FALSE(deserialize<std::string>(fromHex("ffffffff7f")).has_value()) << "a length of 35 bits";
  EXPECT_FALSE(deserialize<std::string>(fromHex("02e9")).has_value()) << "cut inside a unit";
}

TEST(DataInput, StaysFailedAndReturnsZeroes) {
  auto bytes = fromHex("00000001ff");
  DataInput in(bytes);
  EXPECT_EQ(in.readInt(), 1);
  EXPECT_EQ(in.readLong(), 0);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.readByte(), 0) << "not the byte that is left";
  EXPECT_TRUE(in.take(1).empty());
  EXPECT_EQ(in.position(), 4u);
  EXPECT_EQ(in.error("A file").message, "A file ends too early (at byte 4 of 5)");
}

TEST(DataOutput, WritesJavasModifiedUtf8AndReadsItBack) {
  std::string text("a\0\u00e9\u4e2d\U0001F600", 11);
  DataOutput out;
  out.writeUtf(text);
  EXPECT_EQ(toHex(out.bytes()),
            "000e"
            "61"
            "c080"
            "c3a9"
            "e4b8ad"
            "eda0bdedb880");
  DataInput in(out.bytes());
  EXPECT_EQ(in.readUtf(), text);
  EXPECT_TRUE(in.ok());
  out.clear();
  EXPECT_THROW(out.writeUtf(std::string(65536, 'x')), Throwable);
  out.writeUtf(std::string(65535, 'x'));
  EXPECT_EQ(out.size(), 65537u);
}

TEST(DataInput, RefusesNamesThatJavaDoesNotWrite) {
  for (const char* hex : {"0001ff", "0001c3", "0002c361", "0003eda0bd", "0003edb880", "0004eda0bd61", "0005"}) {
    auto bytes = fromHex(hex);
    DataInput in(bytes);
    EXPECT_EQ(in.readUtf(), "");
    EXPECT_TRUE(in.failed()) << hex;
  }
}

TEST(DataOutput, KeepsItsContentWhileItGrowsAndPatchesLengths) {
  DataOutput out(1);
  out.writeInt(0);
  for (int32_t i = 0; i < 1000; ++i) out.writeInt(i);
  out.patchInt(0, 4000);
  DataInput in(out.bytes());
  EXPECT_EQ(in.readInt(), 4000);
  for (int32_t i = 0; i < 1000; ++i) ASSERT_EQ(in.readInt(), i);
  EXPECT_DEATH(out.patchInt(out.size() - 3, 1), "");
}

TEST(Serializer, RandomBytesNeverDoMoreThanFail) {
  Random random(11);
  using Deep = std::map<std::string, std::vector<std::tuple<std::optional<std::string>, std::vector<uint8_t>, Leg>>>;
  int accepted = 0;
  for (int i = 0; i < 50000; ++i) {
    std::vector<uint8_t> bytes(random.below(60));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.oneIn(3) ? random.below(4) : random.next());
    accepted += deserialize<Deep>(bytes).has_value();
    accepted += deserialize<std::vector<std::optional<int16_t>>>(bytes).has_value();
    accepted += deserialize<std::string>(bytes).has_value();
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace weir
