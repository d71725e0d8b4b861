#include <fmt/format.h>

#include <algorithm>

#include "node_reader.h"
#include "weir/scenario/aggregates.h"

namespace weir {
namespace {

struct Shape {
  const char* word;
  WindowSpec::Kind kind;
  bool eventTime;
};
constexpr Shape kShapes[] = {
    {"tumbling-event-time", WindowSpec::Kind::kTumbling, true},   {"tumbling-processing-time", WindowSpec::Kind::kTumbling, false},
    {"sliding-event-time", WindowSpec::Kind::kSliding, true},     {"sliding-processing-time", WindowSpec::Kind::kSliding, false},
    {"session-event-time", WindowSpec::Kind::kSession, true},     {"session-processing-time", WindowSpec::Kind::kSession, false},
    {"count", WindowSpec::Kind::kCount, false},
};

/// A row has state in each of its windows. Without a limit `slide: 1 ms` in place of `1 min` is a job that neither goes on nor ends.
constexpr int64_t kMaxWindowsOfARow = 100'000;

int64_t readLength(const DocumentNode& node, const char* what) {
  const int64_t millis = readMillis(node, what);
  if (millis == 0) refuse(node.at, fmt::format("{} is 0: give it a length such as 10 s", what));
  return millis;
}

void readSize(const DocumentNode& node, const Shape& shape, WindowSpec& spec) {
  switch (shape.kind) {
    case WindowSpec::Kind::kTumbling: spec.sizeMillis = readLength(node, "the size of the window"); break;
    case WindowSpec::Kind::kSession: spec.sizeMillis = readLength(node, "the gap of the session"); break;
    case WindowSpec::Kind::kCount:
      spec.sizeMillis = readInteger(node, "the number of records of a count window", 1, std::numeric_limits<int64_t>::max());
      break;
    case WindowSpec::Kind::kSliding: {
      const MappingReader both(node, shape.word, {"size", "slide"});
      spec.sizeMillis = readLength(both.require("size"), "the size of the window");
      const DocumentNode& slide = both.require("slide");
      spec.slideMillis = readLength(slide, "the slide of the window");
      if (const int64_t windows = spec.sizeMillis / spec.slideMillis; windows > kMaxWindowsOfARow)
        refuse(slide.at, fmt::format("each row would go into {} windows, {} are the limit: make the slide longer or the window smaller",
                                     windows, kMaxWindowsOfARow));
    }
  }
}

const std::vector<std::string> kParameters = {"at", "n", "alpha"};

AggregateSpec readAggregate(const DocumentNode& name, const DocumentNode& body) {
  AggregateSpec spec;
  spec.name = {name.text, name.at};
  if (!isColumnName(name.text)) refuse(name.at, fmt::format("'{}' cannot name a column: use letters, digits and _", name.text));
  const std::vector<std::string> functions = aggregateWords();
  const auto isFunction = [&](const std::string& word) { return std::find(functions.begin(), functions.end(), word) != functions.end(); };
  if (body.kind != DocumentNode::Kind::kMapping) {
    if (isFunction(name.text)) {
      spec.function = spec.name;
      if (body.kind == DocumentNode::Kind::kScalar && body.text != "*") spec.column = {readText(body, "the column"), body.at};
    } else {
      spec.function = {readText(body, "the function of '" + name.text + "'"), body.at};
    }
  } else {
    for (const auto& [key, value] : body.entries) {
      if (std::find(kParameters.begin(), kParameters.end(), key.text) != kParameters.end() && !isFunction(key.text)) {
        spec.parameters[key.text] = {readNumber(value, "'" + key.text + "'"), value.at};
      } else if (spec.function.value.empty()) {
        spec.function = {key.text, key.at};
        if (value.kind == DocumentNode::Kind::kScalar && value.text != "*") spec.column = {readText(value, "the column"), value.at};
      } else {
        refuse(key.at, fmt::format("'{}' has the functions '{}' and '{}': give each a column of its own", name.text, spec.function.value,
                                   key.text));
      }
    }
  }
  if (!isFunction(spec.function.value))
    refuse(spec.function.at.line > 0 ? spec.function.at : name.at,
           fmt::format("there is no aggregate '{}'{}", spec.function.value, suggestion(spec.function.value, functions)));
  return spec;
}

}  // namespace

WindowSpec readWindow(const DocumentNode& node) {
  std::vector<std::string> words;
  for (const Shape& shape : kShapes) words.emplace_back(shape.word);
  const size_t shapes = words.size();
  for (const char* word : {"offset", "allowed-lateness", "late"}) words.emplace_back(word);
  const MappingReader reader(node, "window", words);
  WindowSpec spec;
  spec.at = node.at;
  const DocumentNode* chosen = nullptr;
  for (size_t i = 0; i < shapes; ++i) {
    const DocumentNode* found = reader.find(kShapes[i].word);
    if (!found) continue;
    if (chosen) refuse(found->at, "a window has one shape: keep one of them");
    chosen = found;
    spec.kind = kShapes[i].kind;
    spec.eventTime = kShapes[i].eventTime;
    readSize(*found, kShapes[i], spec);
  }
  if (!chosen) refuse(node.at, "window needs a shape such as {tumbling-event-time: 10 s}");
  const bool aligned = spec.kind == WindowSpec::Kind::kTumbling || spec.kind == WindowSpec::Kind::kSliding;
  if (const auto* found = reader.find("offset")) {
    if (!aligned) refuse(found->at, "only tumbling and sliding windows have an offset");
    spec.offsetMillis = readMillis(*found, "the offset", true);
    const int64_t limit = spec.kind == WindowSpec::Kind::kSliding ? spec.slideMillis : spec.sizeMillis;
    if (spec.offsetMillis >= limit || spec.offsetMillis <= -limit)
      refuse(found->at, fmt::format("the offset '{}' is not shorter than the {} of the window", found->text,
                                    spec.kind == WindowSpec::Kind::kSliding ? "slide" : "size"));
  }
  if (const auto* found = reader.find("allowed-lateness")) {
    if (!spec.eventTime) refuse(found->at, "only event-time windows know lateness");
    spec.latenessMillis = readMillis(*found, "allowed-lateness");
  }
  if (const auto* found = reader.find("late")) {
    if (!spec.eventTime) refuse(found->at, "only event-time windows know late records");
    spec.late = readName(*found, "the name of the late stream");
  }
  return spec;
}

std::vector<AggregateSpec> readAggregates(const DocumentNode& node, std::optional<TwoStageSpec>& twoStage) {
  std::vector<AggregateSpec> result;
  if (node.kind == DocumentNode::Kind::kScalar) {
    result.push_back(readAggregate(node, node));
    result.back().column.reset();
    return result;
  }
  if (node.kind != DocumentNode::Kind::kMapping)
    refuse(node.at, fmt::format("aggregate is {}, expected is a mapping such as {{total: {{sum: amount}}, n: count}}", describe(node)));
  for (const auto& [key, value] : node.entries) {
    if (key.text == "two-stage")
      twoStage = readTwoStage(value);
    else
      result.push_back(readAggregate(key, value));
  }
  if (result.empty()) refuse(node.at, "aggregate names no function such as {sum: amount}");
  return result;
}

TwoStageSpec readTwoStage(const DocumentNode& node) {
  const MappingReader reader(node, "two-stage", {"salts", "form", "flush", "flush-records", "hot"});
  TwoStageSpec spec;
  spec.at = node.at;
  if (const auto* found = reader.find("salts")) spec.salts = static_cast<int32_t>(readInteger(*found, "the number of salts", 1, 32768));
  if (const auto* found = reader.find("form"))
    spec.form = static_cast<TwoStageSpec::Form>(
        readWord(*found, "the form", {"accumulators", "results", "string-keys", "mixed-time", "salt-in-key", "salt-in-selector"}));
  if (const auto* found = reader.find("flush")) spec.flushMillis = readLength(*found, "the time between flushes");
  if (const auto* found = reader.find("flush-records"))
    spec.flushRecords = readInteger(*found, "flush-records", 1, std::numeric_limits<int64_t>::max());
  if (const auto* found = reader.find("hot")) {
    const MappingReader hot(*found, "hot", {"share", "keys"});
    if (const auto* share = hot.find("share")) {
      spec.hot = TwoStageSpec::Hot::kSketch;
      spec.hotShare = readNumber(*share, "the share of a hot key");
      if (!(spec.hotShare > 0) || spec.hotShare > 1) refuse(share->at, "the share of a hot key is a number above 0 and up to 1");
    }
    if (const auto* keys = hot.find("keys")) {
      if (spec.hot == TwoStageSpec::Hot::kSketch)
        refuse(keys->at, "hot keys are found by their share or listed: keep one of 'share' and 'keys'");
      spec.hot = TwoStageSpec::Hot::kListed;
      for (const DocumentNode* key : oneOrMany(*keys, "the hot keys")) spec.hotKeys.push_back(key->text);
    }
    if (spec.hot == TwoStageSpec::Hot::kAll) refuse(found->at, "hot needs 'share' or 'keys'");
  }
  return spec;
}

}  // namespace weir
