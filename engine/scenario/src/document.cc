#include "document.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "weir/base/units.h"
#include "weir/config/yaml_text.h"
#include "weir/operators/nearest.h"
#include "weir/record/utf8.h"

namespace weir {
namespace {

/// Bounds for a document that refers to itself, or multiplies itself through aliases.
constexpr int kMaxDepth = 100;
constexpr int kMaxNodes = 100'000;

class Builder {
 public:
  Builder(std::string_view text, std::string file) : file_(std::move(file)) {
    for (size_t from = 0; from <= text.size();) {
      const size_t end = std::min(text.find('\n', from), text.size());
      lines_.push_back(text.substr(from, end - from));
      from = end + 1;
    }
  }

  Position place(const YAML::Mark& mark) const {
    return {file_, mark.is_null() ? 1 : mark.line + 1, mark.is_null() ? 1 : mark.column + 1};
  }

  DocumentNode build(const YAML::Node& node, int depth, const Position& fallback) {
    DocumentNode result;
    result.at = node.Mark().is_null() || node.IsNull() ? fallback : place(node.Mark());
    if (depth > kMaxDepth) refuse(result.at, fmt::format("this is nested deeper than {} levels", kMaxDepth));
    if (++nodes_ > kMaxNodes) refuse(result.at, fmt::format("the file has more than {} values", kMaxNodes));
    const std::string& tag = node.Tag();
    if (!tag.empty() && tag != "?" && tag != "!" && !tag.starts_with("tag:yaml.org,2002:"))
      refuse(result.at, "the tag " + tag + " is not known; leave it out");
    switch (node.Type()) {
      case YAML::NodeType::Scalar: scalar(node, tag, result); break;
      case YAML::NodeType::Sequence:
        result.kind = DocumentNode::Kind::kList;
        for (const auto& item : node) result.items.push_back(build(item, depth + 1, result.at));
        break;
      case YAML::NodeType::Map: mapping(node, depth, result); break;
      default: break;
    }
    return result;
  }

 private:
  void scalar(const YAML::Node& node, const std::string& tag, DocumentNode& result) const {
    result.text = node.Scalar();
    result.quoted = tag == "!";
    if (!result.quoted && (result.text.empty() || result.text == "~")) return;  // null
    result.kind = DocumentNode::Kind::kScalar;
    const auto line = static_cast<size_t>(result.at.line) - 1;
    const size_t from = static_cast<size_t>(result.at.column) - 1 + (result.quoted ? 1 : 0);
    result.oneLine = line < lines_.size() && from <= lines_[line].size() && lines_[line].substr(from).starts_with(result.text);
  }

  void mapping(const YAML::Node& node, int depth, DocumentNode& result) {
    result.kind = DocumentNode::Kind::kMapping;
    std::set<std::string> keys;
    for (const auto& entry : node) {
      const Position at = entry.first.Mark().is_null() ? result.at : place(entry.first.Mark());
      if (!entry.first.IsScalar()) refuse(at, "a key must be one word");
      if (!keys.insert(entry.first.Scalar()).second) refuse(at, "the key '" + entry.first.Scalar() + "' is here twice; keep one of them");
      DocumentNode key = build(entry.first, depth + 1, at);
      key.text = entry.first.Scalar();
      result.entries.emplace_back(std::move(key), build(entry.second, depth + 1, at));
    }
  }

  const std::string file_;
  std::vector<std::string_view> lines_;
  int nodes_ = 0;
};

/// The YAML library would take other bytes for UTF-16, or for names that look like others.
void requireText(std::string_view text, const std::string& file) {
  auto at = reinterpret_cast<const uint8_t*>(text.data());
  const uint8_t* const end = at + text.size();
  for (int line = 1; at < end;) {
    const uint8_t byte = *at;
    const uint32_t point = nextCodePoint(at, end);
    if (point == kInvalidCodePoint || point == 0)
      refuse({file, line, 1}, fmt::format("this line has a byte that is no text in UTF-8: 0x{:02X}; save the file as UTF-8", byte));
    line += point == '\n';
  }
}

std::string quotedList(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

[[noreturn]] void refuseKind(const DocumentNode& node, std::string_view what, std::string_view expected) {
  refuse(node.at, node.kind == DocumentNode::Kind::kScalar ? fmt::format("{} is '{}', expected is {}", what, node.text, expected)
                                                             : fmt::format("{} is {}, expected is {}", what, describe(node), expected));
}

void requireScalar(const DocumentNode& node, std::string_view what, std::string_view expected) {
  if (node.kind != DocumentNode::Kind::kScalar) refuseKind(node, what, expected);
}

}  // namespace

void refuse(const Position& at, const std::string& sentence) { throw Refused{at.error(sentence)}; }

DocumentNode parseDocument(std::string_view text, const std::string& file) {
  requireText(text, file);
  Builder builder(text, file);
  const Position start{file, 1, 1};
  try {
    requireYamlThatEnds(text);
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) {
      DocumentNode nothing;
      nothing.at = start;
      return nothing;
    }
    if (documents.size() > 1) refuse(builder.place(documents[1].Mark()), "the file has a second document; keep one job in a file");
    return builder.build(documents.front(), 0, start);
  } catch (const YAML::Exception& e) {
    refuse(builder.place(e.mark), "this is no YAML: " + e.msg);
  }
}

std::string_view describe(const DocumentNode& node) {
  switch (node.kind) {
    case DocumentNode::Kind::kNull: return "empty";
    case DocumentNode::Kind::kScalar: return "one value";
    case DocumentNode::Kind::kList: return "a list";
    case DocumentNode::Kind::kMapping: return "a mapping";
  }
  __builtin_unreachable();
}

std::string suggestion(const std::string& wanted, const std::vector<std::string>& words) {
  const std::string close = nearest(wanted, words);
  if (!close.empty()) return ": did you mean '" + close + "'?";
  if (words.empty()) return "";
  return words.size() == 1 ? "; " + words[0] + " is known" : "; " + quotedList(words) + " are known";
}

MappingReader::MappingReader(const DocumentNode& node, std::string what, std::vector<std::string> words)
    : node_(node), what_(std::move(what)), words_(std::move(words)) {
  if (node.kind != DocumentNode::Kind::kMapping) refuseKind(node, what_, "a mapping of " + quotedList(words_));
  for (const auto& [key, value] : node.entries)
    if (std::find(words_.begin(), words_.end(), key.text) == words_.end())
      refuse(key.at, fmt::format("{} has no word '{}'{}", what_, key.text, suggestion(key.text, words_)));
}

const DocumentNode* MappingReader::find(std::string_view word) const {
  for (const auto& [key, value] : node_.entries)
    if (key.text == word) return &value;
  return nullptr;
}

const DocumentNode& MappingReader::require(std::string_view word) const {
  if (const DocumentNode* found = find(word)) return *found;
  refuse(node_.at, fmt::format("{} needs '{}'", what_, word));
}

std::string readText(const DocumentNode& node, std::string_view what) {
  requireScalar(node, what, "text");
  return node.text;
}

bool readBool(const DocumentNode& node, std::string_view what) {
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  refuseKind(node, what, "true or false");
}

int64_t readInteger(const DocumentNode& node, std::string_view what, int64_t least, int64_t most) {
  const std::string expected = most == std::numeric_limits<int64_t>::max() ? fmt::format("a whole number from {}", least)
                                                                           : fmt::format("a whole number from {} to {}", least, most);
  requireScalar(node, what, expected);
  std::string digits = node.text;
  std::erase(digits, '_');
  int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || at != end || value < least || value > most) refuseKind(node, what, expected);
  return value;
}

double readNumber(const DocumentNode& node, std::string_view what) {
  requireScalar(node, what, "a number");
  double value = 0;
  const char* const end = node.text.data() + node.text.size();
  const auto [at, error] = std::from_chars(node.text.data(), end, value);
  if (error != std::errc() || at != end || !std::isfinite(value)) refuseKind(node, what, "a number");
  return value;
}

int64_t readMillis(const DocumentNode& node, std::string_view what, bool negative) {
  constexpr std::string_view kExpected = "a length of time such as 500 ms, 10 s, 1 h or 1 d";
  requireScalar(node, what, kExpected);
  const bool minus = node.text.starts_with('-');
  if (minus && !negative) refuse(node.at, fmt::format("{} is '{}', and a length of time is not below 0", what, node.text));
  const auto parsed = Duration::parse(std::string_view(node.text).substr(minus ? 1 : 0));
  if (parsed.has_error() || !parsed->fitsMillis()) refuseKind(node, what, kExpected);
  if (Duration(Nanos(std::chrono::milliseconds(parsed->toMillis()))) != *parsed)
    refuse(node.at, fmt::format("{} is '{}', which is no whole number of milliseconds", what, node.text));
  return (minus ? -1 : 1) * parsed->toMillis().count();
}

double readRate(const DocumentNode& node) {
  constexpr std::string_view kExpected = "a number of records a second such as 6000/s or 100000/min";
  requireScalar(node, "the rate", kExpected);
  double value = 0;
  const char* const end = node.text.data() + node.text.size();
  const auto [at, error] = std::from_chars(node.text.data(), end, value);
  const std::string_view unit(at, static_cast<size_t>(end - at));
  const double seconds = unit.empty() || unit == "/s" ? 1 : unit == "/min" ? 60 : unit == "/h" ? 3600 : 0;
  if (error != std::errc() || seconds == 0 || !(value > 0) || !std::isfinite(value)) refuseKind(node, "the rate", kExpected);
  return value / seconds;
}

int64_t readBytes(const DocumentNode& node, std::string_view what) {
  requireScalar(node, what, "a number of bytes such as 60 b or 4 kb");
  const auto parsed = MemorySize::parse(node.text);
  if (parsed.has_error()) refuseKind(node, what, "a number of bytes such as 60 b or 4 kb");
  return parsed->bytes;
}

size_t readWord(const DocumentNode& node, std::string_view what, const std::vector<std::string>& words) {
  requireScalar(node, what, "one of " + quotedList(words));
  const auto found = std::find(words.begin(), words.end(), node.text);
  if (found == words.end()) refuse(node.at, fmt::format("{} '{}' is not known{}", what, node.text, suggestion(node.text, words)));
  return static_cast<size_t>(found - words.begin());
}

std::vector<const DocumentNode*> oneOrMany(const DocumentNode& node, std::string_view what) {
  if (node.kind == DocumentNode::Kind::kScalar) return {&node};
  if (node.kind != DocumentNode::Kind::kList || node.items.empty()) refuseKind(node, what, "a word or a list of words");
  std::vector<const DocumentNode*> many;
  for (const DocumentNode& item : node.items) {
    requireScalar(item, what, "a word");
    many.push_back(&item);
  }
  return many;
}

}  // namespace weir
