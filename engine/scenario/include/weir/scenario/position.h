#pragma once

#include <string>

#include "weir/base/error.h"

namespace weir {

/// A place in a job file, counted from 1.
struct Position {
  std::string file;
  int line = 0;
  int column = 0;
  /// "hot-key.yaml:7:12: "
  std::string prefix() const { return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": "; }
  Error error(const std::string& sentence) const { return {ErrorCode::kInvalidArgument, prefix() + sentence}; }
};

/// A part of a job file and its place.
template <class T>
struct Located {
  T value{};
  Position at{};
};

}  // namespace weir
