#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "validation_parts.h"

namespace weir {
namespace {

using Kind = ColumnAggregate::Kind;
using Form = TwoStageSpec::Form;
using Emissions = std::vector<std::vector<Value>>;

constexpr size_t kWorst = 5;
constexpr double kTiny = 1e-9;

std::optional<double> numberOf(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<int32_t>(&value)) return *number;
  return std::nullopt;
}

std::string textOf(const Value& value, ColumnType type) {
  std::string text;
  appendValue(text, value, type);
  return text;
}

std::string groupText(const RowKey& group, const Validated& validated, const Schema& schema) {
  std::string text;
  for (size_t i = 0; i < validated.groupColumns; ++i)
    text += (i > 0 ? ", " : "") + schema[i].name + "=" + textOf(group.at(i), schema[i].type);
  return text;
}

/// How far apart two results may be because of rounding.
double boundOf(const Validated& validated, size_t column, const std::vector<Value>& values) {
  if (!rounds(validated.aggregates[column])) return 0;
  size_t at = validated.aggregates.size();
  for (size_t i = 0; i < column; ++i) at += rounds(validated.aggregates[i]) ? 3 : 0;
  const auto bound = RoundingBound::of(static_cast<int64_t>(numberOf(values[at]).value_or(0)), numberOf(values[at + 1]).value_or(0),
                                       numberOf(values[at + 2]).value_or(0));
  switch (validated.aggregates[column].kind()) {
    case Kind::kSum: return bound.ofSum();
    case Kind::kAvg: return bound.ofAverage();
    case Kind::kVariance: return bound.ofVariance();
    default: return std::sqrt(bound.ofVariance());
  }
}

/// What one comparison of two runs gives.
struct Comparison {
  AggregateFinding finding;
  std::vector<AggregateFinding::Example> all;
  std::set<std::string> keys;
  bool beyond = false;  ///< a difference that rounding does not explain
};

void addDifference(Comparison& into, const std::string& group, const std::string& key, std::string one, std::string two,
                   double difference) {
  AggregateFinding& finding = into.finding;
  ++finding.differing;
  if (difference == 0 || difference > kTiny || std::isnan(difference)) ++finding.differingMore;
  finding.largest = std::max(finding.largest, difference);
  finding.mean += difference;
  into.keys.insert(key);
  into.all.push_back({group, std::move(one), std::move(two), difference});
}

/// The order in which windows close: by their end, then by key.
bool earlier(const RowKey& a, const RowKey& b, bool hasBounds) {
  if (!hasBounds) return a < b;
  const Value &endA = a.rest.back(), &endB = b.rest.back();
  if (const auto order = compareValues(endA, endB); order != 0) return order < 0;
  return a < b;
}

Comparison compared(const Validated& validated, size_t column, const FormRun& one, const FormRun& two, std::optional<double> tolerance) {
  Comparison result;
  AggregateFinding& finding = result.finding;
  const bool hasBounds = validated.node->window && validated.node->window->kind != WindowSpec::Kind::kCount;
  const bool everyEmission = validated.node->window && !hasBounds;
  const ColumnType type = validated.aggregates[column].resultType();
  std::vector<const RowKey*> groups;
  for (const auto& [group, values] : one.groups) groups.push_back(&group);
  for (const auto& [group, values] : two.groups)
    if (!one.groups.contains(group)) groups.push_back(&group);
  std::sort(groups.begin(), groups.end(), [&](const RowKey* a, const RowKey* b) { return earlier(*a, *b, hasBounds); });
  double largestBound = 0;
  for (const RowKey* group : groups) {
    const auto left = one.groups.find(*group), right = two.groups.find(*group);
    const std::string text = groupText(*group, validated, one.schema);
    const std::string key = textOf(group->first, one.schema[0].type);
    if (left == one.groups.end() || right == two.groups.end()) {
      ++(left == one.groups.end() ? finding.additional : finding.missing);
      const auto& there = left == one.groups.end() ? right->second : left->second;
      const std::string value = textOf(there.back()[column], type);
      result.beyond = true;
      addDifference(result, text, key, left == one.groups.end() ? "nothing" : value, left == one.groups.end() ? value : "nothing", 0);
      continue;
    }
    const Emissions &x = left->second, &y = right->second;
    const double bound = boundOf(validated, column, x.back());
    largestBound = std::max(largestBound, bound);
    if (everyEmission && x.size() != y.size()) {
      result.beyond = true;
      addDifference(result, text, key, std::to_string(x.size()) + " results", std::to_string(y.size()) + " results", 0);
      continue;
    }
    for (size_t i = everyEmission ? 0 : x.size() - 1, last = x.size(); i < last; ++i) {
      const Value &a = x[i][column], &b = everyEmission ? y[i][column] : y.back()[column];
      if (compareValues(a, b) == 0) continue;
      const auto first = numberOf(a), second = numberOf(b);
      const double difference = first && second ? std::fabs(*first - *second) : 0;
      const double allowed = std::max(bound, tolerance.value_or(0));
      if (!first || !second || !(difference <= allowed)) result.beyond = true;
      addDifference(result, text, key, textOf(a, type), textOf(b, type), difference);
      break;
    }
  }
  finding.groups = static_cast<int64_t>(one.groups.size());
  finding.differingKeys = static_cast<int64_t>(result.keys.size());
  if (finding.groups > 0) finding.mean /= static_cast<double>(finding.groups);
  if (rounds(validated.aggregates[column])) finding.bound = largestBound;
  return result;
}

/// The salt that a naive form leaves in front of a key.
bool looksSalted(const Value& key) {
  const auto* text = std::get_if<std::string>(&key);
  if (!text) return false;
  const size_t digits = text->find_first_not_of("0123456789");
  return digits != 0 && digits != std::string::npos && (*text)[digits] == '|';
}

bool hasSaltedKeys(const FormRun& one, const FormRun& two) {
  for (const auto& [group, values] : two.groups) {
    if (!looksSalted(group.first)) continue;
    RowKey plain = group;
    const std::string& text = std::get<std::string>(group.first);
    plain.first = text.substr(text.find('|') + 1);
    const auto isPlain = [&](const auto& entry) { return compareValues(entry.first.first, plain.first) == 0; };
    if (std::any_of(one.groups.begin(), one.groups.end(), isPlain)) return true;
  }
  return false;
}

std::string whyResultsDoNotMerge(const std::string& function) {
  if (function == "avg") return "not mergeable: an average of averages forgets how many values each stands for; ship sum and count instead";
  if (function == "distinct" || function == "distinct-sketch")
    return "not mergeable: a sum of distinct counts counts twice what several salts have seen; ship the sets (or sketches) instead";
  if (function == "variance" || function == "stddev" || function == "percentile" || function == "exponential-average")
    return fmt::format("not mergeable: the results of {} do not say what they were made from; ship accumulators instead", function);
  return "";
}

}  // namespace

void compareColumn(const Validated& validated, size_t column, const FormRun& one, const FormRun& two, const ValidationOptions& options,
                   AggregateFinding& finding) {
  using Verdict = AggregateFinding::Verdict;
  Comparison result = compared(validated, column, one, two, options.tolerance);
  const Verdict verdict = result.beyond                  ? Verdict::kDifferent
                          : result.finding.differing > 0 ? Verdict::kEqualUpToRounding
                                                         : Verdict::kEqual;
  const bool worse =
      finding.groups == 0 || verdict > finding.verdict || (verdict == finding.verdict && result.finding.largest > finding.largest);
  if (!worse) return;
  AggregateFinding& made = result.finding;
  made.column = finding.column;
  made.function = finding.function;
  made.reasons = std::move(finding.reasons);
  made.verdict = verdict;
  if (!result.all.empty()) made.first = result.all.front();
  std::stable_sort(result.all.begin(), result.all.end(), [](const auto& a, const auto& b) { return a.difference > b.difference; });
  result.all.resize(std::min(result.all.size(), kWorst));
  made.worst = std::move(result.all);
  finding = std::move(made);
}

void explain(const Validated& validated, size_t column, const FormRun& one, const FormRun& two, const LateRecords& late,
             AggregateFinding& finding) {
  const ColumnAggregate& aggregate = validated.aggregates[column];
  const Form form = validated.twoStage.form;
  const auto windowIs = [&](WindowSpec::Kind kind) { return validated.node->window && validated.node->window->kind == kind; };
  // Of results that both have: where each is in one form alone, keys or windows are wrong, and what the function does with parts is unseen.
  const bool valuesDiffer = finding.differing > finding.missing + finding.additional;
  std::vector<std::string> reasons;
  if (two.failure) reasons.push_back("the two-stage job fails: " + *two.failure);
  if (form == Form::kSaltInSelector)
    reasons.push_back("salt in the key selector: it is drawn once for the exchange and again for the state, so records end in key groups "
                      "that their subtask does not own; put the salt into the record before the exchange");
  if (form == Form::kSaltInKey || hasSaltedKeys(one, two))
    reasons.push_back("salt left in the key: stage two groups by the salted key, so each key has a result per salt; take the salt out "
                      "before stage two");
  const bool mixed = form == Form::kMixedTime;
  if (mixed)
    reasons.push_back("mixed time: stage two puts results of event time into windows of the clock, which hold what happens to arrive "
                      "together, and drops what is open at the end");
  if (valuesDiffer && form != Form::kAccumulators && form != Form::kSaltInSelector) {
    const std::string why = whyResultsDoNotMerge(aggregate.function());
    if (!why.empty()) reasons.push_back(why);
    if (!validated.node->window && why.empty())
      reasons.push_back(
          "not mergeable: stage one emits its result so far with every record, and stage two adds totals to totals; ship what "
          "is new");
  }
  if (valuesDiffer && aggregate.traits().orderSensitive)
    reasons.push_back(fmt::format(
        "order-sensitive: {} depends on the order of the records, which is lost between the subtasks of stage one", aggregate.function()));
  if (late.oneStage != late.twoStages)
    reasons.push_back(fmt::format("late data seen by one form only: one stage dropped {} records as late, two stages {}{}", late.oneStage,
                                  late.twoStages,
                                  windowIs(WindowSpec::Kind::kSession)
                                      ? "; a session that is still open takes a late record in, and stage one does not see it"
                                      : ""));
  else if (validated.node->window && validated.node->window->latenessMillis > 0 && form != Form::kAccumulators && !mixed)
    reasons.push_back("late data: stage one fires again for a late record, and stage two takes the new result for one more");
  if (reasons.empty() && windowIs(WindowSpec::Kind::kSliding) && form != Form::kAccumulators)
    reasons.push_back("a result of stage one falls into several of the sliding windows of stage two");
  if (reasons.empty() && windowIs(WindowSpec::Kind::kSession) && form != Form::kAccumulators)
    reasons.push_back("sessions of stage one end where a salted key pauses, which the key itself may not");
  if (reasons.empty() && aggregate.traits().splitsUpToRounding())
    reasons.push_back(
        "the difference is larger than the bound of rounding: a mistake of the engine, or a sum that has left the range of doubles");
  if (reasons.empty()) reasons.push_back("a cause that weir validate does not know; please report it with the file");
  finding.reasons = std::move(reasons);
}

std::string_view formName(Form form) {
  switch (form) {
    case Form::kAccumulators: return "accumulators";
    case Form::kResults: return "results";
    case Form::kStringKeys: return "string-keys";
    case Form::kMixedTime: return "mixed-time";
    case Form::kSaltInKey: return "salt-in-key";
    case Form::kSaltInSelector: return "salt-in-selector";
  }
  __builtin_unreachable();
}

bool StreamFinding::different() const {
  return std::any_of(aggregates.begin(), aggregates.end(),
                     [](const AggregateFinding& a) { return a.verdict == AggregateFinding::Verdict::kDifferent; });
}
bool ValidationReport::different() const {
  return std::any_of(streams.begin(), streams.end(), [](const StreamFinding& s) { return s.different(); });
}

}  // namespace weir
