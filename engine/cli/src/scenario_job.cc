#include "weir/cli/scenario_job.h"

#include <fmt/format.h>

#include <ostream>

#include "weir/cli/terminal.h"
#include "weir/operators/row_text.h"
#include "weir/scenario/job_builder.h"

namespace weir {
namespace {

class Run final : public ExampleRun {
 public:
  explicit Run(BuiltJob built) : built_(std::move(built)) {}

  int64_t inputRecords() const override { return built_.inputRecords; }
  bool printsItself() const override { return true; }

  /// Rows are with the sinks; what is left to say is what was passed over.
  void printResults(std::ostream& out, bool) const override {
    for (const auto& [source, counter] : built_.badRows)
      if (counter->count() > 0)
        out << fmt::format("'{}' skipped {} bad row{}, the first: {}\n", source, withThousands(counter->count()),
                           counter->count() == 1 ? "" : "s", counter->firstProblem());
  }

  std::string jsonResults() const override {
    std::string text = "{";
    for (const auto& [sink, rows] : built_.printed) {
      if (text.size() > 1) text += ',';
      detail::appendJsonString(text, sink);
      text += ":[";
      bool first = true;
      for (const Row& row : rows->values()) {
        if (!std::exchange(first, false)) text += ',';
        appendRowJson(text, row, built_.schemas.at(sink));
      }
      text += ']';
    }
    return text + "}";
  }

  Result<void> compareWithOracle() const override { return {}; }

 private:
  BuiltJob built_;
};

}  // namespace

bool isJobFile(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

Example scenarioJob(const ScenarioFile& file) {
  Example job;
  job.name = file.name;
  job.summary = file.title;
  job.isFile = true;
  job.build = [file](StreamExecutionEnvironment& env, const ExampleOptions& options) -> Result<std::unique_ptr<ExampleRun>> {
    WEIR_ASSIGN(auto built,
                buildJob(file, env, options.files, {.collectPrints = options.json, .recordsPerSecond = options.recordsPerSecond}));
    return std::unique_ptr<ExampleRun>(std::make_unique<Run>(std::move(built)));
  };
  return job;
}

}  // namespace weir
