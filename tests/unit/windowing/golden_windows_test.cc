// Windows that a real Flink kept in a checkpoint go on here: contents and timers.
#include <cstdio>
#include <map>

#include "support/golden_checkpoints.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "window_fixture.h"

namespace weir {
namespace {

using namespace testing;

/// The accumulator of the job that wrote it: count and sum.
struct CountAndSum {
  using In = Event;
  using Acc = std::pair<int64_t, int64_t>;
  using Out = Acc;
  Acc createAccumulator() const { return {}; }
  void add(Acc& acc, const Event& event) const {
    ++acc.first;
    acc.second += event.second;
  }
  Out getResult(const Acc& acc) const { return acc; }
};
struct ShowAggregate {
  void operator()(const std::string& key, ProcessWindowContext<std::string>& context, std::span<const CountAndSum::Acc> acc,
                  Collector<std::string>& out) const {
    out.collect(fmt::format("{} {} {} {}", key, acc[0].first, acc[0].second, toText(context.window())));
  }
};
using Contents = AggregateContents<CountAndSum, ShowAggregate, std::string>;

/// The state of operator `uid`, with its files on this machine.
std::map<int32_t, OperatorSubtaskState> golden(OperatorMachine& machine, const std::string& scenario, const std::string& uid) {
  const std::string folder = golden::checkpointFolder(scenario, "chk-2");
  const std::string path = golden::pathOf(folder);
  const auto metadata = readMetadata(golden::readBytes(folder + "/_metadata"), path, folder).value();
  machine.memory.createDirectories(path).value();
  std::map<int32_t, OperatorSubtaskState> states;
  for (const auto& op : metadata.operators) {
    if (op.uid != uid) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string name = entry.path().filename().string();
      machine.write(path + "/" + name, golden::readText(folder + "/" + name));
    }
    for (const auto& [index, state] : op.subtasks) states[index] = state;
  }
  return states;
}

TEST(GoldenWindows, WindowsOfFlinkFireHereWithTheirTimers) {
  OperatorMachine machine;
  const auto states = golden(machine, "windows-heap", "window");
  ASSERT_EQ(states.size(), 2u);
  std::vector<std::string> fired;
  for (const auto& [index, state] : states) {
    WindowHarness<Contents> op(machine, windows(tumbling(7000)), Contents(CountAndSum{}, ShowAggregate{}),
                               {.subtask = index, .parallelism = 2});
    op.restore(state);
    op.watermark(kMaxWatermark);
    for (auto& text : op.results()) fired.push_back(std::move(text));
  }
  ASSERT_EQ(fired.size(), 9u);
  // Both sources emit, at 1000 i, ("user-<i % 10>", 100 i + subtask): a window of 7 s has at most one i of a user.
  for (const std::string& text : fired) {
    long user, count, sum, start, end, timestamp;
    ASSERT_EQ(std::sscanf(text.c_str(), "user-%ld %ld %ld [%ld,%ld)@%ld", &user, &count, &sum, &start, &end, &timestamp), 6) << text;
    EXPECT_EQ(end, start + 7000) << text;
    EXPECT_EQ(timestamp, end - 1) << text;
    const long i = sum / (100 * count);
    EXPECT_EQ(i % 10, user) << text;
    EXPECT_TRUE(1000 * i >= start && 1000 * i < end) << text;
    EXPECT_LE(count, 2) << text;
    EXPECT_LE(sum - 100 * i * count, 1) << text;
  }
}

}  // namespace
}  // namespace weir
