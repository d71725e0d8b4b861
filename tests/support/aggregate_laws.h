#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weir/aggregate/aggregate_function.h"
#include "weir/base/random.h"

namespace weir::testing {

/// Bytes tell results and accumulators apart where == does not: -0.0, NaN.
template <class T>
std::vector<uint8_t> bytesOf(const T& value) {
  DataOutput out;
  serialize(out, value);
  return out.toVector();
}

/// What random streams have shown about an aggregate function.
struct Laws {
  bool associative = true, commutative = true, mergeable = true, exact = true, orderMatters = false;
  std::string note;  ///< of the first failure
};

/// How an aggregate is put to the test. `make` draws a value; `oracle` knows the right result without accumulators; `near` tells whether
/// two results over the same values are equal up to rounding (null: only if they are the same).
template <class F>
struct Trial {
  F function;
  std::function<typename F::In(Random&)> make;
  std::function<typename F::Out(const std::vector<typename F::In>&)> oracle;
  std::function<bool(const typename F::Out&, const typename F::Out&, const std::vector<typename F::In>&)> near{};
  int streams = 300;
  size_t longest = 40;
};

namespace detail {

template <class F>
class LawFinder {
 public:
  using In = typename F::In;
  using Acc = typename F::Acc;
  using Out = typename F::Out;
  explicit LawFinder(const Trial<F>& trial) : trial_(trial), f_(trial.function), random_(17, "laws") {}

  Laws find() {
    for (int i = 0; i < trial_.streams; ++i) {
      const std::vector<In> values = draw();
      const Out whole = f_.getResult(accumulate(values));
      if (!same(whole, trial_.oracle(values))) laws_.exact = false;
      std::vector<In> other = values;
      shuffle(other);
      if (!equalEnough(f_.getResult(accumulate(other)), whole, values)) laws_.orderMatters = true;
      if constexpr (MergeableAggregate<F>)
        lookAtMerges(values, whole);
      else
        laws_.associative = laws_.commutative = laws_.mergeable = false;
    }
    return laws_;
  }

 private:
  void lookAtMerges(const std::vector<In>& values, const Out& whole) {
    const size_t first = random_.below(values.size() + 1), second = first + random_.below(values.size() - first + 1);
    const std::span<const In> all(values);
    const Acc a = accumulate(all.first(first)), b = accumulate(all.subspan(first, second - first)), c = accumulate(all.subspan(second));
    const Acc left = merged(merged(a, b), c), right = merged(a, merged(b, c));
    if (!same(left, right)) laws_.associative = false;
    if (!same(merged(a, b), merged(b, a))) laws_.commutative = false;
    // A part may also go on where a merge has ended, and an accumulator may have been bytes on the way.
    Acc goneOn = reread(merged(f_.createAccumulator(), reread(a)));
    for (const In& value : all.subspan(first)) f_.add(goneOn, value);
    for (const Out& result : {f_.getResult(left), f_.getResult(right), f_.getResult(goneOn)})
      if (F::kTraits.associative ? !same(result, whole) : !equalEnough(result, whole, values)) laws_.mergeable = false;
  }

  std::vector<In> draw() {
    std::vector<In> values(1 + random_.below(trial_.longest));
    for (In& value : values) value = trial_.make(random_);
    return values;
  }
  void shuffle(std::vector<In>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random_.below(i)]);
  }
  Acc accumulate(std::span<const In> values) const {
    Acc acc = f_.createAccumulator();
    for (const In& value : values) f_.add(acc, value);
    return acc;
  }
  Acc merged(Acc a, const Acc& b) const {
    f_.merge(a, b);
    return a;
  }
  static Acc reread(const Acc& acc) { return deserialize<Acc>(bytesOf(acc)).value(); }
  template <class V>
  static bool same(const V& a, const V& b) {
    return bytesOf(a) == bytesOf(b);
  }
  bool equalEnough(const Out& a, const Out& b, const std::vector<In>& values) const {
    return trial_.near ? trial_.near(a, b, values) : same(a, b);
  }

  const Trial<F>& trial_;
  const F& f_;
  Random random_;
  Laws laws_;
};

}  // namespace detail

/// What random streams, cut at random places and shuffled, show about a function.
template <AggregateFunction F>
Laws findLaws(const Trial<F>& trial) {
  return detail::LawFinder<F>(trial).find();
}

/// Which promises of `F` are refuted, and which it could have made but does not; empty: its traits are the truth about it.
template <AggregateFunction F>
std::string brokenPromises(const Trial<F>& trial) {
  const Laws laws = findLaws(trial);
  const AggregateTraits& promised = F::kTraits;
  std::string broken;
  auto compare = [&](const char* name, bool declared, bool found) {
    if (declared != found) broken += std::string(name) + (declared ? " is declared and does not hold; " : " holds and is not declared; ");
  };
  compare("associative", promised.associative, laws.associative);
  compare("commutative", promised.commutative, laws.commutative);
  compare("mergeable", promised.mergeable, laws.mergeable);
  compare("exact", promised.exact, laws.exact);
  compare("order-sensitive", promised.orderSensitive, laws.orderMatters);
  return broken;
}

}  // namespace weir::testing
