#include "weir/cli/bench_command.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "trace_report.h"
#include "weir/base/thread_executor.h"
#include "weir/cli/barrier_latency.h"
#include "weir/cli/terminal.h"

namespace weir {
namespace {

struct Line {
  BarrierCase which;
  LatencyHistogram times;
  int64_t floorNanos;

  const char* checkpoint() const { return which.unaligned ? "unaligned" : "aligned"; }
  const char* load() const { return which.backPressure ? "back pressure" : "idle"; }
  const char* receiver() const { return which.spinning ? "spinning" : "parked"; }
  double ratio() const { return static_cast<double>(times.quantile(0.5)) / static_cast<double>(std::max<int64_t>(1, floorNanos)); }
};

std::vector<BarrierCase> casesOf(int32_t channels) {
  std::vector<BarrierCase> cases;
  for (const bool backPressure : {false, true})
    for (const bool unaligned : {false, true})
      for (const bool spinning : {true, false})
        cases.push_back({.channels = channels, .unaligned = unaligned, .backPressure = backPressure, .spinning = spinning});
  return cases;
}

void printTable(std::ostream& out, const std::vector<Line>& lines, bool colour) {
  using Align = TextTable::Align;
  TextTable table({{"channels", Align::kRight}, {"load"}, {"checkpoint"}, {"receiver"}, {"p50", Align::kRight}, {"p99", Align::kRight},
                   {"p99.9", Align::kRight}, {"a channel", Align::kRight}, {"rings", Align::kRight}, {"ratio", Align::kRight},
                   {"barriers", Align::kRight}});
  for (const Line& line : lines)
    table.addRow({withThousands(line.which.channels), line.load(), line.checkpoint(), line.receiver(),
                  humanDuration(line.times.quantile(0.5)), humanDuration(line.times.quantile(0.99)),
                  humanDuration(line.times.quantile(0.999)), humanDuration(line.times.quantile(0.5) / line.which.channels),
                  humanDuration(line.floorNanos), fmt::format("{:.1f}", line.ratio()), withThousands(line.times.count())});
  table.print(out, colour);
  out << fmt::format(
      "\nFrom the broadcast to the moment at which the receiver has the barrier from every channel. rings: the least that this machine\n"
      "allows, a ring per channel and a receiver that only looks. back pressure: {} buffers in every channel, which the receiver spins or "
      "sleeps over for {} us each.\n",
      BarrierCase::kQueuedBuffers, BarrierCase::kBufferCost.count() / 1000);
}

void printJson(std::ostream& out, const std::vector<Line>& lines, const std::optional<std::string>& why) {
  using Json = nlohmann::ordered_json;
  Json report = {{"version", 1}, {"quiet-machine", !why}, {"barriers", Json::array()}};
  if (why) report["unrest"] = *why;
  for (const Line& line : lines)
    report["barriers"].push_back({{"channels", line.which.channels},
                                  {"back-pressure", line.which.backPressure},
                                  {"unaligned", line.which.unaligned},
                                  {"receiver", line.receiver()},
                                  {"count", line.times.count()},
                                  {"p50-ns", line.times.quantile(0.5)},
                                  {"p99-ns", line.times.quantile(0.99)},
                                  {"p99.9-ns", line.times.quantile(0.999)},
                                  {"max-ns", line.times.max()},
                                  {"rings-p50-ns", line.floorNanos},
                                  {"ratio", line.ratio()}});
  out << report.dump(2) << '\n';
}

}  // namespace

ExitCode benchBarrier(const BarrierBenchOptions& options, std::ostream& out, bool colour) {
  const auto why = unrest();
  if (why && !options.force) {
    std::cerr << "weir: no number from a machine that is not quiet: " << *why << "; --force measures all the same\n";
    return kExitInconclusive;
  }
  ProgressLine progress(options.quiet);
  const Nanos start = SystemClock::instance().monotonic();
  const Nanos budget = Millis(options.milliseconds);
  std::vector<Line> lines;
  for (const int32_t channels : options.channels) {
    const int64_t floor = measureRings(channels, budget / 4).quantile(0.5);
    for (const BarrierCase& which : casesOf(channels)) {
      const double elapsed = static_cast<double>((SystemClock::instance().monotonic() - start).count()) / 1e9;
      progress.show(fmt::format("{:5.1f} s  barriers through {} channels", elapsed, channels), elapsed);
      ThreadExecutor executor;
      lines.push_back({which, measureBarrier(executor, which, budget), floor});
    }
  }
  progress.clear();
  if (options.json)
    printJson(out, lines, why);
  else
    printTable(out, lines, colour);
  if (why && !options.json) out << styled("The machine was not quiet: " + *why + ".", Style::kYellow, colour) << '\n';
  out.flush();
  return kExitOk;
}

}  // namespace weir
