#pragma once

#include <memory>
#include <string>

#include "semantics/value.h"
#include "weir/aggregate/aggregate_function.h"

namespace weir::semantics {

/// An accumulator of any function, erased.
class AnyAccumulator {
 public:
  virtual ~AnyAccumulator() = default;
  virtual std::unique_ptr<AnyAccumulator> clone() const = 0;
  virtual void add(const Value& value) = 0;
  virtual void merge(const AnyAccumulator& other) = 0;
  virtual Value result() const = 0;
  virtual void write(DataOutput& out) const = 0;
  virtual bool read(DataInput& in) = 0;
};

/// The name of a function in the cases, and whether its input is doubles.
struct FunctionName {
  std::string name;
  bool doubles = false;
  WEIR_FIELDS(name, doubles)
};

/// The engine's aggregate functions by the names of the cases, among them both halves of the two-stage forms. Throws for an unknown one.
std::unique_ptr<AnyAccumulator> newAccumulator(const FunctionName& function);
/// Whether its results are doubles.
bool givesDoubles(const FunctionName& function);

/// An accumulator as a value: copied deeply, and written behind the name of its function.
struct ErasedAccumulator {
  FunctionName function;
  std::unique_ptr<AnyAccumulator> held;

  ErasedAccumulator() = default;
  explicit ErasedAccumulator(const FunctionName& f) : function(f), held(newAccumulator(f)) {}
  ErasedAccumulator(const ErasedAccumulator& other) : function(other.function), held(other.held ? other.held->clone() : nullptr) {}
  ErasedAccumulator(ErasedAccumulator&&) noexcept = default;
  ErasedAccumulator& operator=(ErasedAccumulator other) noexcept {
    function = std::move(other.function);
    held = std::move(other.held);
    return *this;
  }
};

/// One function of a case, as the engine's contract asks for it.
struct CaseFunction {
  using In = Item;
  using Acc = ErasedAccumulator;
  using Out = Value;
  static constexpr AggregateTraits kTraits{.mergeable = true};
  FunctionName function;
  Acc createAccumulator() const { return ErasedAccumulator(function); }
  void add(Acc& acc, const Item& item) const {
    if (!acc.held) acc = createAccumulator();
    acc.held->add(item.value);
  }
  void merge(Acc& into, const Acc& other) const {
    if (!other.held) return;
    if (into.held)
      into.held->merge(*other.held);
    else
      into = other;
  }
  Out getResult(const Acc& acc) const { return acc.held->result(); }
};

/// `reduce:NAME` of two values.
Value reduceValues(const std::string& name, const Value& a, const Value& b);

}  // namespace weir::semantics

namespace weir {

template <>
struct Serializer<semantics::ErasedAccumulator> {
  using Parts = std::pair<semantics::FunctionName, std::vector<uint8_t>>;
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static Parts partsOf(const semantics::ErasedAccumulator& value) {
    DataOutput out;
    if (value.held) value.held->write(out);
    return {value.function, {out.bytes().begin(), out.bytes().end()}};
  }
  static size_t maxSize(const semantics::ErasedAccumulator& value) { return Serializer<Parts>::maxSize(partsOf(value)); }
  static uint8_t* write(uint8_t* at, const semantics::ErasedAccumulator& value) { return Serializer<Parts>::write(at, partsOf(value)); }
  static bool read(DataInput& in, semantics::ErasedAccumulator& into) {
    Parts parts;
    if (!Serializer<Parts>::read(in, parts)) return false;
    into = semantics::ErasedAccumulator();
    into.function = parts.first;
    if (parts.second.empty()) return true;
    into.held = semantics::newAccumulator(parts.first);
    DataInput held(parts.second);
    return into.held->read(held) || in.fail("has a broken accumulator");
  }
  static SerializerSnapshot snapshot() { return Serializer<Parts>::snapshot(); }
};

}  // namespace weir
