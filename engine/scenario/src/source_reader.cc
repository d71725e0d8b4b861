#include <fmt/format.h>

#include <cmath>

#include "node_reader.h"

namespace weir {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
const std::vector<std::string> kKinds = {"csv", "json-lines", "generator"};

/// Below 1 and above 0, for a share.
double readShare(const DocumentNode& node, std::string_view what) {
  const double share = readNumber(node, what);
  if (!(share > 0) || share > 1) refuse(node.at, fmt::format("{} is {}, expected is a number above 0 and up to 1", what, node.text));
  return share;
}

Located<Column> readColumn(const DocumentNode& name, const DocumentNode& type) {
  Located<Column> column{{}, name.at};
  column.value.name = name.text;
  if (!isColumnName(name.text))
    refuse(name.at, fmt::format("'{}' cannot name a column: use letters, digits and _, and no word of the expressions", name.text));
  std::string word = readText(type, "the type of column '" + name.text + "'");
  constexpr std::string_view kOptional = "optional ";
  column.value.nullable = word.starts_with(kOptional);
  if (column.value.nullable) word.erase(0, kOptional.size());
  const auto known = columnTypeOf(word);
  if (!known)
    refuse(type.at, fmt::format("the type '{}' of column '{}' is not known{}", word, name.text, suggestion(word, columnTypeWords())));
  column.value.type = *known;
  return column;
}

void readColumns(const DocumentNode& node, SourceSpec& spec) {
  if (node.kind != DocumentNode::Kind::kMapping || node.entries.empty())
    refuse(node.at,
           fmt::format("the columns are {}, expected is a mapping of names to types such as {{carrier: string, delay: optional int}}",
                       describe(node)));
  for (const auto& [name, type] : node.entries) spec.columns.push_back(readColumn(name, type));
}

void readWatermarks(const MappingReader& time, SourceSpec& spec) {
  if (const auto* found = time.find("out-of-orderness")) spec.outOfOrdernessMillis = readMillis(*found, "out-of-orderness");
  if (const auto* found = time.find("idleness")) spec.idlenessMillis = readMillis(*found, "idleness");
  if (const auto* found = time.find("watermarks"))
    spec.everyRecordWatermarks = readWord(*found, "watermarks", {"periodic", "every-record"}) == 1;
}

void readFileTime(const DocumentNode& node, SourceSpec& spec) {
  const MappingReader time(node, "event-time", {"column", "out-of-orderness", "idleness", "watermarks"});
  const DocumentNode& column = time.require("column");
  spec.timestampColumn = {readText(column, "the column of the event time"), column.at};
  readWatermarks(time, spec);
  for (const auto& known : spec.columns) {
    if (known.value.name != column.text) continue;
    if (known.value.type != ColumnType::kTimestamp && known.value.type != ColumnType::kLong)
      refuse(column.at, fmt::format("the event time is taken from column '{}', which is a {}: make it a timestamp", column.text,
                                    known.value.typeText()));
    return;
  }
  std::vector<std::string> names;
  for (const auto& known : spec.columns) names.push_back(known.value.name);
  refuse(column.at, fmt::format("there is no column '{}' for the event time{}", column.text, suggestion(column.text, names)));
}

void readGeneratedTime(const DocumentNode& node, SourceSpec& spec) {
  const MappingReader time(node, "event-time", {"start", "step", "out-of-orderness", "idleness", "watermarks"});
  if (const auto* found = time.find("start")) {
    const auto start = parseTimestamp(readText(*found, "the start of the event time"));
    if (!start) refuse(found->at, fmt::format("the start '{}' is no point in time such as 2026-01-01T00:00:00Z", found->text));
    spec.startMillis = *start;
  }
  if (const auto* found = time.find("step")) spec.stepMillis = readMillis(*found, "the step of the event time");
  readWatermarks(time, spec);
}

KeySpec readKeys(const DocumentNode& node) {
  const MappingReader keys(node, "keys", {"cardinality", "uniform", "zipf", "hot", "weights"});
  KeySpec spec;
  const DocumentNode* chosen = nullptr;
  for (const std::string_view word : {"uniform", "zipf", "hot", "weights"}) {
    const DocumentNode* found = keys.find(word);
    if (!found) continue;
    if (chosen) refuse(found->at, "keys have one distribution: keep one of uniform, zipf, hot and weights");
    chosen = found;
  }
  if (const auto* found = keys.find("cardinality")) spec.cardinality = readInteger(*found, "the cardinality", 1, 1'000'000'000);
  if (const auto* found = keys.find("zipf")) {
    spec.kind = KeySpec::Kind::kZipf;
    spec.exponent = readNumber(*found, "the exponent of zipf");
    if (!(spec.exponent > 0) || spec.exponent > 10) refuse(found->at, "the exponent of zipf is a number above 0 and up to 10");
    if (spec.cardinality > 10'000'000) refuse(found->at, "zipf takes a cardinality of at most 10000000");
  }
  if (const auto* found = keys.find("hot")) {
    spec.kind = KeySpec::Kind::kHot;
    const MappingReader hot(*found, "hot", {"count", "share"});
    if (const auto* count = hot.find("count")) spec.hotCount = readInteger(*count, "the count of hot keys", 1, spec.cardinality);
    spec.hotShare = readShare(hot.require("share"), "the share of the hot keys");
  }
  if (const auto* found = keys.find("weights")) {
    spec.kind = KeySpec::Kind::kWeights;
    spec.weights = {readText(*found, "weights"), found->at};
  }
  return spec;
}

void readGenerator(const MappingReader& body, SourceSpec& spec) {
  if (const auto* found = body.find("records")) spec.records = readInteger(*found, "the number of records", 1, kMost);
  if (const auto* found = body.find("keys")) spec.keys = readKeys(*found);
  if (const auto* found = body.find("seed")) spec.seed = static_cast<uint64_t>(readInteger(*found, "the seed", 0, kMost));
  if (const auto* found = body.find("record-size")) {
    spec.recordSize = readBytes(*found, "record-size");
    if (spec.recordSize > 1 << 24) refuse(found->at, "record-size is at most 16 mb");
  }
  const Position at = body.at();
  const auto add = [&](const char* name, ColumnType type) { spec.columns.push_back({{name, type, false}, at}); };
  add("key", ColumnType::kString);
  add("amount", ColumnType::kLong);
  add("ts", ColumnType::kTimestamp);
  add("number", ColumnType::kLong);
  if (spec.recordSize > 0) add("payload", ColumnType::kString);
  if (spec.rate) spec.stepMillis = std::max<int64_t>(1, static_cast<int64_t>(std::llround(1000 / *spec.rate)));
  if (const auto* found = body.find("event-time")) readGeneratedTime(*found, spec);
  spec.timestampColumn = Located<std::string>{"ts", at};
}

}  // namespace

std::vector<std::string> sourceWords(const DocumentNode& body) {
  std::vector<std::string> words = {"source", "parallelism", "max-parallelism", "rate", "event-time", "cost", "uid"};
  std::string kind;
  for (const auto& [key, value] : body.entries)
    if (key.text == "source") kind = value.text;
  const std::vector<std::string> more = kind == "generator" ? std::vector<std::string>{"records", "keys", "record-size", "seed"}
                                                            : std::vector<std::string>{"path", "columns", "bad-rows"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

SourceSpec readSource(const MappingReader& body) {
  SourceSpec spec;
  spec.kind = static_cast<SourceSpec::Kind>(readWord(body.require("source"), "the source", kKinds));
  if (const auto* found = body.find("rate")) spec.rate = readRate(*found);
  if (spec.kind == SourceSpec::Kind::kGenerator) {
    readGenerator(body, spec);
    return spec;
  }
  const DocumentNode& path = body.require("path");
  spec.path = {readText(path, "the path"), path.at};
  readColumns(body.require("columns"), spec);
  if (const auto* found = body.find("bad-rows")) spec.skipBadRows = readWord(*found, "bad-rows", {"fail", "skip"}) == 1;
  if (const auto* found = body.find("event-time")) readFileTime(*found, spec);
  return spec;
}

}  // namespace weir
