#include "node_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/scenario/aggregates.h"

namespace weir {
namespace {

using Kind = NodeSpec::Kind;

const std::vector<std::string> kOperatorWords = {"source", "map", "filter", "aggregate", "union", "join", "sink"};
const std::vector<std::string> kExchanges = {"forward", "hash", "rebalance", "rescale", "shuffle", "broadcast", "global"};
const std::vector<std::string> kSinks = {"print", "csv", "json-lines", "discard"};

/// Which of the words that say what an operator does is there.
Kind kindOf(const DocumentNode& name, const DocumentNode& body) {
  const DocumentNode* chosen = nullptr;
  size_t kind = 0;
  for (const auto& [key, value] : body.entries) {
    const auto found = std::find(kOperatorWords.begin(), kOperatorWords.end(), key.text);
    if (found == kOperatorWords.end()) continue;
    if (chosen)
      refuse(key.at, fmt::format("'{}' says '{}' and '{}': an operator does one thing, make two of it", name.text, chosen->text, key.text));
    chosen = &key;
    kind = static_cast<size_t>(found - kOperatorWords.begin());
  }
  if (!chosen) {
    std::vector<std::string> written;
    for (const auto& [key, value] : body.entries) {
      const std::string hint = suggestion(key.text, kOperatorWords);
      if (hint.starts_with(':') && key.text != "input") refuse(key.at, fmt::format("'{}' has no word '{}'{}", name.text, key.text, hint));
    }
    refuse(name.at, fmt::format("'{}' does nothing: it needs one of {}", name.text, fmt::join(kOperatorWords, ", ")));
  }
  return static_cast<Kind>(kind);
}

std::vector<std::string> wordsOf(Kind kind, const DocumentNode& body) {
  if (kind == Kind::kSource) return sourceWords(body);
  std::vector<std::string> words = {
      "exchange", "key", "parallelism", "max-parallelism", "cost", "uid", kOperatorWords[static_cast<size_t>(kind)]};
  const auto add = [&](std::initializer_list<const char*> more) { words.insert(words.end(), more.begin(), more.end()); };
  switch (kind) {
    case Kind::kMap: add({"input", "keep"}); break;
    case Kind::kAggregate: add({"input", "window", "two-stage"}); break;
    case Kind::kJoin: add({"window", "within"}); break;
    case Kind::kSink: add({"input", "path"}); break;
    case Kind::kFilter: add({"input"}); break;
    case Kind::kUnion:
    case Kind::kSource: break;
  }
  return words;
}

void readMap(const DocumentNode& node, NodeSpec& spec) {
  if (node.kind != DocumentNode::Kind::kMapping || node.entries.empty())
    refuse(node.at, fmt::format("map is {}, expected is a mapping of column names to expressions", describe(node)));
  for (const auto& [name, text] : node.entries) {
    if (!isColumnName(name.text))
      refuse(name.at, fmt::format("'{}' cannot name a column: use letters, digits and _, and no word of the expressions", name.text));
    spec.map.emplace_back(Located<std::string>{name.text, name.at}, readExpression(text, "the expression of '" + name.text + "'"));
  }
}

void readJoin(const DocumentNode& node, NodeSpec& spec) {
  const MappingReader join(node, "join", {"left", "right"});
  spec.join.left = readName(join.require("left"), "the left input");
  spec.join.right = readName(join.require("right"), "the right input");
  spec.inputs = {spec.join.left, spec.join.right};
}

void readWithin(const DocumentNode& node, NodeSpec& spec) {
  const MappingReader within(node, "within", {"lower", "upper"});
  const int64_t lower = readMillis(within.require("lower"), "the lower bound", true);
  const int64_t upper = readMillis(within.require("upper"), "the upper bound", true);
  if (lower > upper) refuse(node.at, "within: the lower bound is above the upper one; exchange them");
  spec.join.withinMillis = {lower, upper};
}

CostSpec readCost(const DocumentNode& node) {
  const MappingReader cost(node, "cost", {"per-record", "mode"});
  CostSpec spec;
  const DocumentNode& per = cost.require("per-record");
  const auto parsed = Duration::parse(readText(per, "the cost per record"));
  if (parsed.has_error() || parsed->toNanos() > std::chrono::hours(1))
    refuse(per.at, fmt::format("the cost per record is '{}', expected is a length of time such as 1 ms or 20 micros", per.text));
  spec.nanosPerRecord = parsed->toNanos().count();
  if (const auto* mode = cost.find("mode")) spec.spin = readWord(*mode, "the mode of the cost", {"sleep", "spin"}) == 1;
  return spec;
}

void readCommon(const MappingReader& body, NodeSpec& spec) {
  if (const auto* found = body.find("input")) spec.inputs.push_back(readName(*found, "the input"));
  if (const auto* found = body.find("exchange")) spec.exchange = static_cast<Exchange>(readWord(*found, "the exchange", kExchanges) + 1);
  if (const auto* found = body.find("key"))
    for (const DocumentNode* column : oneOrMany(*found, "the key")) spec.key.push_back({column->text, column->at});
  if (const auto* found = body.find("parallelism"))
    spec.parallelism = static_cast<int32_t>(readInteger(*found, "the parallelism", 1, 32768));
  if (const auto* found = body.find("max-parallelism"))
    spec.maxParallelism = static_cast<int32_t>(readInteger(*found, "the max-parallelism", 1, 32768));
  if (const auto* found = body.find("cost")) spec.cost = readCost(*found);
  if (const auto* found = body.find("uid")) spec.uid = readText(*found, "the uid");
}

void readAggregation(const MappingReader& body, NodeSpec& spec) {
  spec.aggregates = readAggregates(body.require("aggregate"), spec.twoStage);
  if (const auto* found = body.find("window")) spec.window = readWindow(*found);
  if (const auto* found = body.find("two-stage")) {
    if (spec.twoStage) refuse(found->at, "two-stage is here twice: keep one of them");
    spec.twoStage = readTwoStage(*found);
  }
}

void readSink(const MappingReader& body, NodeSpec& spec) {
  spec.sink = static_cast<NodeSpec::Sink>(readWord(body.require("sink"), "the sink", kSinks));
  const bool toFiles = spec.sink == NodeSpec::Sink::kCsv || spec.sink == NodeSpec::Sink::kJsonLines;
  const DocumentNode* path = body.find("path");
  if (toFiles && !path) refuse(body.require("sink").at, "the sink needs 'path', a folder for its files");
  if (!toFiles && path) refuse(path->at, "this sink writes no files: leave out 'path'");
  if (!path) return;
  spec.path = {readText(*path, "the path"), path->at};
  if (spec.path.value.empty()) refuse(path->at, "the path is empty: name a folder for the files of the sink");
}

}  // namespace

Located<std::string> readName(const DocumentNode& node, std::string_view what) { return {readText(node, what), node.at}; }

Located<std::string> readExpression(const DocumentNode& node, std::string_view what) {
  Located<std::string> result{readText(node, what), node.at};
  if (node.quoted && node.oneLine) ++result.at.column;
  return result;
}

NodeSpec readNode(const DocumentNode& name, const DocumentNode& body) {
  NodeSpec spec;
  spec.name = {name.text, name.at};
  if (name.text.empty() || name.text.find_first_of(" .\t\n") != std::string::npos)
    refuse(name.at, fmt::format("'{}' cannot name a stream: use a word without blanks and dots", name.text));
  if (body.kind != DocumentNode::Kind::kMapping)
    refuse(body.at,
           fmt::format("'{}' is {}, expected is a mapping such as {{input: orders, filter: \"amount > 0\"}}", name.text, describe(body)));
  spec.kind = kindOf(name, body);
  const MappingReader reader(body, "'" + name.text + "'", wordsOf(spec.kind, body));
  readCommon(reader, spec);
  switch (spec.kind) {
    case Kind::kSource: spec.source = readSource(reader); break;
    case Kind::kMap:
      readMap(reader.require("map"), spec);
      if (const auto* keep = reader.find("keep")) spec.keepColumns = readWord(*keep, "keep", {"none", "all"}) == 1;
      break;
    case Kind::kFilter: spec.filter = readExpression(reader.require("filter"), "the filter"); break;
    case Kind::kAggregate: readAggregation(reader, spec); break;
    case Kind::kUnion:
      for (const DocumentNode* input : oneOrMany(reader.require("union"), "union")) spec.inputs.push_back({input->text, input->at});
      if (spec.inputs.size() < 2) refuse(reader.require("union").at, "union needs at least two inputs");
      break;
    case Kind::kJoin:
      readJoin(reader.require("join"), spec);
      if (const auto* found = reader.find("window")) spec.window = readWindow(*found);
      if (const auto* found = reader.find("within")) readWithin(*found, spec);
      if (spec.window.has_value() == spec.join.withinMillis.has_value()) refuse(reader.at(), "a join needs one of 'window' and 'within'");
      break;
    case Kind::kSink: readSink(reader, spec); break;
  }
  if (spec.kind != Kind::kSource && spec.inputs.empty())
    refuse(name.at, fmt::format("'{}' needs 'input', the stream that it reads", name.text));
  return spec;
}

}  // namespace weir
