#include "weir/scenario/scenario_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "node_reader.h"

namespace weir {
namespace {

/// Words of the file that this version does not act upon.
const std::vector<std::string> kLaterWords = {"faults", "variants", "expect", "run", "simulated"};

bool isEmpty(const DocumentNode& node) {
  return node.kind == DocumentNode::Kind::kNull || (node.items.empty() && node.entries.empty() && node.text.empty());
}

/// Nested keys become dotted ones, as in Flink's own file.
void readConfig(const DocumentNode& node, const std::string& prefix, Configuration& into) {
  if (node.kind != DocumentNode::Kind::kMapping)
    refuse(node.at, fmt::format("config is {}, expected is a mapping of keys to values", describe(node)));
  for (const auto& [key, value] : node.entries) {
    ConfigValue set;
    set.origin = {value.at.file, value.at.line, value.at.column};
    switch (value.kind) {
      case DocumentNode::Kind::kMapping: readConfig(value, prefix + key.text + ".", into); continue;
      case DocumentNode::Kind::kNull: refuse(key.at, fmt::format("'{}{}' has no value; give it one or remove it", prefix, key.text));
      case DocumentNode::Kind::kScalar: set.text = value.text; break;
      case DocumentNode::Kind::kList:
        set.kind = ConfigValue::Kind::kList;
        for (const DocumentNode& item : value.items) {
          set.elements.push_back(readText(item, "an element of '" + prefix + key.text + "'"));
          set.text += (set.text.empty() ? "" : ";") + item.text;
        }
    }
    into.set(prefix + key.text, std::move(set));
  }
}

std::vector<NodeSpec> readJob(const DocumentNode& node) {
  std::vector<NodeSpec> job;
  if (node.kind == DocumentNode::Kind::kMapping) {
    for (const auto& [name, body] : node.entries) job.push_back(readNode(name, body));
  } else if (node.kind == DocumentNode::Kind::kList) {
    for (const DocumentNode& item : node.items) {
      if (item.kind != DocumentNode::Kind::kMapping || item.entries.size() != 1)
        refuse(item.at, "each entry of job is '- name: {...}': indent what belongs to the stream further than its name");
      job.push_back(readNode(item.entries[0].first, item.entries[0].second));
    }
  } else {
    refuse(node.at, fmt::format("job is {}, expected is a list of streams: '- orders: {{source: generator, ...}}'", describe(node)));
  }
  if (job.empty()) refuse(node.at, "job has no streams: it needs a source and a sink");
  return job;
}

/// A stream that may be read: a node, or the late records of one.
std::string ownerOf(const std::vector<NodeSpec>& job, const std::string& input) {
  for (const NodeSpec& node : job)
    if (node.window && node.window->late && node.window->late->value == input) return node.name.value;
  return input;
}

void checkNames(const std::vector<NodeSpec>& job) {
  std::map<std::string, Position> names;
  const auto add = [&](const Located<std::string>& name) {
    const auto [first, isNew] = names.emplace(name.value, name.at);
    if (!isNew) refuse(name.at, fmt::format("the name '{}' is taken: line {} has it too", name.value, first->second.line));
  };
  for (const NodeSpec& node : job) {
    add(node.name);
    if (node.window && node.window->late) add(*node.window->late);
  }
  std::vector<std::string> readable;
  for (const auto& [name, at] : names) readable.push_back(name);
  for (const NodeSpec& node : job) {
    for (const auto& input : node.inputs) {
      if (!names.contains(input.value))
        refuse(input.at, fmt::format("'{}' reads '{}', and there is no such stream{}", node.name.value, input.value,
                                     suggestion(input.value, readable)));
      for (const NodeSpec& other : job)
        if (other.kind == NodeSpec::Kind::kSink && other.name.value == input.value)
          refuse(input.at, fmt::format("'{}' reads '{}', which is a sink and gives nothing", node.name.value, input.value));
    }
  }
}

/// Every stream behind those that it reads.
std::vector<NodeSpec> sorted(std::vector<NodeSpec> job) {
  std::map<std::string, size_t> indexOf;
  for (size_t i = 0; i < job.size(); ++i) indexOf[job[i].name.value] = i;
  std::vector<size_t> order;
  std::vector<int> state(job.size(), 0);  // 1: on the way, 2: done
  const std::function<void(size_t)> visit = [&](size_t i) {
    if (state[i] == 2) return;
    state[i] = 1;
    for (const auto& input : job[i].inputs) {
      const size_t from = indexOf.at(ownerOf(job, input.value));
      if (state[from] == 1)
        refuse(input.at, fmt::format("'{}' reads '{}', which itself waits for '{}': a job has no cycles", job[i].name.value, input.value,
                                     job[i].name.value));
      visit(from);
    }
    state[i] = 2;
    order.push_back(i);
  };
  for (size_t i = 0; i < job.size(); ++i) visit(i);
  std::vector<NodeSpec> result;
  for (const size_t i : order) result.push_back(std::move(job[i]));
  return result;
}

void checkEnds(const std::vector<NodeSpec>& job, const Position& at) {
  if (std::none_of(job.begin(), job.end(), [](const NodeSpec& n) { return n.kind == NodeSpec::Kind::kSource; }))
    refuse(at, "job has no source");
  if (std::none_of(job.begin(), job.end(), [](const NodeSpec& n) { return n.kind == NodeSpec::Kind::kSink; }))
    refuse(at, "job has no sink: add one such as '- out: {input: ..., sink: print}'");
  std::set<std::string> read;
  for (const NodeSpec& node : job)
    for (const auto& input : node.inputs) read.insert(ownerOf(job, input.value));
  for (const NodeSpec& node : job)
    if (node.kind != NodeSpec::Kind::kSink && !read.contains(node.name.value))
      refuse(node.name.at, fmt::format("nothing reads '{}': add a sink, or remove it", node.name.value));
}

}  // namespace

Result<ScenarioFile> ScenarioFile::parse(std::string_view text, const std::string& file) {
  try {
    const DocumentNode root = parseDocument(text, file);
    if (root.kind == DocumentNode::Kind::kNull) refuse(root.at, "the file is empty: it needs 'job'");
    std::vector<std::string> words = {"job", "config", "name", "title", "tags"};
    words.insert(words.end(), kLaterWords.begin(), kLaterWords.end());
    const MappingReader reader(root, "a job file", words);
    ScenarioFile scenario;
    scenario.file = file;
    const size_t slash = file.rfind('/');
    const std::string base = slash == std::string::npos ? file : file.substr(slash + 1);
    scenario.name = base.substr(0, base.rfind('.'));
    if (const auto* found = reader.find("name")) scenario.name = readText(*found, "the name");
    if (const auto* found = reader.find("title")) scenario.title = readText(*found, "the title");
    if (const auto* found = reader.find("config"); found && !isEmpty(*found)) readConfig(*found, "", scenario.config);
    if (auto valid = scenario.config.validate(); valid.has_error()) throw Refused{valid.error()};
    scenario.job = readJob(reader.require("job"));
    checkNames(scenario.job);
    scenario.job = sorted(std::move(scenario.job));
    checkEnds(scenario.job, reader.require("job").at);
    for (const auto& [key, value] : root.entries)
      if (std::find(kLaterWords.begin(), kLaterWords.end(), key.text) != kLaterWords.end() && !isEmpty(value))
        scenario.notes.push_back(key.at.prefix() + "'" + key.text +
                                 "' is not acted upon by this version: the job runs as 'job' and 'config' say");
    return scenario;
  } catch (const Refused& refused) {
    return refused.error;
  }
}

Result<ScenarioFile> ScenarioFile::read(FileSystem& files, const std::string& path) {
  constexpr size_t kMostBytes = 16 << 20;
  WEIR_ASSIGN(const auto bytes, files.readAll(path));
  if (bytes.size() > kMostBytes) return Error{ErrorCode::kInvalidArgument, path + " is larger than any job file (16 mb)"};
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::string ScenarioFile::beside(const std::string& path) const {
  const size_t slash = file.rfind('/');
  return path.starts_with('/') || slash == std::string::npos ? path : file.substr(0, slash + 1) + path;
}

}  // namespace weir
