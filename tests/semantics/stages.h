#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "semantics/operators.h"
#include "support/operator_harness.h"

namespace weir::semantics {

using Element = std::variant<StreamRecord<Item>, ControlElement>;

/// One operator of a case, driven by hand.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual void process(int input, const Element& element) = 0;
  virtual void advanceProcessingTime(int64_t) {}
  virtual void advanceTtlTime(int64_t) {}
  /// A snapshot, and a new operator from it.
  virtual void restore() {}
  virtual void end() {}
  /// What came out since the last call, in order.
  virtual std::vector<Element> take() = 0;
  /// The same of the side outputs, with their tags.
  virtual std::vector<std::pair<std::string, StreamRecord<Item>>> takeLate() { return {}; }
  virtual int64_t lateDropped() const { return 0; }
};

std::unique_ptr<Stage> makeStage(const Json& op, bool doubles, testing::OperatorMachine& machine);
std::unique_ptr<Stage> makeWindowJoinStage(const Json& op, testing::OperatorMachine& machine);

}  // namespace weir::semantics
