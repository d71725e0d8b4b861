#include "weir/cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "weir/base/real_file_system.h"
#include "weir/cli/config_command.h"
#include "weir/cli/run_command.h"
#include "weir/config/configuration_loader.h"

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
  Result<Configuration> load() const {
    Configuration configuration;
    if (!directory.empty()) {
      RealFileSystem files;
      WEIR_ASSIGN(configuration, loadConfiguration(files, directory));
    }
    for (const std::string& setting : dynamic) WEIR_TRY(configuration.setDynamic(setting));
    WEIR_TRY(configuration.validate());
    return configuration;
  }
};

int usageError(const std::string& message) {
  std::cerr << "weir: " << message << '\n';
  return kExitUsage;
}

std::string listOf(const std::vector<Example>& examples) {
  std::string text = "Built-in jobs:\n";
  for (const Example& example : examples) text += "  " + example.name + "  " + example.summary + "\n";
  return text;
}

}  // namespace

int runCommandLine(int argc, char** argv, const std::vector<Example>& examples, const std::string& dataDirectory) {
  CLI::App app{
      "Weir: a Flink-compatible stream engine. Reproduce incidents of a Flink job on one machine, see why they happen, try the cure."};
  app.set_version_flag("--version", "weir 0.1.0");
  app.require_subcommand(0, 1);
  app.footer("Example: weir run flights-delays --kill by-engine:1@50% --compare\n" + std::string(kExitCodes));

  RunOptions run;
  run.dataDirectory = dataDirectory;
  ConfigurationFlags runConfiguration;
  std::string rate, output = "text";
  CLI::App* runCommand = app.add_subcommand("run", "Run a built-in job in this process.")->group("reproduce");
  runCommand->footer(
      "Example: weir run flights-delays --rate 60000 --kill by-engine:1@50% --compare -D execution.checkpointing.interval=500ms\n" +
      listOf(examples) + kExitCodes);
  runCommand->add_option("JOB", run.example, "Name of the job.")->required();
  runCommand
      ->add_option("--executor", run.executor, "threads (a thread per task), pool (fibers on few threads) or simulated (virtual time).")
      ->type_name("NAME");
  runCommand->add_option("--seed", run.seed, "Seed of every random choice; the simulated executor repeats a run from it.")->type_name("N");
  runCommand->add_option("--rate", run.recordsPerSecond, "Records a second that the sources read at most, all subtasks together.")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  runCommand->add_option("--kill", run.kills, "Fail a subtask when so much of the input was read. May be repeated.")
      ->type_name("OPERATOR[:SUBTASK]@PERCENT%")
      ->allow_extra_args(false);
  runCommand->add_flag("--compare", run.compare, "Compare the results with a single-threaded oracle.");
  runCommand->add_option("--data", run.dataDirectory, "Folder with the example data.")->type_name("DIR");
  runCommand->add_option("--log", run.logFile, "Write the log, in Flink's layout, to a file.")->type_name("FILE");
  runCommand->add_flag("--quiet", run.quiet, "No progress.");
  runCommand->add_option("--output", output, "text or json.")->check(CLI::IsMember({"text", "json"}));
  runConfiguration.addTo(*runCommand);

  ConfigOptions config;
  CLI::App* configCommand = app.add_subcommand("config", "List every supported configuration key, or explain one.")->group("cluster");
  configCommand->footer("Example: weir config execution.checkpointing.interval\n" + std::string(kExitCodes));
  configCommand->add_option("KEY", config.key, "A key, one of its former spellings, or a part of keys.");
  configCommand->add_flag("--all", config.all, "Also keys of Flink that have no effect here.");
  configCommand->add_option("--output", output, "text or json.")->check(CLI::IsMember({"text", "json"}));

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e), kExitOk;
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e), kExitOk;
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e), kExitOk;
  } catch (const CLI::ParseError& e) {
    return usageError(std::string(e.what()) + ". See weir --help");
  }

  if (runCommand->parsed()) {
    run.json = output == "json";
    auto configuration = runConfiguration.load();
    if (configuration.has_error()) return usageError(configuration.error().message);
    for (const Example& example : examples)
      if (example.name == run.example) return runExample(example, run, *configuration);
    return usageError("there is no built-in job '" + run.example + "'. " + listOf(examples));
  }
  if (configCommand->parsed()) {
    config.json = output == "json";
    return showConfig(config, std::cout, wantsColour(STDOUT_FILENO));
  }
  std::cout << app.help();
  return kExitOk;
}

}  // namespace weir
