#include "yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "text.h"
#include "weir/config/configuration_loader.h"
#include "weir/config/yaml_text.h"

namespace weir {
namespace {

using Kind = ConfigValue::Kind;

/// Bounds for a document that refers to itself, or multiplies itself through aliases.
constexpr int kMaxDepth = 100;
constexpr int kMaxNodes = 100'000;

/// A document that Flink would refuse to start on.
struct Refused {
  YAML::Mark mark;
  std::string why;
};

/// A scalar by the core schema of YAML 1.2, as Java would print it again.
struct Scalar {
  Kind kind = Kind::kText;
  std::string text;
  bool isNull = false;
};

bool allDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return isDigit(c); });
}

std::optional<std::string> asInteger(std::string_view text) {
  for (const auto& [prefix, base] : {std::pair{std::string_view("0x"), 16}, std::pair{std::string_view("0o"), 8}}) {
    if (!text.starts_with(prefix)) continue;
    uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + 2, last, value, base);
    if (text.size() > 2 && end == last && error == std::errc()) return std::to_string(value);
  }
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (!allDigits(text)) return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
  return (negative && text != "0" ? "-" : "") + std::string(text);
}

std::optional<double> asFloat(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const double sign = negative ? -1 : 1;
  if (text == ".inf" || text == ".Inf" || text == ".INF") return sign * std::numeric_limits<double>::infinity();
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return std::numeric_limits<double>::quiet_NaN();
  if (text.empty() || !(isDigit(text.front()) || text.front() == '.')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  return sign * value;
}

Scalar plainScalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {.text = "null", .isNull = true};
  if (text == "true" || text == "True" || text == "TRUE") return {Kind::kBoolean, "true"};
  if (text == "false" || text == "False" || text == "FALSE") return {Kind::kBoolean, "false"};
  if (auto integer = asInteger(text)) return {Kind::kInteger, std::move(*integer)};
  if (const auto number = asFloat(text)) return {Kind::kFloat, javaText(*number)};
  return {Kind::kText, text};
}

Scalar scalarOf(const YAML::Node& node) {
  if (node.IsNull()) return plainScalar("");
  const std::string& tag = node.Tag();
  if (tag.empty() || tag == "?") return plainScalar(node.Scalar());
  if (tag == "!" || tag == "tag:yaml.org,2002:str") return {Kind::kText, node.Scalar()};
  const Scalar scalar = plainScalar(node.Scalar());
  const bool fits = (tag == "tag:yaml.org,2002:int" && scalar.kind == Kind::kInteger) ||
                    (tag == "tag:yaml.org,2002:float" && scalar.kind == Kind::kFloat) ||
                    (tag == "tag:yaml.org,2002:bool" && scalar.kind == Kind::kBoolean) ||
                    (tag == "tag:yaml.org,2002:null" && scalar.isNull);
  if (!fits) throw Refused{node.Mark(), fmt::format("the value '{}' does not fit its tag {}", node.Scalar(), tag)};
  return scalar;
}

void checkTag(const YAML::Node& node, const char* expected) {
  const std::string& tag = node.Tag();
  if (tag.empty() || tag == "?" || tag == "!" || tag == expected) return;
  throw Refused{node.Mark(), "could not determine a constructor for the tag " + tag};
}

/// Reads one document into flat keys.
class Flattener {
 public:
  Flattener(Configuration& into, std::string source) : into_(into), source_(std::move(source)) {}

  void mapping(const YAML::Node& node, const std::string& prefix) {
    const Visit visit(*this, node);
    checkTag(node, "tag:yaml.org,2002:map");
    std::set<std::string> keys;
    for (const auto& entry : node) {
      const std::string key = keyOf(entry.first);
      if (!keys.insert(key).second) throw Refused{entry.first.Mark(), "found duplicate key " + key};
      value(entry.second, prefix + key, entry.first.Mark());
    }
  }

  /// A node inside a list, as Flink prints it there.
  std::string flowText(const YAML::Node& node) {
    const Visit visit(*this, node);
    std::string text;
    if (node.IsSequence()) {
      checkTag(node, "tag:yaml.org,2002:seq");
      for (const auto& item : node) text += (text.empty() ? "" : ", ") + flowText(item);
      return "[" + text + "]";
    }
    if (node.IsMap()) {
      checkTag(node, "tag:yaml.org,2002:map");
      for (const auto& entry : node) text += (text.empty() ? "" : ", ") + keyOf(entry.first) + ": " + flowText(entry.second);
      return "{" + text + "}";
    }
    const Scalar scalar = scalarOf(node);
    return scalar.kind == Kind::kText && !scalar.isNull ? quotedFlow(scalar.text) : scalar.text;
  }

  /// An element of a list, as an option of a list type sees it. A null prints as the list of it: a quirk of Flink.
  std::string element(const YAML::Node& node) {
    if (!node.IsScalar() && !node.IsNull()) return flowText(node);
    Scalar scalar = scalarOf(node);
    return scalar.isNull ? "[null]" : std::move(scalar.text);
  }

  std::string keyOf(const YAML::Node& node) {
    const bool isText = node.IsScalar() && !scalarOf(node).isNull && scalarOf(node).kind == Kind::kText;
    if (!isText) throw Refused{node.Mark(), "a key must be a string: put it in quotes"};
    return node.Scalar();
  }

 private:
  /// Counts a node and its depth while it is open.
  class Visit {
   public:
    Visit(Flattener& owner, const YAML::Node& node) : owner_(owner) {
      if (++owner_.depth_ > kMaxDepth) throw Refused{node.Mark(), fmt::format("nested deeper than {} levels", kMaxDepth)};
      if (++owner_.nodes_ > kMaxNodes) throw Refused{node.Mark(), fmt::format("more than {} values", kMaxNodes)};
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit() { --owner_.depth_; }

   private:
    Flattener& owner_;
  };

  /// Text that YAML would take for something else goes into quotes.
  static std::string quotedFlow(const std::string& text) {
    const Scalar plain = plainScalar(text);
    const bool odd = text.empty() || plain.isNull || plain.kind != Kind::kText || trimmed(text) != text ||
                     text.find_first_of("{}[],\"'&*!|>%@`#") != std::string::npos || text.find(": ") != std::string::npos ||
                     text.back() == ':' || text.starts_with("- ") || text.starts_with("? ");
    if (!odd) return text;
    std::string quoted = "'";
    for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
    return quoted + "'";
  }

  void value(const YAML::Node& node, const std::string& key, const YAML::Mark& keyMark) {
    if (node.IsMap()) {
      mapping(node, key + ".");
      return;
    }
    const YAML::Mark mark = node.Mark().is_null() || node.IsNull() ? keyMark : node.Mark();
    ConfigValue value{.origin = {source_, mark.line + 1, mark.column + 1}};
    if (node.IsSequence()) {
      value.kind = Kind::kList;
      value.text = flowText(node);
      for (const auto& item : node) value.elements.push_back(element(item));
    } else {
      Scalar scalar = scalarOf(node);
      if (scalar.isNull) throw Refused{mark, fmt::format("Value must not be null. Give '{}' a value or remove it", key)};
      value.kind = scalar.kind;
      value.text = std::move(scalar.text);
    }
    // As in Flink the later one counts; where both are far apart nobody sees it.
    if (const auto [earlier, isNew] = linesOf_.try_emplace(key, value.origin.line); !isNew)
      into_.addNote({LogLevel::kWarn, fmt::format("{}{} is set here and in line {}: what is set here counts", value.origin.prefix(), key,
                                                  std::exchange(earlier->second, value.origin.line))});
    into_.set(key, std::move(value));
  }

  Configuration& into_;
  const std::string source_;
  int depth_ = 0, nodes_ = 0;
  std::map<std::string, int> linesOf_;  ///< of whole keys, which may be written as a path of mappings or in one piece
};

Error refusal(const std::string& source, const YAML::Mark& mark, const std::string& why) {
  const ConfigOrigin at{source, mark.is_null() ? 0 : mark.line + 1, mark.is_null() ? 0 : mark.column + 1};
  return {ErrorCode::kInvalidArgument, at.prefix() + "Error parsing YAML configuration: " + why};
}

}  // namespace

Result<Configuration> parseYamlConfiguration(std::string_view text, const std::string& source) {
  Configuration configuration;
  try {
    requireYamlThatEnds(text);
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty() || documents.front().IsNull()) return configuration;
    if (documents.size() > 1) throw Refused{documents[1].Mark(), "expected a single document in the stream but found another document"};
    if (!documents.front().IsMap()) throw Refused{documents.front().Mark(), "the document must be a mapping, of lines 'key: value'"};
    Flattener(configuration, source).mapping(documents.front(), "");
  } catch (const Refused& refused) {
    return refusal(source, refused.mark, refused.why);
  } catch (const YAML::Exception& e) {
    return refusal(source, e.mark, e.msg);
  }
  return configuration;
}

namespace {

template <class F>
std::optional<std::vector<std::string>> flow(std::string_view text, char open, char close, const F& collect) {
  text = trimmed(text);
  if (!text.starts_with(open) || !text.ends_with(close)) return std::nullopt;
  try {
    Configuration unused;
    Flattener flattener(unused, "");
    std::vector<std::string> result;
    collect(flattener, YAML::Load(std::string(text)), result);
    return result;
  } catch (const Refused&) {
    return std::nullopt;
  } catch (const YAML::Exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<std::vector<std::string>> flowSequence(std::string_view text) {
  return flow(text, '[', ']', [](Flattener& flattener, const YAML::Node& node, std::vector<std::string>& result) {
    for (const auto& item : node) result.push_back(flattener.element(item));
  });
}

std::optional<std::vector<std::string>> flowMapping(std::string_view text) {
  return flow(text, '{', '}', [](Flattener& flattener, const YAML::Node& node, std::vector<std::string>& result) {
    for (const auto& entry : node) {
      result.push_back(flattener.keyOf(entry.first));
      result.push_back(flattener.element(entry.second));
    }
  });
}

}  // namespace weir
