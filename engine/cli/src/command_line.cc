#include "weir/cli/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>

#include "weir/base/real_file_system.h"
#include "weir/cli/bench_command.h"
#include "weir/cli/config_command.h"
#include "weir/cli/inspect_command.h"
#include "weir/cli/keygroup_command.h"
#include "weir/cli/run_command.h"
#include "weir/cli/salts_command.h"
#include "weir/cli/scenario_job.h"
#include "weir/cli/trace_command.h"
#include "weir/cli/validate_command.h"
#include "weir/config/configuration_loader.h"
#include "weir/exchange/key_groups.h"

namespace weir {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 all well; 1 the operation failed, or a result is wrong; 2 the file or the command line is wrong; 3 the engine failed;\n"
    "4 inconclusive; 130 interrupted. Results go to standard output, talk to standard error.";

/// What the commands share: `-D key=value` and `--config-dir`.
struct ConfigurationFlags {
  std::vector<std::string> dynamic;
  std::string directory;

  void addTo(CLI::App& command) {
    command.add_option("-D", dynamic, "Set a configuration key: -D key=value. May be repeated.")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command.add_option("--config-dir", directory, "Folder with config.yaml (or flink-conf.yaml).")->type_name("DIR");
  }
  /// `ofJob`: what a job file sets, above the folder and below -D.
  Result<Configuration> load(const Configuration& ofJob = {}) const {
    Configuration configuration;
    if (!directory.empty()) {
      RealFileSystem files;
      WEIR_ASSIGN(configuration, loadConfiguration(files, directory));
    }
    configuration.addAll(ofJob);
    for (const std::string& setting : dynamic) WEIR_TRY(configuration.setDynamic(setting));
    WEIR_TRY(configuration.validate());
    return configuration;
  }
};

/// The commands that `app` has, in the order of its help.
std::vector<std::string> commandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(command->get_name());
  return names;
}

/// "a, b and c".
std::string inWords(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

int usageError(const std::string& message) {
  std::cerr << "weir: " << message << '\n';
  return kExitUsage;
}

std::string listOf(const std::vector<Example>& examples) {
  std::string text = "Built-in jobs:\n";
  for (const Example& example : examples) text += "  " + example.name + "  " + example.summary + "\n";
  return text;
}

std::string namesOf(const std::vector<Example>& examples) {
  std::string text;
  for (const Example& example : examples) text += (text.empty() ? "" : ", ") + example.name;
  return text;
}

CLI::Validator outputFormat(std::vector<std::string> formats = {"text", "json"}) {
  const auto check = [formats](const std::string& text) {
    if (std::find(formats.begin(), formats.end(), text) != formats.end()) return std::string();
    return fmt::format("'{}' is no format, {} and {} are", text, fmt::join(formats.begin(), formats.end() - 1, ", "), formats.back());
  };
  return CLI::Validator(check, "", "");
}

/// CLI11's own sentence about a number shows all digits of its limits.
CLI::Validator positiveNumber() {
  const auto check = [](const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = error == std::errc() && end == text.data() + text.size() && value > 0 && std::isfinite(value);
    return good ? std::string() : "'" + text + "' is not a number above 0";
  };
  return CLI::Validator(check, "", "");
}

/// CLI11 takes -1 and what is too large for the largest number.
CLI::Validator wholeNumber() {
  const auto check = [](const std::string& text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = error == std::errc() && end == text.data() + text.size();
    return good ? std::string() : "'" + text + "' is not a whole number from 0 to 18446744073709551615";
  };
  return CLI::Validator(check, "", "");
}

CLI::Validator notEmpty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? std::string("it names no file") : std::string(); }, "", "");
}

CLI::Validator shareOfAll() {
  const auto check = [](const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = error == std::errc() && end == text.data() + text.size() && value > 0 && value <= 1;
    return good ? std::string() : "'" + text + "' is no share: give a number above 0, up to 1";
  };
  return CLI::Validator(check, "", "");
}

CLI::Validator numberOfSubtasks() {
  const auto check = [](const std::string& text) {
    int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= kMaxMaxParallelism;
    return good ? std::string() : "'" + text + "' is not a whole number from 1 to " + std::to_string(kMaxMaxParallelism);
  };
  return CLI::Validator(check, "", "");
}

void addParallelism(CLI::App& command, int32_t& parallelism, int32_t& maxParallelism) {
  command.add_option("--parallelism", parallelism, "Subtasks of the operator behind keyBy; 16 if not given.")
      ->type_name("N")
      ->check(numberOfSubtasks());
  command.add_option("--max-parallelism", maxParallelism, "Key groups; if not given Flink's default for the parallelism, at least 128.")
      ->type_name("N")
      ->check(numberOfSubtasks());
}

/// What was printed may still be in a buffer: a full disk behind standard output is told, and is no success.
int flushed(int code) {
  if (std::cout.flush()) return code;
  std::cerr << "weir: standard output cannot be written\n";
  return code == kExitOk ? static_cast<int>(kExitFailed) : code;
}

/// A file that is opened later must not get the number of a standard stream that the caller has closed.
void openStandardStreams() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

}  // namespace

int runCommandLine(int argc, char** argv, const std::vector<Example>& examples, const std::string& dataDirectory) {
  openStandardStreams();
  CLI::App app{
      "Weir: a Flink-compatible stream engine. Reproduce incidents of a Flink job on one machine, see why they happen, try the cure."};
  app.name("weir");
  app.set_version_flag("--version", "weir 0.1.0");
  app.require_subcommand(0, 1);
  app.footer(
      "Examples:\n"
      "  weir run flights-delays --compare                        the results are those of a plain loop over the file\n"
      "  weir run flights-delays --executor simulated --seed 7    in virtual time, repeatable from its seed\n"
      "  weir config checkpointing.timeout                        what a key means\n" +
      std::string(kExitCodes));

  RunOptions run;
  run.dataDirectory = dataDirectory;
  ConfigurationFlags runConfiguration;
  std::string rate, output = "text";
  CLI::App* runCommand = app.add_subcommand("run", "Run a built-in job or a job file in this process.")->group("reproduce");
  runCommand->footer(
      "Examples:\n"
      "  weir run flights-delays --rate 60000 --kill by-engine:1@50% --compare -D execution.checkpointing.interval=500ms\n"
      "  weir run examples/scenarios/flights-by-origin.yaml          a job file: docs/scenario-file.md\n"
      "Ctrl-C cancels the job; once more quits at once.\n" +
      listOf(examples) + kExitCodes);
  runCommand->add_option("JOB", run.example, "Name of a built-in job, or a job file (.yaml).")->type_name("")->required();
  runCommand
      ->add_option("--executor", run.executor, "threads (a thread per task), pool (fibers on few threads) or simulated (virtual time).")
      ->type_name("NAME");
  runCommand->add_option("--seed", run.seed, "Seed of every random choice; the simulated executor repeats a run from it.")
      ->type_name("N")
      ->check(wholeNumber());
  runCommand->add_option("--rate", run.recordsPerSecond, "Records a second that the sources read at most, all subtasks together.")
      ->type_name("N")
      ->check(positiveNumber());
  runCommand->add_option("--kill", run.kills, "Fail a subtask when so much of the input was read. May be repeated.")
      ->type_name("OPERATOR[:SUBTASK]@PERCENT%")
      ->allow_extra_args(false);
  runCommand->add_flag("--compare", run.compare, "Compare the results with a single-threaded oracle.");
  runCommand->add_option("--data", run.dataDirectory, "Folder with the example data.")->type_name("DIR");
  runCommand->add_option("--log", run.logFile, "Write the log, in Flink's layout, to a file.")->type_name("FILE")->check(notEmpty());
  runCommand->add_flag("--quiet", run.quiet, "No progress.");
  runCommand->add_option("--output", output, "text or json.")->type_name("FORMAT")->check(outputFormat());
  runConfiguration.addTo(*runCommand);

  ConfigOptions config;
  CLI::App* configCommand = app.add_subcommand("config", "List every supported configuration key, or explain one.")->group("cluster");
  configCommand->footer("Example: weir config execution.checkpointing.interval\n" + std::string(kExitCodes));
  configCommand->add_option("KEY", config.key, "A key, one of its former spellings, or a part of keys.")->type_name("");
  configCommand->add_flag("--all", config.all, "Also keys of Flink that have no effect here.");
  configCommand->add_option("--output", output, "text or json.")->type_name("FORMAT")->check(outputFormat());

  TraceOptions trace;
  CLI::App* traceCommand = app.add_subcommand("trace", "Follow the barriers of a run through its tasks.")->group("teach, inspect");
  traceCommand->footer(
      "Examples:\n"
      "  weir run flights-delays -D weir.trace.path=barriers.trace      record\n"
      "  weir trace barriers.trace                                      one line per checkpoint\n"
      "  weir trace barriers.trace --checkpoint 3                       the way of one barrier\n"
      "  weir trace barriers.trace --output perfetto > barriers.json    a picture: open it at ui.perfetto.dev\n" +
      std::string(kExitCodes));
  traceCommand->add_option("FILE", trace.file, "What weir.trace.path named when the job ran.")->type_name("")->required();
  traceCommand->add_option("--checkpoint", trace.checkpoint, "Only this checkpoint.")->type_name("ID");
  traceCommand->add_option("--output", output, "text, json or perfetto.")
      ->type_name("FORMAT")
      ->check(outputFormat({"text", "json", "perfetto"}));

  InspectOptions inspect;
  CLI::App* inspectCommand =
      app.add_subcommand("inspect", "What a checkpoint or savepoint holds, Flink's or ours. Writes nothing.")->group("teach, inspect");
  inspectCommand->footer(
      "Examples:\n"
      "  weir inspect /checkpoints/<job>/chk-42            state by operator, subtask and key group; the heaviest keys\n"
      "  weir inspect savepoint-1a2b3c --output json | jq '.operators[] | {name, \"state-bytes\"}'\n"
      "  weir inspect chk-42 --keys 50 --entries 0 --files\n"
      "A copied checkpoint still names the place where it was taken: files are also looked for beside it and in ../shared.\n"
      "1: files are missing, have another length or do not make sense.\n" +
      std::string(kExitCodes));
  inspectCommand->add_option("PATH", inspect.path, "Folder of a checkpoint or savepoint, or its _metadata.")
      ->type_name("")
      ->required()
      ->check(notEmpty());
  inspectCommand->add_option("--keys", inspect.keys, "How many of the heaviest keys to show of each operator; 10 if not given.")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000));
  inspectCommand->add_option("--entries", inspect.entries, "How many entries to show of each state; 3 if not given.")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000));
  inspectCommand->add_flag("--files", inspect.listFiles, "List all files, not only those that are missing or wrong.");
  inspectCommand->add_option("--output", output, "text or json.")->type_name("FORMAT")->check(outputFormat());

  ValidateOptions validate;
  ConfigurationFlags validateConfiguration;
  CLI::App* validateCommand =
      app.add_subcommand("validate", "Do two stages give the results of one stage? For which aggregates not, and by how much?")
          ->group("validate");
  validateCommand->footer(
      "Examples:\n"
      "  weir validate examples/scenarios/flights-by-origin.yaml\n"
      "  weir validate job.yaml --input yesterday.csv --seeds 20 --output json\n"
      "Runs each aggregation of the file in one and in two stages, on threads and under simulated interleavings with a failure in the "
      "middle.\n" +
      std::string(kExitCodes));
  validateCommand->add_option("FILE", validate.file, "A job file (.yaml).")->type_name("")->required();
  validateCommand->add_option("--input", validate.input, "A file in place of that of the file source.")
      ->type_name("CSV")
      ->check(notEmpty());
  validateCommand->add_option("--tolerance", validate.tolerance, "Differences up to it count as rounding; default: the proven bound.")
      ->type_name("X")
      ->check(positiveNumber());
  validateCommand->add_option("--seeds", validate.seeds, "Simulated interleavings of each form.")
      ->type_name("N")
      ->check(CLI::Range(0, 100'000));
  validateCommand->add_option("--salts", validate.salts, "Salts of aggregations that say nothing of two stages.")
      ->type_name("N")
      ->check(CLI::Range(1, 32768));
  validateCommand->add_flag("--quiet", validate.quiet, "No progress.");
  validateCommand->add_option("--output", output, "text or json.")->type_name("FORMAT")->check(outputFormat());
  validateConfiguration.addTo(*validateCommand);

  KeyGroupOptions keygroup;
  CLI::App* keygroupCommand =
      app.add_subcommand("keygroup", "Which key group and subtask own a key, as Flink assigns them.")->group("validate");
  keygroupCommand->footer(
      "Examples:\n"
      "  weir keygroup alice bob carol --parallelism 16     who owns these keys, and who shares a subtask\n"
      "  weir keygroup --type long -- 42 -7                 numbers; two dashes before what begins with one\n" +
      std::string(kExitCodes));
  keygroupCommand->add_option("KEY", keygroup.keys, "Keys.")->type_name("")->required();
  keygroupCommand->add_option("--type", keygroup.type, "string, int, long, short, byte, double, float or boolean: they hash differently.")
      ->type_name("TYPE");
  addParallelism(*keygroupCommand, keygroup.parallelism, keygroup.maxParallelism);
  keygroupCommand->add_option("--output", output, "text or json.")->type_name("FORMAT")->check(outputFormat());

  SaltsOptions salts;
  CLI::App* saltsCommand = app.add_subcommand("salts", "How many salts balance a given skew.")->group("validate");
  saltsCommand->footer(
      "Examples:\n"
      "  weir salts --parallelism 16 --share 0.6         one key with 60 % of all records over a thousand others\n"
      "  weir salts --parallelism 16 --weights keys.csv  lines key,count, as from GROUP BY key ORDER BY count DESC\n" +
      std::string(kExitCodes));
  saltsCommand->add_option("--share", salts.share, "The hot key's part of all records.")->type_name("0..1")->check(shareOfAll());
  saltsCommand->add_option("--key", salts.key, "The hot key, with --share: where its salts lie hangs on its text.")->type_name("TEXT");
  saltsCommand
      ->add_option("--weights", salts.weights,
                   "CSV file of key,count. Salted is every key with more than half of an even share of a subtask.")
      ->type_name("FILE")
      ->check(notEmpty());
  saltsCommand
      ->add_option("--form", salts.form, "What is partitioned by: tuple (salt, key) as two-stage aggregation does, salt|key, key|salt, "
                                         "key#salt, or salt alone.")
      ->type_name("FORM");
  saltsCommand->add_option("--target", salts.target, "Records of the busiest subtask over the mean that are good enough.")
      ->type_name("RATIO")
      ->check(positiveNumber());
  addParallelism(*saltsCommand, salts.parallelism, salts.maxParallelism);
  saltsCommand->add_option("--output", output, "text or json.")->type_name("FORMAT")->check(outputFormat());

  BarrierBenchOptions bench;
  CLI::App* benchCommand = app.add_subcommand("bench", "Measure this machine: barrier latency.")->group("measure");
  benchCommand->require_subcommand(1);
  CLI::App* barrierCommand =
      benchCommand->add_subcommand("barrier", "How long a barrier takes from one task to the next, beside the least it could take.");
  barrierCommand->footer(
      "Examples:\n"
      "  weir bench barrier                         1 to 4096 channels, idle and under back pressure, aligned and unaligned\n"
      "  weir bench barrier --channels 16,1024      only these numbers of channels\n"
      "  weir bench barrier --output json > b.json\n" +
      std::string(kExitCodes));
  barrierCommand->add_option("--channels", bench.channels, "Numbers of channels, 1 to 4096.")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  barrierCommand->add_option("--milliseconds", bench.milliseconds, "Spent on each line.")->type_name("N")->check(CLI::Range(1, 600'000));
  barrierCommand->add_flag("--force", bench.force, "Print numbers although the machine is not quiet.");
  barrierCommand->add_flag("--quiet", bench.quiet, "No progress.");
  barrierCommand->add_option("--output", output, "text or json.")->type_name("FORMAT")->check(outputFormat());

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e), flushed(kExitOk);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e), flushed(kExitOk);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e), flushed(kExitOk);
  } catch (const CLI::ParseError& e) {
    std::string command = "weir";
    const CLI::App* last = &app;
    int words = 1;
    while (!last->get_subcommands().empty()) {
      last = last->get_subcommands().front();
      command += " " + last->get_name();
      ++words;
    }
    const std::vector<std::string> known = commandsOf(*last);
    if (argc > words && argv[words][0] != '-' && !known.empty())
      return usageError(fmt::format("there is no command '{}'; {} {}, see {} --help", argv[words], inWords(known),
                                    known.size() == 1 ? "is" : "are", command));
    return usageError(std::string(e.what()) + "; see " + command + " --help");
  }

  if (runCommand->parsed()) {
    run.json = output == "json";
    if (isJobFile(run.example)) {
      RealFileSystem files;
      auto file = ScenarioFile::read(files, run.example);
      if (file.has_error()) return usageError(file.error().message);
      auto configuration = runConfiguration.load(file->config);
      if (configuration.has_error()) return usageError(configuration.error().message);
      for (const std::string& note : file->notes) std::cerr << "weir: " << note << '\n';
      return runExample(scenarioJob(*file), run, *configuration);
    }
    auto configuration = runConfiguration.load();
    if (configuration.has_error()) return usageError(configuration.error().message);
    for (const Example& example : examples)
      if (example.name == run.example) return runExample(example, run, *configuration);
    return usageError("there is no built-in job '" + run.example + "'; there is " + namesOf(examples) + ", and a job file ends with .yaml");
  }
  if (configCommand->parsed()) {
    config.json = output == "json";
    return flushed(showConfig(config, std::cout, wantsColour(STDOUT_FILENO)));
  }
  if (traceCommand->parsed()) {
    using Format = TraceOptions::Format;
    trace.format = output == "json" ? Format::kJson : output == "perfetto" ? Format::kPerfetto : Format::kText;
    RealFileSystem files;
    return showTrace(files, trace, std::cout, wantsColour(STDOUT_FILENO));
  }
  if (inspectCommand->parsed()) {
    inspect.json = output == "json";
    RealFileSystem files;
    return flushed(showInspection(files, inspect, std::cout, wantsColour(STDOUT_FILENO)));
  }
  if (validateCommand->parsed()) {
    validate.json = output == "json";
    RealFileSystem files;
    auto file = ScenarioFile::read(files, validate.file);
    if (file.has_error()) return usageError(file.error().message);
    auto configuration = validateConfiguration.load(file->config);
    if (configuration.has_error()) return usageError(configuration.error().message);
    return flushed(validateFile(*file, validate, *configuration, std::cout, wantsColour(STDOUT_FILENO)));
  }
  if (keygroupCommand->parsed()) {
    keygroup.json = output == "json";
    return flushed(showKeyGroups(keygroup, std::cout, wantsColour(STDOUT_FILENO)));
  }
  if (saltsCommand->parsed()) {
    salts.json = output == "json";
    RealFileSystem files;
    return flushed(showSalts(files, salts, std::cout, wantsColour(STDOUT_FILENO)));
  }
  if (barrierCommand->parsed()) {
    bench.json = output == "json";
    return benchBarrier(bench, std::cout, wantsColour(STDOUT_FILENO));
  }
  std::cout << app.help();
  return flushed(kExitOk);
}

}  // namespace weir
