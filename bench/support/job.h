#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/api/mini_cluster.h"
#include "weir/api/stream_execution_environment.h"
#include "weir/base/log_sinks.h"
#include "weir/base/real_file_system.h"
#include "weir/base/pool_executor.h"
#include "weir/base/thread_executor.h"

namespace weir::bench {

/// Jobs on a MiniCluster, a thread per task unless another executor is given, without a log.
class Jobs {
 public:
  explicit Jobs(std::unique_ptr<Executor> executor = std::make_unique<ThreadExecutor>()) : executor_(std::move(executor)) {}
  using Meanwhile = std::function<void(ExecutionContext&, MiniCluster&, JobMaster&)>;

  /// Runs the program; `meanwhile` is called on the client's actor once it was submitted, and the job is cancelled after it. Ends the
  /// process where the job cannot start or has failed: a benchmark of a broken job has no number.
  void run(const StreamExecutionEnvironment& program, const Meanwhile& meanwhile) {
    executor_->run("client", [&](ExecutionContext& context) {
      const auto graph = orExit(program.getJobGraph("benchmark"));
      const auto cluster = orExit(MiniCluster::start({*executor_, files_, log_}, program.configuration(), slotsNeeded(*graph)));
      const auto master = orExit(cluster->submit(graph, program.configuration()));
      meanwhile(context, *cluster, *master);
      master->cancel();
      context.wait(WaitReason::kInputOrMail, {&master->done()});
      if (const auto& failure = master->result().failure) exitWith(failure->trace());
      cluster->stop(context);
    });
  }
  /// Shown beside every number: what whole tasks cost depends on it.
  std::string executor() const { return std::string(executor_->name()); }

  [[noreturn]] static void exitWith(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
  }

 private:
  template <class T>
  static T orExit(Result<T> result) {
    if (result.has_error()) exitWith(result.error().message);
    return std::move(*result);
  }

  const std::unique_ptr<Executor> executor_;
  RealFileSystem files_;
  NullLogSink log_;
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
inline double quantile(std::vector<uint64_t> values, double q) {
  std::sort(values.begin(), values.end());
  return static_cast<double>(values[std::min(values.size() - 1, static_cast<size_t>(q * static_cast<double>(values.size())))]);
}

/// Two sides of a comparison, taken in turn; the ratio is that of each pair, so that a slow spell of the machine hits both.
class Pairs {
 public:
  void add(double weir, double limit) { weir_.push_back(weir), limit_.push_back(limit), ratio_.push_back(weir / limit); }
  void report(benchmark::State& state, const std::string& weir, const std::string& limit) const {
    state.counters[weir] = median(weir_);
    state.counters[limit] = median(limit_);
    state.counters["ratio"] = median(ratio_);
    state.counters["ratio_min"] = *std::min_element(ratio_.begin(), ratio_.end());
    state.counters["ratio_max"] = *std::max_element(ratio_.begin(), ratio_.end());
  }

 private:
  std::vector<double> weir_, limit_, ratio_;
};

/// Sizes for numbers where the limits are built too (preset bench); elsewhere a run only has to show that the program still works.
#ifdef WEIR_LIMITS
inline constexpr bool kForNumbers = true;
#else
inline constexpr bool kForNumbers = false;
#endif

}  // namespace weir::bench
