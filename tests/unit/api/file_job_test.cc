#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/job_runner.h"
#include "support/seeds.h"
#include "weir/operators/file_reader.h"
#include "weir/operators/file_sink.h"
#include "weir/operators/transactional_collect_sink.h"

namespace weir {
namespace {

struct Order {
  int64_t id = 0;
  std::string customer;
  std::optional<double> price;
  WEIR_FIELDS(id, customer, price)
  bool operator==(const Order&) const = default;
};

/// From a CSV file to part files, with a failure in between: what a job outside of tests does.
class FileJobTest : public ::testing::Test {
 protected:
  static std::vector<Order> orders(int64_t count) {
    std::vector<Order> all;
    for (int64_t i = 0; i < count; ++i)
      all.push_back(
          {i, "customer, no. " + std::to_string(i % 13), i % 5 == 0 ? std::nullopt : std::optional(0.5 * static_cast<double>(i))});
    return all;
  }
  static void write(FileSystem& files, const std::string& path, const std::vector<Order>& rows) {
    std::string text = csvHeader<Order>() + "\n";
    for (const Order& row : rows) {
      appendCsvRow(text, row);
      text += '\n';
    }
    auto file = std::move(files.create(path, FileSystem::Create::kNew).value());
    file->append(std::as_bytes(std::span(text))).value();
    file->close().value();
  }
  /// All rows of the visible part files, by id.
  static std::vector<Order> readParts(FileSystem& files, ExecutionContext& context) {
    std::vector<Order> all;
    for (const std::string& name : files.list("/out").value()) {
      if (name[0] == '.') continue;
      CsvReader<Order> reader("/out/" + name);
      std::vector<SourceSplit> splits{{0, 1, 0}};
      reader.open({files, context}, splits);
      std::vector<StreamRecord<Order>> batch(kMaxBatch);
      for (bool end = false; !end;) {
        const size_t count = reader.poll(batch, end);
        for (size_t i = 0; i < count; ++i) all.push_back(batch[i].value);
      }
    }
    std::sort(all.begin(), all.end(), [](const Order& a, const Order& b) { return a.id < b.id; });
    return all;
  }
  /// `failing`: how many attempts throw at the row in the middle.
  static StreamExecutionEnvironment copyJob(int64_t count, int failing, const std::shared_ptr<TransactionalCollectResult<int64_t>>& ids) {
    StreamExecutionEnvironment env;
    env.setParallelism(2);
    env.configure("execution.checkpointing.interval", "20 ms")
        .configure("restart-strategy.type", "fixed-delay")
        .configure("restart-strategy.fixed-delay.attempts", "5")
        .configure("restart-strategy.fixed-delay.delay", "1 ms");
    auto left = std::make_shared<std::atomic<int>>(failing);
    auto rows = env.fromSource(CsvReader<Order>("/in.csv").splits(3), "orders", 20'000).map([left, count](const Order& order) {
      if (order.id == count / 2 && left->fetch_sub(1) > 0) throw std::runtime_error("broken on purpose");
      return order;
    });
    rows.sinkTo("files", Batching::kBatches, FileSink<Order>({.directory = "/out"}));
    rows.map([](const Order& order) { return order.id; }).sinkTo("ids", Batching::kBatches, TransactionalCollectSink<int64_t>(ids));
    return env;
  }
  static void runAndCheck(std::unique_ptr<Executor> executor, const std::string& what) {
    JobRunner runner(std::move(executor));
    const auto input = orders(3000);
    write(runner.files(), "/in.csv", input);
    auto ids = std::make_shared<TransactionalCollectResult<int64_t>>();
    std::vector<Order> output;
    const JobResult result = runner.run(copyJob(3000, 2, ids));
    ASSERT_EQ(result.status, JobStatus::kFinished) << what << (result.failure ? result.failure->trace() : "");
    runner.executor().run("reader", [&](ExecutionContext& context) { output = readParts(runner.files(), context); });
    EXPECT_EQ(output, input) << what;
    auto collected = ids->values();
    std::sort(collected.begin(), collected.end());
    ASSERT_EQ(collected.size(), input.size()) << what;
    for (size_t i = 0; i < input.size(); ++i) ASSERT_EQ(collected[i], input[i].id) << what;
  }
};

TEST_F(FileJobTest, EveryRowIsInThePartFilesOnceAfterFailures_OnThreads) { runAndCheck(JobRunner::threads(), "threads"); }
TEST_F(FileJobTest, EveryRowIsInThePartFilesOnceAfterFailures_InThePool) { runAndCheck(JobRunner::pool(), "pool"); }
TEST_F(FileJobTest, EveryRowIsInThePartFilesOnceAfterFailures_Simulated) {
  for (const uint64_t seed : testing::seeds(5)) {
    runAndCheck(JobRunner::simulated(seed), "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

TEST_F(FileJobTest, BadRowFailsTheJobWithItsPlace) {
  JobRunner runner(JobRunner::simulated(1));
  auto file = std::move(runner.files().create("/in.csv", FileSystem::Create::kNew).value());
  const std::string text = "id,customer,price\n1,a,2\none,b,3\n";
  file->append(std::as_bytes(std::span(text))).value();
  StreamExecutionEnvironment env;
  env.fromSource(CsvReader<Order>("/in.csv"), "orders").addSink([](const Order&) {});
  const JobResult result = runner.run(env);
  ASSERT_EQ(result.status, JobStatus::kFailed);
  EXPECT_THAT(result.failure->trace(), ::testing::HasSubstr("/in.csv line 3, column \"id\": \"one\" is not a whole number"));
}

}  // namespace
}  // namespace weir
