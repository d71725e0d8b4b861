#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "semantics/value.h"

namespace weir::semantics {

using Json = nlohmann::json;

/// One step of a case's input. README.md beside the cases says what each means.
struct Step {
  std::string kind;  ///< without the number of the input
  int input = 0;     ///< of a two-input operator, from 0; the channel of a valve
  bool both = false; ///< a watermark or status for both inputs
  std::optional<int64_t> time;
  Item item;
};

/// A case that is run step by step.
struct StepCase {
  std::string file, name;
  bool doubles = false;
  Json operators;
  std::vector<Step> input;
  std::vector<Json> output;
  std::vector<int64_t> lateDropped;
  std::optional<std::string> error;
};
/// For the messages of tests.
inline void PrintTo(const StepCase& golden, std::ostream* out) { *out << golden.file << '/' << golden.name; }

/// A case that is a whole job over a file.
struct JobCase {
  std::string name;
  int32_t parallelism = 1;
  Json input, operators;
  std::string expected;  ///< path of the file with the lines of the result
};
inline void PrintTo(const JobCase& golden, std::ostream* out) { *out << golden.name; }

/// Where the cases are: WEIR_CASES_DIR, or tests/golden/semantics.
std::string casesFolder();
std::vector<StepCase> stepCases();
std::vector<JobCase> jobCases();

/// Items in one order: within a step side outputs first, and those results whose order Flink leaves open (one timestamp, other keys or
/// other windows) sorted.
std::vector<Json> canonical(std::vector<Json> output);

}  // namespace weir::semantics
