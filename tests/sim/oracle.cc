#include "sim/oracle.h"

#include <algorithm>
#include <tuple>

namespace weir::sim {

Oracle::Oracle(const Scenario& scenario) : scenario_(scenario) {
  for (size_t i = 0; i < scenario.nodes.size(); ++i) {
    const Node& node = scenario.nodes[i];
    const auto index = static_cast<int32_t>(i);
    std::vector<Rec> out;
    if (node.op == Op::kSource) {
      for (int64_t n = 0; n < node.records; ++n) out.push_back(sourceRecord(index, n, scenario.parallelismOf(node.group)));
    } else {
      for (const Rec& rec : input(node.inputs[0])) {
        if (node.op == Op::kFilter) {
          if (passes(rec, index)) out.push_back(rec);
        } else if (node.op == Op::kFlatMap) {
          for (Rec& each : expanded(rec, index)) out.push_back(std::move(each));
        } else if (node.op == Op::kRekey) {
          out.push_back(rekeyed(rec, index));
        } else {
          out.push_back(marked(rec, index, node.op == Op::kConnect || node.op == Op::kKeyedConnect ? 1 : 0));
        }
      }
      if (node.op == Op::kConnect || node.op == Op::kKeyedConnect)
        for (const Rec& rec : input(node.inputs[1])) out.push_back(marked(rec, index, 2));
    }
    outputs_.push_back(std::move(out));
  }
}

std::vector<Rec> Oracle::input(const Input& input) const {
  std::vector<Rec> all;
  for (const int32_t from : input.from) {
    const auto& records = outputs_[static_cast<size_t>(from)];
    all.insert(all.end(), records.begin(), records.end());
  }
  return all;
}

std::vector<std::string> Oracle::judgeSink(size_t sink, const std::vector<Rec>& committed) const {
  struct Balance {
    const Rec* example = nullptr;
    int64_t expected = 0, committed = 0;
  };
  std::map<uint64_t, Balance> balances;
  std::vector<std::string> problems;
  for (const Rec& rec : outputs_[static_cast<size_t>(scenario_.sinks[sink].from)]) {
    Balance& balance = balances[rec.identity()];
    balance.example = &rec;
    ++balance.expected;
  }
  for (const Rec& rec : committed) {
    Balance& balance = balances[rec.identity()];
    balance.example = &rec;
    ++balance.committed;
    if (rec.checksum != rec.expectedChecksum()) problems.push_back(fmt::format("sink {} has a damaged record: {}", sink, rec.text()));
  }
  for (const auto& [identity, balance] : balances) {
    const bool fine = scenario_.exactlyOnce ? balance.committed == balance.expected
                                            : balance.committed >= balance.expected && balance.expected > 0;
    if (fine) continue;
    problems.push_back(fmt::format("sink {}: committed {} times instead of {}: {}", sink, balance.committed, balance.expected,
                                   balance.example->text()));
  }
  if (scenario_.exactlyOnce && scenario_.sinks[sink].audit && problems.empty()) judgeCounts(sink, committed, problems);
  return problems;
}

void Oracle::judgeCounts(size_t sink, const std::vector<Rec>& committed, std::vector<std::string>& problems) const {
  std::map<int32_t, std::vector<const Rec*>> byKey;
  for (const Rec& rec : committed) byKey[rec.key].push_back(&rec);
  const bool ordered = scenario_.nodes[static_cast<size_t>(scenario_.sinks[sink].from)].ordered;
  for (auto& [key, records] : byKey) {
    std::sort(records.begin(), records.end(), [](const Rec* a, const Rec* b) { return a->count < b->count; });
    int64_t count = 0, sum = 0;
    std::map<std::tuple<int32_t, int32_t, int64_t>, int64_t> lastOf;  // by source, split and path
    for (const Rec* rec : records) {
      sum += rec->value;
      if (rec->count != ++count || rec->sum != sum)
        return problems.push_back(fmt::format("sink {}: not number {} of its key with sum {}: {}", sink, count, sum, rec->text()));
      int64_t& last = lastOf[{rec->source, rec->split, rec->path}];
      if (ordered && rec->index < last)
        return problems.push_back(fmt::format("sink {}: overtaken by index {}: {}", sink, last, rec->text()));
      last = rec->index;
    }
  }
}

std::vector<std::string> Oracle::judgeFinals(const std::map<std::pair<int32_t, int32_t>, FinalState>& finals, size_t incarnation) const {
  std::vector<std::string> problems;
  for (size_t i = 0; i < scenario_.nodes.size(); ++i) {
    const Node& node = scenario_.nodes[i];
    const bool counts = node.op == Op::kListCounter || node.op == Op::kUnionCounter;
    if (!counts && node.op != Op::kBroadcastState) continue;
    std::map<int32_t, int64_t> rules;
    if (node.op == Op::kBroadcastState) {
      for (const Rec& rec : input(node.inputs[1])) {
        const auto [at, isNew] = rules.emplace(rec.key, rec.value);
        at->second = std::max(at->second, rec.value);
      }
    }
    int64_t total = 0;
    for (int32_t subtask = 0; subtask < scenario_.parallelismOf(node.group, incarnation); ++subtask) {
      const auto found = finals.find({static_cast<int32_t>(i), subtask});
      if (found == finals.end()) {
        problems.push_back(fmt::format("subtask {} of node {} never finished", subtask, i));
        continue;
      }
      total += found->second.count;
      if (!counts && found->second.entries != rules)
        problems.push_back(fmt::format("subtask {} of node {} has other broadcast state than was broadcast", subtask, i));
    }
    const auto expected = static_cast<int64_t>(outputs_[i].size());
    if (counts && (scenario_.exactlyOnce ? total != expected : total < expected))
      problems.push_back(fmt::format("node {} counted {} records instead of {}", i, total, expected));
  }
  return problems;
}

}  // namespace weir::sim
