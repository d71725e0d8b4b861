#include "semantics/functions.h"

#include <stdexcept>

#include "weir/aggregate/collections.h"
#include "weir/aggregate/distinct.h"
#include "weir/aggregate/numbers.h"

namespace weir::semantics {
namespace {

template <class T>
T as(const Value& value) {
  if constexpr (std::is_same_v<T, int64_t>)
    return value.number;
  else if constexpr (std::is_same_v<T, double>)
    return value.asDouble();
  else
    return value;
}

/// What a case shows of a result.
Value shown(int64_t result) { return Value(result); }
Value shown(double result) { return Value(result); }
Value shown(const Value& result) { return result; }
Value shown(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values) text += (text.empty() ? "" : " ") + value.toString();
  return Value(text);
}

template <class F>
class Accumulator : public AnyAccumulator {
 public:
  std::unique_ptr<AnyAccumulator> clone() const override { return std::make_unique<Accumulator>(*this); }
  void add(const Value& value) override { F().add(acc_, as<typename F::In>(value)); }
  void merge(const AnyAccumulator& other) override { F().merge(acc_, static_cast<const Accumulator&>(other).acc_); }
  Value result() const override { return shown(F().getResult(acc_)); }
  void write(DataOutput& out) const override { serialize(out, acc_); }
  bool read(DataInput& in) override { return Serializer<typename F::Acc>::read(in, acc_); }

 protected:
  typename F::Acc acc_ = F().createAccumulator();
};

/// The first stage of an average gives its accumulator as "sum/count".
template <class T>
class AverageParts final : public Accumulator<Avg<T>> {
  std::unique_ptr<AnyAccumulator> clone() const override { return std::make_unique<AverageParts>(*this); }
  Value result() const override { return Value(shown(this->acc_.sum).toString() + "/" + std::to_string(this->acc_.count)); }
};
/// The second one merges them.
template <class T>
class AverageOfParts final : public Accumulator<Avg<T>> {
  std::unique_ptr<AnyAccumulator> clone() const override { return std::make_unique<AverageOfParts>(*this); }
  void add(const Value& value) override {
    const size_t slash = value.text.find('/');
    typename Avg<T>::Acc part;
    part.sum = static_cast<decltype(part.sum)>(std::stod(value.text.substr(0, slash)));
    part.count = std::stoll(value.text.substr(slash + 1));
    Avg<T>().merge(this->acc_, part);
  }
};

/// The first stage of a distinct count gives its set, sorted, with commas.
class DistinctParts final : public Accumulator<DistinctExact<Value>> {
  std::unique_ptr<AnyAccumulator> clone() const override { return std::make_unique<DistinctParts>(*this); }
  Value result() const override {
    std::string text;
    for (const Value& value : acc_) text += (text.empty() ? "" : ",") + value.toString();
    return Value(text);
  }
};
class DistinctOfParts final : public Accumulator<DistinctExact<Value>> {
  std::unique_ptr<AnyAccumulator> clone() const override { return std::make_unique<DistinctOfParts>(*this); }
  void add(const Value& value) override {
    for (size_t from = 0; from <= value.text.size();) {
      const size_t to = std::min(value.text.find(',', from), value.text.size());
      Accumulator::add(Value(value.text.substr(from, to - from)));
      from = to + 1;
    }
  }
};

template <class T>
std::unique_ptr<AnyAccumulator> numberAccumulator(const std::string& name) {
  if (name == "sum") return std::make_unique<Accumulator<Sum<T>>>();
  if (name == "min") return std::make_unique<Accumulator<Min<T>>>();
  if (name == "max") return std::make_unique<Accumulator<Max<T>>>();
  if (name == "avg") return std::make_unique<Accumulator<Avg<T>>>();
  if (name == "avgAcc") return std::make_unique<AverageParts<T>>();
  if (name == "avgMerge") return std::make_unique<AverageOfParts<T>>();
  throw std::runtime_error("the interpreter knows no function " + name);
}

}  // namespace

std::unique_ptr<AnyAccumulator> newAccumulator(const FunctionName& function) {
  if (function.name == "count") return std::make_unique<Accumulator<Count<Value>>>();
  if (function.name == "first") return std::make_unique<Accumulator<First<Value>>>();
  if (function.name == "last") return std::make_unique<Accumulator<Last<Value>>>();
  if (function.name == "list") return std::make_unique<Accumulator<Collect<Value>>>();
  if (function.name == "distinct") return std::make_unique<Accumulator<DistinctExact<Value>>>();
  if (function.name == "distinctAcc") return std::make_unique<DistinctParts>();
  if (function.name == "distinctMerge") return std::make_unique<DistinctOfParts>();
  return function.doubles ? numberAccumulator<double>(function.name) : numberAccumulator<int64_t>(function.name);
}

bool givesDoubles(const FunctionName& function) {
  if (function.name == "avg" || function.name == "avgMerge") return true;
  return function.doubles && function.name != "count" && function.name != "distinct" && function.name != "distinctMerge";
}

Value reduceValues(const std::string& name, const Value& a, const Value& b) {
  if (name == "concat") return Value(a.toString() + "+" + b.toString());
  const bool doubles = a.kind == Value::kDouble || b.kind == Value::kDouble;
  if (name == "sum") return doubles ? Value(a.asDouble() + b.asDouble()) : Value(detail::javaPlus(a.number, b.number));
  if (name == "subtract") return doubles ? Value(a.asDouble() - b.asDouble()) : Value(detail::javaPlus(a.number, -b.number));
  throw std::runtime_error("the interpreter knows no reduction " + name);
}

}  // namespace weir::semantics
