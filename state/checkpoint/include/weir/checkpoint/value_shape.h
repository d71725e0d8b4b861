#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weir/record/data_input.h"
#include "weir/record/serializer_snapshot.h"

namespace weir {

/// How values look that a serializer with a known snapshot wrote: steps over one, or shows it, without knowing its type.
class ValueShape {
 public:
  static Result<ValueShape> of(const SerializerSnapshot& snapshot);
  /// False where the input has failed.
  bool skip(DataInput& in) const;
  /// Appends one as JSON: strings and characters quoted, lists, tuples and records as arrays, maps as arrays of pairs, windows as
  /// `{"start":..,"end":..}`, bytes in hexadecimal, numbers that JSON has not as strings. False where the input has failed.
  bool print(DataInput& in, std::string& into) const;

  enum class Kind { kFixed, kString, kBytes, kList, kMap, kNullable, kEither, kFields };
  Kind kind() const { return kind_; }
  /// Element of a list; key and value of a map; fields of a record.
  const std::vector<ValueShape>& nested() const { return nested_; }
  /// Every value takes as many bytes; for fields: all have fixed sizes.
  bool hasFixedSize() const;

 private:
  using Print = void (*)(DataInput&, std::string&);
  ValueShape() = default;
  static ValueShape fixed(size_t size, Print print);

  Kind kind_ = Kind::kFixed;
  size_t size_ = 0;        ///< of kFixed
  Print print_ = nullptr;  ///< of kFixed; null: nothing that a person would want to see
  std::vector<ValueShape> nested_;
};

}  // namespace weir
