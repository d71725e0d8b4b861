#include "weir/cli/run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <iostream>
#include <set>
#include <span>

#include "interrupt.h"
#include "weir/api/make_executor.h"
#include "weir/api/mini_cluster.h"
#include "weir/base/log_sinks.h"
#include "weir/base/real_file_system.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/cli/report.h"
#include "weir/cli/terminal.h"
#include "weir/config/weir_options.h"

namespace weir {
namespace {

const std::string kKilledBy = "killed by --kill after ";

ExitCode fail(ExitCode code, const std::string& message) {
  std::cerr << "weir: " << message << '\n';
  return code;
}

/// The run of one example as the client's actor sees it.
class Client {
 public:
  Client(World world, const Example& example, const RunOptions& options, const Configuration& configuration, std::vector<KillSpec> kills)
      : world_(world), example_(example), options_(options), configuration_(configuration), kills_(std::move(kills)),
        progress_(options.quiet) {}

  ExitCode run(ExecutionContext& context) {
    StreamExecutionEnvironment env(configuration_);
    auto built = example_.build(env, {world_.fileSystem, options_.dataDirectory, options_.recordsPerSecond, options_.json});
    if (built.has_error() && !example_.isFile && !world_.fileSystem.isDirectory(options_.dataDirectory))
      return fail(kExitUsage, fmt::format("--data: there is no folder {}; give the one that holds the example data (examples/data)",
                                          options_.dataDirectory));
    if (built.has_error()) return fail(kExitUsage, built.error().message);
    auto graph = env.getJobGraph(example_.name);
    if (graph.has_error()) return fail(kExitUsage, graph.error().message);
    if (auto known = checkKills(**graph); known.has_error()) return fail(kExitUsage, known.error().message);
    if (!kills_.empty() && (*built)->inputRecords() == 0)
      return fail(kExitUsage, "--kill takes a share of the input, and how many records this job reads is not known before it ends");
    if (options_.compare && example_.isFile)
      return fail(kExitUsage, "--compare: a job file has no oracle; weir validate compares its forms");
    auto cluster = MiniCluster::start(world_, configuration_, slotsNeeded(**graph));
    if (cluster.has_error()) return fail(kExitUsage, cluster.error().message);
    auto master = (*cluster)->submit(*graph, configuration_);
    ExitCode code = kExitUsage;
    if (master.has_error())
      code = fail(codeFor(master.error()), master.error().message);
    else
      code = watch(context, **cluster, **master, **built);
    (*cluster)->stop(context);
    return code;
  }

 private:
  /// A checkpoint that is damaged and a disk that is full are no mistakes of who typed the command.
  static ExitCode codeFor(const Error& error) {
    return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kNoSpace ? kExitFailed : kExitUsage;
  }

  Result<void> checkKills(const JobGraph& graph) const {
    for (const KillSpec& kill : kills_) {
      const JobVertex* found = nullptr;
      std::string names;
      for (const JobVertex& vertex : graph.vertices()) {
        for (const ChainedOperator& op : vertex.operators) {
          if (op.name == kill.vertex) found = &vertex;
          names += (names.empty() ? "" : ", ") + op.name;
        }
      }
      if (!found) return Error{ErrorCode::kInvalidArgument, "--kill: the job has no operator '" + kill.vertex + "'; it has " + names};
      if (kill.subtask < 0 || kill.subtask >= found->parallelism)
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("--kill: '{}' has subtasks 0 to {}, not {}", kill.vertex, found->parallelism - 1, kill.subtask)};
    }
    return {};
  }

  ExitCode watch(ExecutionContext& context, MiniCluster& cluster, JobMaster& master, const ExampleRun& example) {
    const Nanos started = context.clock().monotonic();
    while (!master.done().isSet()) {
      // Looking on is no work: a simulated job that waits for nothing that can come is a deadlock all the same.
      context.wait(WaitReason::kInputOrMail, {&master.done()}, Deadline::housekeeping(context.clock().monotonic() + Millis(50)));
      if (master.done().isSet()) break;
      if (InterruptWatch::interrupted() && !std::exchange(interrupted_, true)) {
        progress_.clear();
        std::cerr << "weir: interrupted: cancelling the job; Ctrl-C once more quits at once\n";
        master.cancel();
      }
      const int64_t read = recordsRead(context, cluster);
      const double elapsed = std::chrono::duration<double>(context.clock().monotonic() - started).count();
      showProgress(context, master, read, example.inputRecords(), elapsed);
      killWhatIsDue(context, cluster, read, example.inputRecords());
    }
    progress_.clear();
    const JobResult& result = master.result();
    const auto reply = master.requestSnapshot();
    context.wait(WaitReason::kInputOrMail, {&reply->ready()});
    const bool failed = result.status == JobStatus::kFailed && !result.exceptions.empty();  // by the last of them: that is told as its end
    tellRestarts(std::span(result.exceptions).first(result.exceptions.size() - (failed ? 1 : 0)));
    return finish(reply->take(), result, example);
  }

  /// Records that the sources' current attempts have emitted: a restart takes it back to what its checkpoint knows.
  int64_t recordsRead(ExecutionContext& context, MiniCluster& cluster) {
    int64_t read = 0;
    for (const auto& task : cluster.runningTasks(context)) {
      if (!task->factory().chain().operators.front().factory->isSource()) continue;
      const OperatorID head = task->factory().chain().operators.front().id;
      for (const auto& metrics : task->environment().operatorMetrics->all())
        if (metrics->id == head) read += metrics->numRecordsOut.load(std::memory_order_relaxed);
    }
    furthest_ = std::max(furthest_, read);
    return read;
  }

  void showProgress(ExecutionContext& context, JobMaster& master, int64_t read, int64_t total, double elapsed) {
    const auto reply = master.requestSnapshot();
    context.wait(WaitReason::kInputOrMail, {&reply->ready()});
    const JobSnapshot snapshot = reply->take();
    const double rate = elapsed > lastElapsed_ ? static_cast<double>(read - lastRead_) / (elapsed - lastElapsed_) : 0;
    const int64_t completed = snapshot.checkpoints ? snapshot.checkpoints->counts.completed : 0;
    const int64_t failed = snapshot.checkpoints ? snapshot.checkpoints->counts.failed - snapshot.checkpoints->counts.notTriggered : 0;
    const std::string of = total > 0 ? " of " + withThousands(total) : "";
    progress_.show(fmt::format("{}  {:5.1f} s  {}{} records  {:>9} records/s  checkpoints {} completed, {} failed  restarts {}",
                               toString(snapshot.status), elapsed, withThousands(read), of,
                               withThousands(static_cast<int64_t>(std::max(0.0, rate))), completed, failed, snapshot.restarts),
                   elapsed);
    lastRead_ = read;
    lastElapsed_ = elapsed;
    tellRestarts(snapshot.exceptions);
  }

  /// Why the job begins anew, each cause once however often it comes: one that does not go away would restart it for ever.
  void tellRestarts(std::span<const ExceptionHistoryEntry> exceptions) {
    for (const ExceptionHistoryEntry& exception : exceptions) {
      std::string cause = reasonOf(*exception.failure, exception.taskName);
      if (cause.find(kKilledBy) != std::string::npos) continue;
      std::string kind = cause;  // without what differs from one time to the next
      std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
      if (!told_.insert(std::move(kind)).second) continue;
      progress_.clear();
      std::cerr << "weir: warning: the job restarts: " << cause << '\n';
    }
  }

  void killWhatIsDue(ExecutionContext& context, MiniCluster& cluster, int64_t read, int64_t total) {
    std::erase_if(kills_, [&](const KillSpec& kill) {
      if (static_cast<double>(read) < kill.atShare * static_cast<double>(total)) return false;
      const auto cause = std::make_shared<Throwable>("java.lang.Exception", kKilledBy + withThousands(read) + " records");
      if (!cluster.failSubtask(context, kill.vertex, kill.subtask, cause)) return false;  // not running right now: the next look finds it
      if (!options_.quiet) {
        progress_.clear();
        std::cerr << fmt::format("killed subtask {} of {} after {} records\n", kill.subtask, kill.vertex, withThousands(read));
      }
      return true;
    });
  }

  ExitCode finish(const JobSnapshot& snapshot, const JobResult& result, const ExampleRun& example) {
    const bool colour = wantsColour(STDOUT_FILENO);
    const bool finished = result.status == JobStatus::kFinished;
    Result<void> compared;
    if (finished && options_.compare) compared = example.compareWithOracle();
    if (options_.json) {
      printJsonReport(std::cout, snapshot, result, options_.compare && finished, compared, finished ? example.jsonResults() : "");
    } else if (example.printsItself()) {
      std::cout.flush();
      if (!options_.quiet) printCheckpoints(std::cerr, snapshot, wantsColour(STDERR_FILENO));
      if (finished) example.printResults(std::cerr, wantsColour(STDERR_FILENO));
      if (!options_.quiet) printSummary(std::cerr, snapshot, result, wantsColour(STDERR_FILENO));
    } else {
      if (finished) {
        example.printResults(std::cout, colour);
        std::cout << '\n';
      }
      printCheckpoints(std::cout, snapshot, colour);
      printSummary(std::cout, snapshot, result, colour);
      if (finished && options_.compare && compared.has_value())
        std::cout << styled("results equal those of the single-threaded oracle", Style::kGreen, colour) << '\n';
    }
    if (!std::cout.flush()) return fail(kExitFailed, "the results could not be written to standard output");
    if (result.status == JobStatus::kCanceled && interrupted_)
      return fail(kExitInterrupted, "interrupted: the job was cancelled" + continuation(snapshot));
    if (!finished)
      return fail(kExitFailed, fmt::format("the job {}{}{}{}", result.status == JobStatus::kFailed ? "failed: " : "ended as CANCELED",
                                           result.failure ? reasonOf(*result.failure, lastTaskOf(result)) : "", continuation(snapshot),
                                           options_.logFile.empty() ? "; --log FILE keeps the whole story" : ""));
    for (const KillSpec& kill : kills_)
      return fail(kExitFailed,
                  fmt::format("'{}' was never killed: the job ended first. Give it a lower percentage, or a --rate", kill.vertex));
    if (compared.has_error()) return fail(kExitFailed, "the results are wrong: " + compared.error().message);
    return kExitOk;
  }

  /// What failed, where: the causes without those that only say that the job was not restarted.
  static std::string reasonOf(const Throwable& failure, const std::string& taskName) {
    std::vector<const Throwable*> causes;
    for (const Throwable* t = &failure; t; t = t->cause().get()) causes.push_back(t);
    std::erase_if(causes, [&](const Throwable* t) {
      const bool wraps = t->className().ends_with(".JobException") || t->className().ends_with(".SuppressRestartsException");
      return wraps && t != causes.back();
    });
    // The sentence alone: which Java class Flink would throw stands in the log.
    const auto told = [](const Throwable& t) {
      std::string text = t.message().empty() ? std::string(t.what()) : t.message();
      while (text.ends_with('.')) text.pop_back();
      return text;
    };
    std::string reason = told(*causes.front());
    if (causes.size() > 1) reason += ": " + told(*causes.back());
    if (!taskName.empty()) reason += " [" + taskName + "]";
    return reason;
  }
  static std::string lastTaskOf(const JobResult& result) { return result.exceptions.empty() ? "" : result.exceptions.back().taskName; }
  /// Where to go on from, if a checkpoint was kept.
  std::string continuation(const JobSnapshot& snapshot) const {
    if (!snapshot.checkpoints || !snapshot.checkpoints->latestCompleted) return "";
    const CheckpointStats& latest = *snapshot.checkpoints->latestCompleted;
    const auto folder = localPath(latest.externalPath);
    if (latest.discarded || folder.has_error() || !world_.fileSystem.exists(*folder + "/_metadata")) return "";
    return "; its latest checkpoint is kept, -D execution.state-recovery.path=" + *folder + " goes on from it";
  }

  World world_;
  const Example& example_;
  const RunOptions& options_;
  const Configuration& configuration_;
  std::vector<KillSpec> kills_;
  ProgressLine progress_;
  bool interrupted_ = false;
  int64_t lastRead_ = 0, furthest_ = 0;
  double lastElapsed_ = 0;
  std::set<std::string> told_;  ///< kinds of causes of restarts
};

}  // namespace

Result<KillSpec> KillSpec::parse(const std::string& text) {
  const Error wrong{ErrorCode::kInvalidArgument,
                    "--kill: '" + text + "' is not understood: OPERATOR[:SUBTASK]@PERCENT% is expected, as in by-engine:1@50%"};
  const size_t at = text.rfind('@');
  if (at == std::string::npos || at == 0 || text.size() < at + 3 || text.back() != '%') return wrong;
  KillSpec spec;
  spec.vertex = text.substr(0, at);
  int percent = 0;
  const auto parsed = std::from_chars(text.data() + at + 1, text.data() + text.size() - 1, percent);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() - 1 || percent < 0 || percent > 100) return wrong;
  spec.atShare = percent / 100.0;
  if (const size_t colon = spec.vertex.rfind(':'); colon != std::string::npos) {
    const std::string digits = spec.vertex.substr(colon + 1);
    const auto number = std::from_chars(digits.data(), digits.data() + digits.size(), spec.subtask);
    if (number.ec == std::errc() && number.ptr == digits.data() + digits.size()) spec.vertex.resize(colon);
  }
  return spec;
}

ExitCode runExample(const Example& example, const RunOptions& options, const Configuration& loaded) {
  Configuration configuration = loaded;
  if (options.executor) configuration.setText(kExecutor.key, *options.executor, {.source = "--executor"});
  std::vector<KillSpec> kills;
  for (const std::string& text : options.kills) {
    auto kill = KillSpec::parse(text);
    if (kill.has_error()) return fail(kExitUsage, kill.error().message);
    kills.push_back(*kill);
  }
  auto executor = makeExecutor(configuration, options.seed);
  if (executor.has_error()) return fail(kExitUsage, executor.error().message);
  LogOptions logOptions;
  logOptions.level = options.logFile.empty() ? LogLevel::kError : LogLevel::kInfo;
  logOptions.file = options.logFile;
  auto log = openLog(logOptions, (*executor)->clock());
  if (log.has_error()) return fail(kExitUsage, log.error().message);
  logNotes(configuration, **log);
  for (const ConfigNote& note : configuration.notes())
    if (note.level >= LogLevel::kWarn) std::cerr << "weir: warning: " << note.text << '\n';
  RealFileSystem files;
  ExitCode code = kExitEngine;
  const InterruptWatch interrupts;
  Client client({**executor, files, **log}, example, options, configuration, std::move(kills));
  try {
    (*executor)->run("client", [&](ExecutionContext& context) { code = client.run(context); });
  } catch (const std::exception& e) {  // a deadlock, a livelock, or an actor that threw: the simulation says which
    return fail(kExitEngine, std::string("the engine failed: ") + e.what());
  }
  return code;
}

}  // namespace weir
