#pragma once

#include "semantics/golden_case.h"
#include "weir/record/stream_element.h"

namespace weir::semantics {

/// What a case gave.
struct Outcome {
  std::vector<Json> output;
  std::vector<int64_t> lateDropped;
  std::string error;  ///< "NullPointerException: ..."; empty: none
};

/// Runs a case step by step through the engine's operators, each driven by hand.
Outcome interpret(const StepCase& golden);

/// How `outcome` differs from what the case says; empty: it does not.
std::string difference(const StepCase& golden, const Outcome& outcome);

/// One line of output, without its step: `["r", ts, key, value, ...]`.
Json shown(const StreamRecord<Item>& record);
Json shown(const ControlElement& control);

}  // namespace weir::semantics
