// A job that ends with a failure goes on from its last checkpoint, at another parallelism, with other options, or in the other form.
#include <cstdlib>

#include "support/seeds.h"
#include "two_stage/two_stage_job.h"

namespace weir {
namespace {

using Sum2 = std::pair<std::string, int64_t>;
constexpr int64_t kCount = 4000;

struct Attempt {
  int32_t parallelism;
  int32_t salts;  ///< below 0: in one stage
  int64_t failAt;  ///< below 0: it does not
};

/// All runs are of one program as far as its uids go. What a run has put out behind its last checkpoint, the next one puts out anew.
class Sequel {
 public:
  explicit Sequel(uint64_t seed) : runner_(JobRunner::simulated(seed)) {}

  JobResult run(const Attempt& run) {
    StreamExecutionEnvironment env;
    env.setParallelism(run.parallelism)
        .setMaxParallelism(128)
        .configure("restart-strategy.type", "none")
        .configure("execution.checkpointing.interval", "10 ms")
        .configure("execution.checkpointing.dir", "/run-" + std::to_string(++runs_))
        .configure("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION")
        .configure("execution.savepoint.ignore-unclaimed-state", "true");  // the counter of salts, where one stage follows two
    if (runs_ > 1) env.configure("execution.state-recovery.path", newestCheckpoint("/run-" + std::to_string(runs_ - 1)));
    auto orders = env.fromSource(GeneratorReader(kCount, &numbered), "orders", 20'000)
                      .uid("orders")
                      .map([failAt = run.failAt](const Order& order) {
                        if (order.number == failAt) throw std::runtime_error("the end of this run");
                        return order;
                      })
                      .uid("breaks");
    auto sums = orders.keyBy(&Order::key).aggregate(on(&Order::amount, Sum<int64_t>()));
    if (run.salts < 0)
      write(sums.uid("sums"));
    else
      write(sums.twoStage({.salts = run.salts}).uid("sums"));
    return runner_.run(env);
  }
  const std::map<std::string, int64_t>& last() const { return *last_; }

 private:
  static Order numbered(int64_t number) {
    Order order = hotOrder(number);
    order.number = number;
    return order;
  }
  void write(DataStream<Sum2> stream) {
    stream.addSink([last = last_](const Sum2& sum) { (*last)[sum.first] = sum.second; }).uid("results");
  }
  std::string newestCheckpoint(const std::string& directory) {
    std::pair<int64_t, std::string> newest{0, ""};
    for (const std::string& job : runner_.files().list(directory).value()) {
      for (const std::string& folder : runner_.files().list(directory + "/" + job).value()) {
        const std::string path = directory + "/" + job + "/" + folder;
        if (!folder.starts_with("chk-") || !runner_.files().exists(path + "/_metadata")) continue;
        newest = std::max(newest, std::pair<int64_t, std::string>(std::stoll(folder.substr(4)), path));
      }
    }
    EXPECT_NE(newest.second, "") << "no checkpoint in " << directory;
    return newest.second;
  }

  JobRunner runner_;
  std::shared_ptr<std::map<std::string, int64_t>> last_ = std::make_shared<std::map<std::string, int64_t>>();
  int runs_ = 0;
};

void expectRight(uint64_t seed, const std::vector<Attempt>& runs) {
  Sequel sequel(seed);
  for (size_t i = 0; i < runs.size(); ++i) {
    const JobResult result = sequel.run(runs[i]);
    ASSERT_EQ(result.status, i + 1 < runs.size() ? JobStatus::kFailed : JobStatus::kFinished)
        << "seed " << seed << ", run " << i << (result.failure ? result.failure->trace() : "");
    if (i + 1 < runs.size()) {
      ASSERT_NE(result.failure->trace().find("the end of this run"), std::string::npos) << result.failure->trace();
    }
  }
  std::string said;
  for (const Attempt& run : runs)
    said += " {" + std::to_string(run.parallelism) + ", " + std::to_string(run.salts) + ", " + std::to_string(run.failAt) + "}";
  EXPECT_EQ(sequel.last(), oracle(on(&Order::amount, Sum<int64_t>()), kCount, hotOrder)) << "seed " << seed << said;
}

TEST(TwoStageRescale, GoesOnAtAnotherParallelism) {
  expectRight(1, {{2, 8, 2000}, {4, 8, 3000}, {1, 8, -1}});
}
TEST(TwoStageRescale, OneStageGoesOnInTwo) { expectRight(1, {{2, -1, 2500}, {2, 8, -1}}); }
TEST(TwoStageRescale, TwoStagesGoOnInOne) { expectRight(1, {{2, 8, 2500}, {2, -1, -1}}); }
TEST(TwoStageRescale, AnyFormAfterAnyOther) {
  const uint64_t seeds = testing::seedsWanted(20);
  for (uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    Random random(seed, "rescale");
    const auto drawn = [&](int64_t failAt) {
      return Attempt{static_cast<int32_t>(random.between(1, 4)), static_cast<int32_t>(random.between(-1, 12)), failAt};
    };
    expectRight(seed, {drawn(random.between(1000, 2200)), drawn(random.between(2300, 3800)), drawn(-1)});
  }
}

}  // namespace
}  // namespace weir
