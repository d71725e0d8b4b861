#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir {

/// Where a value was set: a place in a file, or a word such as "-D" for the command line.
struct ConfigOrigin {
  std::string source{};  ///< path of a file, or "-D", or empty for a program
  int line = 0;          ///< from 1; 0 outside files
  int column = 0;

  /// "conf/config.yaml:3:5: ", "-D: " or nothing: what goes in front of a message.
  std::string prefix() const;
};

/// One value as a file or a command line gives it, before an option says of which type it is.
struct ConfigValue {
  /// What YAML takes a scalar for; everything that does not come from YAML is text.
  enum class Kind { kText, kBoolean, kInteger, kFloat, kList, kMap };
  std::string text{};  ///< as a string option sees it; numbers are normalised, a list prints as [a, b]
  Kind kind = Kind::kText;
  std::vector<std::string> elements{};  ///< of a list; of a map that is spread over several keys: key, value, key, value
  ConfigOrigin origin{};
};

/// Splits structured text (`a;b;c`, `k1:v1,k2:v2`) at `separator`. Parts are trimmed; a part in single or double quotes may contain the
/// separator, its quote doubled. Empty parts at both ends vanish, inner ones stay. Flink: StructuredOptionsSplitter.
Result<std::vector<std::string>> splitStructured(std::string_view text, char separator);

/// The part in quotes where it needs them, so that splitStructured gives it back.
std::string quotedStructured(std::string_view part, std::string_view separators);

/// Numbers as Java prints them: 1.0, 1.0E40, 1.6777216E7, NaN, Infinity.
std::string javaText(double value);
std::string javaText(float value);

}  // namespace weir
