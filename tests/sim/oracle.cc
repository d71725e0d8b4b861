#include "sim/oracle.h"

#include <algorithm>
#include <tuple>

#include "sim/event_time.h"

namespace weir::sim {

Oracle::Oracle(const Scenario& scenario) : scenario_(scenario) {
  for (size_t i = 0; i < scenario.nodes.size(); ++i) outputs_.push_back(outputOf(static_cast<int32_t>(i)));
}

std::vector<Oracle::Timed> Oracle::outputOf(int32_t node) const {
  const Node& at = scenario_.nodes[static_cast<size_t>(node)];
  std::vector<Timed> out;
  if (at.op == Op::kSource) {
    for (int64_t n = 0; n < at.records; ++n)
      out.push_back({sourceRecord(node, n, scenario_.parallelismOf(at.group)), eventTime(at.event, node, n)});
    return out;
  }
  const bool two = at.op == Op::kConnect || at.op == Op::kKeyedConnect || at.op == Op::kHoldConnect;
  for (const Timed& in : input(at.inputs[0])) add(out, in, node, two ? 1 : 0);
  if (two)
    for (const Timed& in : input(at.inputs[1])) add(out, in, node, 2);
  return out;
}

/// What the operator makes of one record.
void Oracle::add(std::vector<Timed>& out, const Timed& in, int32_t node, int64_t variant) const {
  const Node& at = scenario_.nodes[static_cast<size_t>(node)];
  const Timing& timing = at.timing;
  switch (at.op) {
    case Op::kFilter:
      if (passes(in.rec, node)) out.push_back(in);
      return;
    case Op::kFlatMap:
      for (Rec& each : expanded(in.rec, node)) out.push_back({std::move(each), in.time});
      return;
    case Op::kRekey: return out.push_back({rekeyed(in.rec, node), in.time});
    case Op::kHold:
    case Op::kHoldConnect: {
      const int64_t until = heldUntil(timing, knowsTimesInto(scenario_, node) ? in.time : eventTime(scenario_, in.rec));
      return out.push_back({heldBack(in.rec, node, variant, until), until});
    }
    case Op::kDelay: return out.push_back({marked(in.rec, node), eventTime(scenario_, in.rec)});
    case Op::kWindow: {
      const bool isExact = timing.window != WindowKind::kSession && knowsTimesInto(scenario_, node);
      int64_t start = lastWindowStart(timing, in.time);
      for (int64_t i = 0; i < timing.slides; ++i, start -= timing.sizeMs)
        out.push_back({isExact ? heldBack(in.rec, node, 0, start) : marked(in.rec, node), start + windowSize(timing) - 1});
      return;
    }
    default: out.push_back({marked(in.rec, node, variant), in.time});
  }
}

std::vector<Oracle::Timed> Oracle::input(const Input& input) const {
  std::vector<Timed> all;
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
  for (const auto& [rec, time] : outputs_[static_cast<size_t>(scenario_.sinks[sink].from)]) {
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
      for (const auto& [rec, time] : input(node.inputs[1])) {
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
