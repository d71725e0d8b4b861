// Windows of every mergeable aggregate over random streams with disorder and lateness, by jobs that end with a failure and go on at another
// parallelism, with other salts, or in the other form.
#include "support/seeds.h"
#include "two_stage/every_aggregate.h"
#include "weir/api/two_stage_windows.h"

namespace weir {
namespace {

using Every = EveryAggregate::Out;
using WindowOfKey = std::pair<std::string, int64_t>;  ///< key, start
using Windowed = std::pair<WindowOfKey, Every>;

struct WithWindow {
  void operator()(const std::string& key, ProcessWindowContext<std::string>& context, std::span<const Every> results,
                  Collector<Windowed>& out) const {
    for (const Every& result : results) out.collect({{key, context.window().start}, result});
  }
};

struct Attempt {
  int32_t parallelism = 1;
  int32_t salts = 0;    ///< below 0: in one stage
  int64_t failAt = -1;  ///< below 0: it does not
};

/// A record is at most `disorder` behind the latest one. The watermark waits for less than that, the allowed lateness makes up for it: late
/// firings, and no record is lost, wherever the watermark begins anew.
struct Case {
  explicit Case(uint64_t s) : seed(s), random(s, "restarts") {
    count = random.between(200, 900);
    keys = random.between(1, 8);
    disorder = random.between(0, 2000);
    bound = random.between(0, disorder);
    settings.assigner = random.oneIn(2) ? *TumblingEventTimeWindows::of(Millis(500), Millis(random.between(0, 400)))
                                        : *SlidingEventTimeWindows::of(Millis(random.between(300, 900)), Millis(300));
    settings.allowedLateness = disorder - bound + 1;
    flush.records = random.oneIn(2) ? 0 : random.between(1, 200);
    flush.interval = random.oneIn(2) ? Millis(0) : Millis(random.between(1, 20));
    unaligned = random.oneIn(3);
    int64_t failAt = 0;
    for (auto runs = random.between(1, 3); runs > 0; --runs) {
      failAt = random.between(failAt, count - 1);
      attempts.push_back(drawn(failAt));
    }
    attempts.push_back(drawn(-1));
  }
  Attempt drawn(int64_t failAt) {
    int64_t salts = random.between(-1, 9);
    // What is in flight belongs to an edge, and each form has other edges: from an unaligned checkpoint only the same form goes on.
    if (unaligned) salts = random.between(1, 9);
    return {static_cast<int32_t>(random.between(1, 4)), static_cast<int32_t>(salts), failAt};
  }
  Order make(int64_t number) const {
    Random r(seed * 7919 + static_cast<uint64_t>(number));
    return {number, "key-" + std::to_string(r.between(0, keys - 1)), r.between(-9, 9),
            static_cast<double>(number * 5 - r.between(0, disorder))};
  }
  uint64_t seed;
  Random random;
  int64_t count, keys, disorder, bound;
  WindowSettings settings;
  FlushPolicy flush;
  bool unaligned;
  std::vector<Attempt> attempts;
};

/// The runs of one job, each from the newest checkpoint of the one before. What a run has put out behind it comes out anew.
class Runs {
 public:
  explicit Runs(const Case& c) : case_(c), runner_(JobRunner::simulated(c.seed)) { runner_.cluster.segmentSize = 512; }

  JobResult run(const Attempt& attempt) {
    StreamExecutionEnvironment env;
    env.setParallelism(attempt.parallelism)
        .setMaxParallelism(128)
        .configure("restart-strategy.type", "none")
        .configure("execution.checkpointing.interval", "10 ms")
        .configure("execution.checkpointing.unaligned.enabled", case_.unaligned ? "true" : "false")
        .configure("execution.checkpointing.dir", "/run-" + std::to_string(++runs_))
        .configure("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION")
        .configure("execution.savepoint.ignore-unclaimed-state", "true");  // the counter of salts, where one stage follows two
    // A run that fails before its first checkpoint leaves none: the next one goes on from where this one began.
    if (const std::string newest = newestCheckpoint("/run-" + std::to_string(runs_ - 1)); !newest.empty()) from_ = newest;
    if (!from_.empty()) env.configure("execution.state-recovery.path", from_);
    const auto time = [](const Order& order, int64_t) { return static_cast<int64_t>(order.price); };
    auto orders = env.fromSource(GeneratorReader(case_.count, [c = &case_](int64_t number) { return c->make(number); }), "orders", 20'000)
                      .uid("orders")
                      .setParallelism(1)
                      .map([failAt = attempt.failAt](const Order& order) {
                        if (order.number == failAt) throw std::runtime_error("the end of this run");
                        return order;
                      })
                      .uid("breaks")
                      .setParallelism(1);
    auto timed = orders
                     .assignTimestampsAndWatermarks(
                         WatermarkStrategyOf<PerRecordWatermarks, decltype(time)>{PerRecordWatermarks(Millis(case_.bound)), time})
                     .uid("time")
                     .setParallelism(1);
    WindowedStream<Order, std::string Order::*> windowed(timed.keyBy(&Order::key).stream(), &Order::key, case_.settings.assigner);
    windowed.allowedLateness(Millis(case_.settings.allowedLateness));
    auto windows = windowed.aggregate<Windowed>(EveryAggregate(), WithWindow());
    if (attempt.salts < 0)
      write(windows.uid("windows"));
    else
      write(windows.twoStage({.salts = attempt.salts, .flush = case_.flush}).uid("windows"));
    return runner_.run(env);
  }
  const std::map<WindowOfKey, Every>& last() const { return *last_; }
  int restored() const { return from_.empty() ? 0 : 1; }

 private:
  void write(DataStream<Windowed> stream) {
    stream.addSink([last = last_](const Windowed& result) { (*last)[result.first] = result.second; }).uid("results");
  }
  std::string newestCheckpoint(const std::string& directory) {
    std::pair<int64_t, std::string> newest{0, ""};
    const auto jobs = runner_.files().list(directory);
    if (jobs.has_error()) return "";
    for (const std::string& job : *jobs) {
      for (const std::string& folder : runner_.files().list(directory + "/" + job).value()) {
        const std::string path = directory + "/" + job + "/" + folder;
        if (!folder.starts_with("chk-") || !runner_.files().exists(path + "/_metadata")) continue;
        newest = std::max(newest, std::pair<int64_t, std::string>(std::stoll(folder.substr(4)), path));
      }
    }
    return newest.second;
  }

  const Case& case_;
  JobRunner runner_;
  std::shared_ptr<std::map<WindowOfKey, Every>> last_ = std::make_shared<std::map<WindowOfKey, Every>>();
  std::string from_;
  int runs_ = 0;
};

struct Right {
  EveryAggregate::Acc accumulator = EveryAggregate().createAccumulator();
  RoundingBound bound;
};
/// Plain loops over the records.
std::map<WindowOfKey, Right> oracle(const Case& c) {
  std::map<WindowOfKey, Right> all;
  std::vector<TimeWindow> assigned;
  for (int64_t number = 0; number < c.count; ++number) {
    const Order order = c.make(number);
    assigned.clear();
    c.settings.assigner->assignWindows(ElementRef(order), static_cast<int64_t>(order.price), 0, assigned);
    for (const TimeWindow& window : assigned) {
      Right& right = all[{order.key, window.start}];
      EveryAggregate().add(right.accumulator, order);
      right.bound.add(EveryAggregate::fraction(order));
    }
  }
  return all;
}

TEST(TwoStageWindows, OfEveryMergeableAggregateGoOnAtAnyParallelismAndInAnyForm) {
  int restored = 0;
  for (const uint64_t seed : testing::seeds(25)) {
    const Case c(seed);
    std::string said = "seed " + std::to_string(seed) + (c.unaligned ? ", unaligned" : "");
    for (const Attempt& a : c.attempts) said += fmt::format(" {{{}, {}, {}}}", a.parallelism, a.salts, a.failAt);
    SCOPED_TRACE(said);
    Runs runs(c);
    for (const Attempt& attempt : c.attempts) {
      const JobResult result = runs.run(attempt);
      const std::string trace = result.failure ? result.failure->trace() : "";
      ASSERT_EQ(result.status, attempt.failAt < 0 ? JobStatus::kFinished : JobStatus::kFailed) << trace;
      if (attempt.failAt >= 0) {
        ASSERT_NE(trace.find("the end of this run"), std::string::npos) << trace;
      }
      restored += runs.restored();
    }
    const auto right = oracle(c);
    ASSERT_EQ(runs.last().size(), right.size());
    for (const auto& [window, result] : runs.last()) {
      SCOPED_TRACE(window.first + " " + std::to_string(window.second));
      const auto found = right.find(window);
      ASSERT_TRUE(found != right.end());
      expectSameResults(result, EveryAggregate().getResult(found->second.accumulator), found->second.bound);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(restored, 10) << "most went on from a checkpoint";
}

}  // namespace
}  // namespace weir
