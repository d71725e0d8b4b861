#include "weir/scenario/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "document.h"
#include "validation_parts.h"
#include "weir/config/execution_options.h"
#include "weir/scenario/job_builder.h"

namespace weir {
namespace {

using Form = TwoStageSpec::Form;
using Verdict = AggregateFinding::Verdict;
constexpr int32_t kParallelism = 4;  // where the file says nothing: with one subtask there is nothing to find

class Validator {
 public:
  Validator(const ScenarioFile& file, const Configuration& configuration, FileSystem& files, const ValidationOptions& options)
      : file_(file), configuration_(configuration), files_(files), options_(options) {
    if (!configuration_.contains(kDefaultParallelism)) configuration_.set(kDefaultParallelism, kParallelism);
  }

  Result<ValidationReport> validate() {
    WEIR_TRY(checkInput());
    StreamExecutionEnvironment env(configuration_);
    ScenarioFile plain = file_;  // one stage everywhere: what cannot go into two stages is a finding
    for (NodeSpec& node : plain.job) node.twoStage.reset();
    WEIR_ASSIGN(built_, buildJob(plain, env, files_, {.collectPrints = true}));
    ValidationReport report;
    for (const NodeSpec& node : file_.job) {
      if (node.kind != NodeSpec::Kind::kAggregate) continue;
      WEIR_ASSIGN(StreamFinding finding, validateStream(node));
      report.streams.push_back(std::move(finding));
    }
    if (report.streams.empty())
      return Error{ErrorCode::kInvalidArgument, file_.file + " has no aggregation: there is nothing to put into two stages"};
    return report;
  }

 private:
  /// Puts the file of --input in, and refuses streams without end.
  Result<void> checkInput() {
    int fileSources = 0;
    for (NodeSpec& node : file_.job) {
      if (node.kind != NodeSpec::Kind::kSource) continue;
      if (node.source.kind == SourceSpec::Kind::kGenerator && node.source.records == 0)
        return node.name.at.error("'" + node.name.value + "' has no end: give it 'records' for a comparison");
      if (node.source.kind == SourceSpec::Kind::kGenerator || !options_.input) continue;
      ++fileSources;
      node.source.path.value = std::filesystem::absolute(*options_.input).string();  // seen from where the command runs
    }
    if (options_.input && fileSources != 1)
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("--input: the job has {} file sources, and it takes the place of one", fileSources)};
    return {};
  }
  void say(const std::string& text) const {
    if (options_.progress) options_.progress(text);
  }

  Result<Validated> describe(const NodeSpec& node) const {
    Validated validated;
    validated.node = &node;
    validated.assumed = !node.twoStage;
    if (node.twoStage) validated.twoStage = *node.twoStage;
    if (validated.assumed) {
      validated.twoStage.salts = options_.salts;
      validated.twoStage.at = node.name.at;
    }
    const Schema& input = built_.schemas.at(node.inputs[0].value);
    for (const AggregateSpec& spec : node.aggregates) {
      std::optional<size_t> column;
      if (spec.column) column = input.find(spec.column->value);
      double parameter = ColumnAggregate::defaultParameterOf(spec.function.value);
      for (const auto& [name, value] : spec.parameters) parameter = value.value;
      WEIR_ASSIGN(auto aggregate, ColumnAggregate::create(spec.function.value, column, input, parameter));
      validated.aggregates.push_back(std::move(aggregate));
    }
    validated.groupColumns = built_.schemas.at(node.name.value).size() - node.aggregates.size();
    return validated;
  }

  Result<StreamFinding> validateStream(const NodeSpec& node) {
    WEIR_ASSIGN(const Validated validated, describe(node));
    StreamFinding finding;
    finding.stream = node.name.value;
    finding.form = formName(validated.twoStage.form);
    if (validated.assumed)
      finding.notes.push_back(fmt::format("the file has it in one stage; compared with {} salts and accumulators", options_.salts));
    for (size_t i = 0; i < node.aggregates.size(); ++i) {
      finding.aggregates.emplace_back();
      finding.aggregates.back().column = node.aggregates[i].name.value;
      finding.aggregates.back().function = node.aggregates[i].function.value;
    }
    if (refuseWithoutRun(validated, finding)) return finding;

    say(fmt::format("'{}' in one stage", finding.stream));
    const ScenarioFile oneFile = variantOf(file_, validated, {.withBounds = true});
    const ScenarioFile twoFile = variantOf(file_, validated, {.twoStages = true});
    WEIR_ASSIGN(const FormRun one, runForm(oneFile, configuration_, files_, validated.groupColumns, {}));
    if (one.failure) return node.name.at.error("the job fails in one stage: " + *one.failure);
    say(fmt::format("'{}' in two stages", finding.stream));
    WEIR_ASSIGN(const FormRun two, runForm(twoFile, configuration_, files_, groupColumnsOfTwo(validated), {}));
    take(validated, one, two, finding);
    WEIR_TRY(measure(validated, one, twoFile, finding));
    WEIR_TRY(simulate(validated, one, oneFile, twoFile, finding));
    return finding;
  }
  /// A salt that stays beside the key is no part of the group: results of one key are then compared as they come.
  static size_t groupColumnsOfTwo(const Validated& validated) {
    return validated.groupColumns + (validated.twoStage.form == Form::kSaltInSelector ? 1 : 0);
  }

  void take(const Validated& validated, const FormRun& one, const FormRun& two, StreamFinding& finding) const {
    ++finding.runs;
    for (size_t i = 0; i < finding.aggregates.size(); ++i) {
      AggregateFinding& aggregate = finding.aggregates[i];
      const Verdict before = aggregate.verdict;
      compareColumn(validated, i, one, two, options_, aggregate);
      if (two.failure) aggregate.verdict = Verdict::kDifferent;
      if (aggregate.verdict == Verdict::kDifferent && (before != Verdict::kDifferent || aggregate.reasons.empty()))
        explain(validated, i, one, two, {finding.oneStageLate, finding.twoStageLate}, aggregate);
    }
  }

  /// What the contract of the function says: there is no second form to run.
  bool refuseWithoutRun(const Validated& validated, StreamFinding& finding) const {
    if (validated.twoStage.form != Form::kAccumulators) return false;
    std::string why;
    const auto& window = validated.node->window;
    if (window && window->kind == WindowSpec::Kind::kCount)
      why = "not mergeable: a count window closes by the records that one subtask has seen";
    else if (window && !window->eventTime)
      why = "mixed time: windows in processing time close by the clock of each subtask, so that no two runs are alike; use event time";
    bool refused = !why.empty();
    for (size_t i = 0; i < finding.aggregates.size(); ++i) {
      const bool mergeable = validated.aggregates[i].traits().mergeable;
      if (mergeable && why.empty()) continue;
      refused = true;
      finding.aggregates[i].verdict = Verdict::kDifferent;
      finding.aggregates[i].reasons = {
          mergeable ? why : fmt::format("not mergeable: {} has no way to put two parts together", finding.aggregates[i].function)};
    }
    if (refused) finding.notes.push_back("not run: it cannot go into two stages as it is");
    return refused;
  }

  /// Runs both forms without failure in virtual time, where counters repeat.
  Result<void> measure(const Validated& validated, const FormRun& one, const ScenarioFile& twoFile, StreamFinding& finding) {
    rows_ = 0;
    for (const auto& [group, values] : one.groups) {
      const auto* rows = std::get_if<int64_t>(&values.back().back());
      rows_ += rows ? *rows : 0;
    }
    say(fmt::format("balance of '{}'", finding.stream));
    FormRunOptions simulated;
    simulated.executor = "simulated";
    simulated.spreadOver = std::max<int64_t>(rows_, 1);
    const ScenarioFile plain = variantOf(file_, validated, {});
    WEIR_ASSIGN(const FormRun before, runForm(plain, configuration_, files_, validated.groupColumns, simulated));
    input_ = before.sourceRecords;
    WEIR_ASSIGN(const FormRun after, runForm(twoFile, configuration_, files_, groupColumnsOfTwo(validated), simulated));
    finding.oneStageLate = before.lateRecords;
    finding.twoStageLate = after.lateRecords;
    take(validated, one, after, finding);
    for (size_t i = 0; i < finding.aggregates.size(); ++i)
      if (finding.aggregates[i].verdict == Verdict::kDifferent)
        explain(validated, i, before, after, {before.lateRecords, after.lateRecords}, finding.aggregates[i]);
    finding.balance = balanceOf(validated, one, before, after, configuration_);
    if (!after.failure) WEIR_TRY(measureCost(validated, *finding.balance));
    return {};
  }
  /// Bytes and times, with the watermarks that the file asks for and without checkpoints, which would flush stage one.
  Result<void> measureCost(const Validated& validated, BalanceFinding& balance) {
    FormRunOptions simulated;
    simulated.executor = "simulated";
    simulated.spreadOver = std::max<int64_t>(input_, 1);
    simulated.checkpoints = false;
    simulated.stamps = true;
    const auto run = [&](const Variant& wanted, size_t groupColumns) {
      return runForm(variantOf(file_, validated, wanted), configuration_, files_, groupColumns, simulated);
    };
    WEIR_ASSIGN(const FormRun one, run({.ownWatermarks = true}, validated.groupColumns));
    WEIR_ASSIGN(const FormRun two, run({.twoStages = true, .ownWatermarks = true}, groupColumnsOfTwo(validated)));
    if (one.failure || two.failure) return {};
    balance.network = networkCost(validated, one, two);
    const bool accumulators = validated.twoStage.form == Form::kAccumulators;
    if (validated.node->window) {
      balance.heldBack = addedLatency(one, two, false);
    } else if (accumulators) {  // which records a result holds, hidden columns say; they would count as bytes
      WEIR_ASSIGN(const FormRun counted, run({.twoStages = true, .withBounds = true, .ownWatermarks = true}, validated.groupColumns));
      if (!counted.failure) balance.heldBack = addedLatency(one, counted, true);
    }
    return {};
  }

  Result<void> simulate(const Validated& validated, const FormRun& one, const ScenarioFile& oneFile, const ScenarioFile& twoFile,
                        StreamFinding& finding) {
    const int32_t subtasks = validated.node->parallelism.value_or(*configuration_.get(kDefaultParallelism));
    for (int32_t seed = 1; seed <= options_.seeds; ++seed) {
      say(fmt::format("'{}', interleaving {} of {}, with a failure", finding.stream, seed, options_.seeds));
      FormRunOptions simulated;
      simulated.executor = "simulated";
      simulated.seed = static_cast<uint64_t>(seed);
      simulated.spreadOver = std::max<int64_t>(input_, 1);
      simulated.failSubtask = seed % subtasks;
      const std::string& name = validated.node->name.value;
      const bool global = validated.twoStage.form == Form::kAccumulators && seed % 2 == 0;
      simulated.fail = global ? name + "-global" : name;
      WEIR_ASSIGN(const FormRun two, runForm(twoFile, configuration_, files_, groupColumnsOfTwo(validated), simulated));
      const StreamFinding before = finding;
      take(validated, one, two, finding);
      if (finding.oneStageLate > 0 && finding.different() && !before.different()) {
        // Watermarks are in no checkpoint: what is late behind a failure is another question in both forms.
        finding = before;
        const std::string note = "after a failure other records are late than before, in one stage too: such runs are compared without one";
        if (std::find(finding.notes.begin(), finding.notes.end(), note) == finding.notes.end()) finding.notes.push_back(note);
        simulated.fail.clear();
        WEIR_ASSIGN(const FormRun undisturbed, runForm(twoFile, configuration_, files_, groupColumnsOfTwo(validated), simulated));
        take(validated, one, undisturbed, finding);
      }
      if (seed > 1) continue;
      // That one stage repeats itself is what the comparison stands on.
      simulated.fail = name;
      WEIR_ASSIGN(const FormRun again, runForm(oneFile, configuration_, files_, validated.groupColumns, simulated));
      if (again.failure || !sameGroups(one, again))
        finding.notes.push_back("one stage itself gives other results after a failure: its input has no one order");
    }
    return {};
  }
  static bool sameGroups(const FormRun& a, const FormRun& b) {
    return std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(), [](const auto& x, const auto& y) {
      return x.first == y.first &&
             std::equal(x.second.back().begin(), x.second.back().end(), y.second.back().begin(), y.second.back().end(),
                        [](const Value& v, const Value& w) { return compareValues(v, w) == 0; });
    });
  }

  ScenarioFile file_;
  Configuration configuration_;
  FileSystem& files_;
  const ValidationOptions& options_;
  BuiltJob built_;
  int64_t rows_ = 0;   ///< that went into the aggregation
  int64_t input_ = 0;  ///< that the sources gave
};

}  // namespace

Result<ValidationReport> validateJob(const ScenarioFile& file, const Configuration& configuration, FileSystem& files,
                                     const ValidationOptions& options) {
  return Validator(file, configuration, files, options).validate();
}

}  // namespace weir
