#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "support/golden_bytes.h"
#include "weir/record/stream_element.h"

namespace weir {
namespace {

using test::fromHex;
using test::goldenRows;
using test::Row;
using test::toHex;

/// What Flink's window namespace looks like, as a struct of ours.
struct Window {
  int64_t start = 0, end = 0;
  WEIR_FIELDS(start, end)
  bool operator==(const Window&) const = default;
};

/// Reads the notation of the value column.
class Notation {
 public:
  explicit Notation(const std::string& text) : text_(text) {}
  bool done() const { return at_ == text_.size(); }

  void parse(bool& into) { into = word() == "true"; }
  void parse(std::string& into) { into = prefixed("utf8:"); }
  void parse(std::vector<uint8_t>& into) {
    auto bytes = prefixed("hex:");
    into.assign(bytes.begin(), bytes.end());
  }
  void parse(char16_t& into) {
    expect("U+");
    into = static_cast<char16_t>(std::stoi(word(), nullptr, 16));
  }
  template <class T>
  requires std::floating_point<T>
  void parse(T& into) { into = static_cast<T>(std::stod(word())); }
  template <class T>
  requires detail::SignedInteger<T>
  void parse(T& into) { into = static_cast<T>(std::stoll(word())); }
  template <class T>
  void parse(std::optional<T>& into) {
    into.reset();
    if (text_.compare(at_, 4, "null") == 0)
      at_ += 4;
    else
      parse(into.emplace());
  }
  template <class... F>
  void parse(std::tuple<F...>& into) {
    expect("(");
    std::apply([&](auto&... f) { ((parse(f), at_ += text_[at_] == ','), ...); }, into);
    expect(")");
  }
  template <class T>
  void parse(std::vector<T>& into) {
    for (expect("["); text_[at_] != ']'; at_ += text_[at_] == ',') parse(into.emplace_back());
    expect("]");
  }
  template <class K, class V>
  void parse(std::map<K, V>& into) {
    for (expect("{"); text_[at_] != '}'; at_ += text_[at_] == ',') {
      K key{};
      parse(key);
      expect(":");
      parse(into[key]);
    }
    expect("}");
    if (!done()) expect(" (insertion order)");
  }
  void parse(Window& into) {
    expect("[");
    parse(into.start);
    expect(",");
    parse(into.end);
    expect(")");
  }
  void parse(VoidNamespace&) { expect("VoidNamespace"); }

 private:
  void expect(std::string_view literal) {
    ASSERT_EQ(text_.substr(at_, literal.size()), literal) << text_;
    at_ += literal.size();
  }
  std::string word() {
    size_t end = text_.find_first_of(",)]}:", at_);
    std::string found = text_.substr(at_, end - at_);
    at_ += found.size();
    return found;
  }
  std::string prefixed(std::string_view prefix) {
    expect(prefix);
    return test::textFromHex(word());
  }

  const std::string& text_;
  size_t at_ = 0;
};

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::floating_point<T>)
    return wireBits(a) == wireBits(b);
  else
    return a == b;
}

template <class T>
void checkValue(const Row& row) {
  T value{};
  Notation notation(row[2]);
  notation.parse(value);
  ASSERT_TRUE(notation.done()) << row[2];
  DataOutput out;
  serialize(out, value);
  EXPECT_EQ(toHex(out.bytes()), row[3]);
  EXPECT_LE(out.size(), Serializer<T>::maxSize(value));
  auto back = deserialize<T>(fromHex(row[3]));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_TRUE(same(*back, value));
}

template <class T>
void checkRecord(const Row& row) {
  StreamRecord<T> record;
  Notation(row[2]).parse(record.value);
  if (size_t at = row[0].find('@'); at != std::string::npos) record = StreamRecord<T>(record.value, std::stoll(row[0].substr(at + 1)));
  DataOutput out;
  uint8_t* start = out.prepare(elementMaxSize(record));
  out.commit(writeElement(start, record));
  EXPECT_EQ(toHex(out.bytes()), row[3]);
  auto bytes = fromHex(row[3]);
  DataInput in(bytes);
  StreamRecord<T> back;
  ControlElement control;
  ASSERT_EQ(readElement(in, back, control), ElementKind::kRecord);
  EXPECT_TRUE(same(back.value, record.value));
  EXPECT_EQ(back.hasTimestamp, record.hasTimestamp);
  EXPECT_EQ(back.timestamp, record.timestamp);
}

using Check = std::function<void(const Row&)>;
template <class T>
Check checks() {
  return [](const Row& row) { row[0] == "value" ? checkValue<T>(row) : checkRecord<T>(row); };
}

const std::map<std::string, Check>& checkByType() {
  using String = std::optional<std::string>;
  static const std::map<std::string, Check> kChecks = {
      {"string", checks<String>()},
      {"long", checks<int64_t>()},
      {"int", checks<int32_t>()},
      {"short", checks<int16_t>()},
      {"byte", checks<int8_t>()},
      {"char", checks<char16_t>()},
      {"boolean", checks<bool>()},
      {"float", checks<float>()},
      {"double", checks<double>()},
      {"bytes", checks<std::vector<uint8_t>>()},
      {"tuple2<string,long>", checks<std::tuple<std::string, int64_t>>()},
      {"tuple3<string,long,double>", checks<std::tuple<std::string, int64_t, double>>()},
      {"tuple4<int,string,double,boolean>", checks<std::tuple<int32_t, String, double, bool>>()},
      {"tuple2<string,tuple2<string,long>>", checks<std::tuple<std::string, std::tuple<std::string, int64_t>>>()},
      {"list<string>", checks<std::vector<String>>()},
      {"map<string,long>", checks<std::map<std::string, std::optional<int64_t>>>()},
      {"nullable<long>", checks<std::optional<int64_t>>()},
      {"timewindow", checks<Window>()},
      {"voidnamespace", checks<VoidNamespace>()},
  };
  return kChecks;
}

/// Flink's layouts that no type of Weir has: a struct here has the layout of a tuple, and no null is padded.
const std::set<std::string> kOtherLayouts = {"pojo<count:long,name:string,ratio:double>", "nullable-padded<long>"};

TEST(GoldenRecords, EveryValueAndRecordHasTheBytesOfFlinkAndIsReadBack) {
  int checked = 0;
  for (const Row& row : goldenRows("records.tsv")) {
    if (row[0] != "value" && !row[0].starts_with("record")) continue;
    if (kOtherLayouts.contains(row[1]) || row[0] == "recordAttributes") continue;
    SCOPED_TRACE("line " + std::to_string(row.line));
    auto check = checkByType().find(row[1]);
    ASSERT_NE(check, checkByType().end()) << row[1];
    check->second(row);
    ++checked;
  }
  EXPECT_EQ(checked, 178);
}

TEST(GoldenRecords, NullIsRefusedWhereTheTypeHasNone) {
  EXPECT_FALSE(deserialize<std::string>(fromHex("00")).has_value());
  EXPECT_FALSE((deserialize<std::tuple<std::string, int64_t>>(fromHex("000000000000000001")).has_value()));
  EXPECT_FALSE(deserialize<std::vector<std::string>>(fromHex("00000002026100")).has_value());
  auto map = deserialize<std::map<std::string, int64_t>>(fromHex("00000001026101"));
  ASSERT_FALSE(map.has_value());
  EXPECT_EQ(map.error().message, "a value holds null as the value of a map; use std::optional (at byte 7 of 7)");
}

ControlElement controlOf(const Row& row) {
  const std::string& text = row[2];
  if (row[0] == "watermark") return Watermark{std::stoll(text)};
  if (row[0] == "watermarkStatus") return WatermarkStatus{text == "idle"};
  if (row[0] == "recordAttributes") return RecordAttributes{text == "backlog=true"};
  EXPECT_EQ(text, "marked=1543488224622,operator=(lower 0102030405060708, upper 1112131415161718),subtask=5");
  return LatencyMarker{1543488224622, OperatorID::of(0x0102030405060708, 0x1112131415161718), 5};
}

void checkControl(const ControlElement& element, const std::string& hex) {
  DataOutput out;
  out.commit(writeElement(out.prepare(elementMaxSize(element)), element));
  EXPECT_EQ(toHex(out.bytes()), hex);
  auto bytes = fromHex(hex);
  DataInput in(bytes);
  StreamRecord<int64_t> record;
  ControlElement back;
  ASSERT_EQ(readElement(in, record, back), ElementKind::kControl);
  EXPECT_EQ(back, element);
}

TEST(GoldenRecords, EveryControlElementHasTheBytesOfFlinkAndIsReadBack) {
  int checked = 0;
  for (const Row& row : goldenRows("records.tsv")) {
    if (row[1] != "-") continue;
    SCOPED_TRACE("line " + std::to_string(row.line));
    checkControl(controlOf(row), row[3]);
    ++checked;
  }
  EXPECT_EQ(checked, 9);
}

TEST(GoldenRecords, AnInternalWatermarkHasSubpartitionAndTimestampBehindTagSix) {
  checkControl(InternalWatermark{2, 1000}, "060000000200000000000003e8");
}

}  // namespace
}  // namespace weir
