#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weir/scenario/expression.h"

namespace weir {

using ExpressionPointer = std::shared_ptr<const ExpressionNode>;

/// Computes all rows of a batch from the values of its arguments.
using Kernel = void (*)(std::span<const ColumnVector* const> arguments, size_t rows, ColumnVector& into);

/// One signature of a function or an operator (whose name is its sign).
struct Overload {
  std::vector<ColumnType> arguments;
  ColumnType result;
  Kernel kernel;
  enum class Nulls {
    kStrict,   ///< null where an argument is null; the kernel need not look
    kMayMake,  ///< the same, and the kernel may say null itself
    kOwn,      ///< the kernel says what is null
    kNever     ///< the kernel looks at nulls and never makes one
  } nulls = Nulls::kStrict;
  bool repeats = false;  ///< the last argument may come any number of times
};

/// Calls `name` with these arguments: the first signature that takes them, whole numbers widened to doubles where it must be. An error is
/// the end of a sentence.
Result<ExpressionPointer> makeCall(const std::string& name, std::vector<ExpressionPointer> arguments);
ExpressionPointer makeColumn(size_t index, const Column& column);
ExpressionPointer makeLiteral(Value value, ColumnType type);

}  // namespace weir
