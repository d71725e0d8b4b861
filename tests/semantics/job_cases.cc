#include "semantics/job_cases.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <stdexcept>

#include "semantics/job_input.h"
#include "semantics/operators.h"
#include "support/golden.h"
#include "support/job_runner.h"
#include "weir/base/mutex.h"

namespace weir::semantics {
namespace {

/// What came out of a job, from all subtasks.
struct Collected {
  Mutex mutex;
  std::vector<std::string> lines;
  std::map<std::string, int64_t> late;  ///< by key
};

std::string lineOf(const Item& item) {
  std::string line = *item.key + "\t";
  if (item.hasWindow) line += std::to_string(item.windowStart) + "\t" + std::to_string(item.windowEnd) + "\t";
  return line + item.value.toString();
}

DataStream<Item> source(StreamExecutionEnvironment& env, const JobCase& golden) {
  const auto rows = inputRows(golden.input);
  const auto read = [rows](int64_t i) { return std::pair((*rows)[static_cast<size_t>(i)].timestamp, i); };
  auto stream = env.fromGenerator(static_cast<int64_t>(rows->size()), read);
  // The row itself is taken by index, so that the source does not copy it twice.
  auto items = stream.flatMap<Item>([rows](const std::pair<int64_t, int64_t>& row, Collector<Item>& out) {
    out.collect((*rows)[static_cast<size_t>(row.second)].item, row.first);
  });
  const Json watermarks = {{"op", "watermarks"}, {"strategy", "perRecord"}, {"maxOutOfOrderness", golden.input.at("maxOutOfOrderness")}};
  return items.transform<Item>("Watermarks", Batching::kOneByOne,
                               [watermarks](OperatorSetup setup) { return makeOperator(watermarks, false, std::move(setup)); });
}

DataStream<Item> withOperator(DataStream<Item> stream, const Json& op, bool doubles, int32_t parallelism) {
  const auto make = [op, doubles](OperatorSetup setup) { return makeOperator(op, doubles, std::move(setup)); };
  if (op.at("op") != "window") return stream.transform<Item>(op.at("op"), Batching::kOneByOne, make);
  DataStream<Item> keyed = stream.keyBy([](const Item& item) { return *item.key; }).stream();
  auto windowed = keyed.transform<Item>("Window", Batching::kBatches, make);
  windowed.setParallelism(parallelism);
  return windowed;
}

}  // namespace

std::vector<std::string> runJob(const JobCase& golden, std::unique_ptr<Executor> executor) {
  StreamExecutionEnvironment env;
  const auto collected = std::make_shared<Collected>();
  DataStream<Item> stream = source(env, golden);
  bool doubles = false, windowSeen = false;
  for (const Json& op : golden.operators) {
    stream = withOperator(stream, op, doubles, golden.parallelism);
    if (windowSeen && op.at("op") != "window") stream.setParallelism(golden.parallelism);
    windowSeen = windowSeen || op.at("op") == "window";
    doubles = givesDoubles(op, doubles);
    if (op.value("late", "drop") != "side") continue;
    stream.getSideOutput(OutputTag<Item>{"late"}).addSink([collected](const Item& item) {
      Lock lock(collected->mutex);
      ++collected->late[*item.key];
    });
  }
  stream
      .addSink([collected](const Item& item) {
        std::string line = lineOf(item);
        Lock lock(collected->mutex);
        collected->lines.push_back(std::move(line));
      })
      .setParallelism(golden.parallelism);
  JobRunner runner(std::move(executor), LogLevel::kError);
  const JobResult result = runner.run(env);
  if (result.status != JobStatus::kFinished) throw std::runtime_error(result.failure ? result.failure->trace() : "the job did not finish");
  for (const auto& [key, count] : collected->late) collected->lines.push_back("late\t" + key + "\t#" + std::to_string(count));
  std::sort(collected->lines.begin(), collected->lines.end());
  return collected->lines;
}

namespace {
std::vector<std::string> expectedLines(const JobCase& golden) {
  std::ifstream in(golden.expected);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  if (lines.empty()) throw std::runtime_error("no lines in " + golden.expected);
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// Averages of averages depend on the order of stage one's results in their last digits.
bool nearlyEqual(const std::string& a, const std::string& b) {
  const auto left = golden::split(a, '\t'), right = golden::split(b, '\t');
  if (left.size() != right.size() || !std::equal(left.begin(), left.end() - 1, right.begin())) return false;
  const double x = std::stod(left.back()), y = std::stod(right.back());
  return std::fabs(x - y) <= 1e-9 * std::max(std::fabs(x), std::fabs(y));
}
}  // namespace

std::string difference(const JobCase& golden, const std::vector<std::string>& lines) {
  const auto expected = expectedLines(golden);
  const bool lastDigitsOpen = golden.name == "two-stage-avg-avg";
  std::string text;
  int shown = 0;
  const size_t most = std::max(expected.size(), lines.size());
  for (size_t i = 0; i < most && shown < 5; ++i) {
    const std::string flink = i < expected.size() ? expected[i] : "(no more)", here = i < lines.size() ? lines[i] : "(no more)";
    if (flink == here || (lastDigitsOpen && nearlyEqual(flink, here))) continue;
    text += "\n  line " + std::to_string(i + 1) + " Flink: " + flink + "   here: " + here;
    ++shown;
  }
  return text;
}

}  // namespace weir::semantics
