#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/windowing/evictor.h"
#include "weir/windowing/window_context.h"

namespace weir {

/// What a window keeps of its elements, how that merges, and what happens when the window fires. Each of these classes has
///   In, Out           of the operator
///   Stored, kKind     what lies in the state `window-contents`
///   initial()         what a stored value starts from
///   add(stored, created, record)   `created`: the first element of `stored`
///   merge(into, from)
///   emit(stored, context, out)     calls the window function
/// and is copied for each attempt.

namespace detail {
/// The optional parts of a user's window function: open(KeyedRuntimeContext<K>&), clear(ProcessWindowContext<K>&), close().
template <class F>
struct WindowFunctionHolder {
  F function;

  template <class K>
  void open(KeyedRuntimeContext<K>& runtime) {
    if constexpr (requires { function.open(runtime); }) function.open(runtime);
  }
  template <class K>
  void clear(ProcessWindowContext<K>& context) {
    if constexpr (requires { function.clear(context); }) function.clear(context);
  }
  void close() {
    if constexpr (requires { function.close(); }) function.close();
  }
};

/// `reduce(const T&, const T&) -> T`, or `reduce(T&, const T&)` in place.
template <class T, class R>
void reduceInto(R& reduce, T& into, const T& value) {
  if constexpr (std::is_invocable_r_v<T, R&, const T&, const T&>)
    into = std::invoke(reduce, std::as_const(into), value);
  else
    std::invoke(reduce, into, value);
}
}  // namespace detail

/// The reduction of the elements. Flink: WindowedStream.reduce.
template <class T, class R, class F = PassThrough, class O = T>
class ReduceContents : public detail::WindowFunctionHolder<F> {
 public:
  using In = T;
  using Out = O;
  using Stored = T;
  static constexpr StateKind kKind = StateKind::kReducing;
  explicit ReduceContents(R reduce, F function = {}) : detail::WindowFunctionHolder<F>{std::move(function)}, reduce_(std::move(reduce)) {}

  Stored initial() const { return {}; }
  void add(Stored& stored, bool created, const StreamRecord<In>& record) {
    if (created)
      stored = record.value;
    else
      detail::reduceInto(reduce_, stored, record.value);
  }
  void merge(Stored& into, const Stored& from) { detail::reduceInto(reduce_, into, from); }
  template <class K>
  void emit(const Stored& stored, ProcessWindowContext<K>& context, Collector<Out>& out) {
    callWindowFunction(this->function, context, std::span<const T>(&stored, 1), out);
  }

 private:
  R reduce_;
};

/// An accumulator per window. `A` has In, Acc, Out, createAccumulator(), add(Acc&, In), getResult(Acc) and, for windows that merge,
/// merge(Acc&, Acc): see AggregateFunction. Flink: WindowedStream.aggregate.
template <class A, class F = PassThrough, class O = typename A::Out>
class AggregateContents : public detail::WindowFunctionHolder<F> {
 public:
  using In = typename A::In;
  using Out = O;
  using Stored = typename A::Acc;
  static constexpr StateKind kKind = StateKind::kAggregating;
  explicit AggregateContents(A aggregate, F function = {})
      : detail::WindowFunctionHolder<F>{std::move(function)}, aggregate_(std::move(aggregate)) {}

  Stored initial() const { return aggregate_.createAccumulator(); }
  void add(Stored& stored, bool, const StreamRecord<In>& record) { aggregate_.add(stored, record.value); }
  void merge(Stored& into, const Stored& from) {
    if constexpr (requires(A & a) { a.merge(into, from); }) {
      aggregate_.merge(into, from);
    } else {
      throw Throwable("java.lang.UnsupportedOperationException",
                      "This aggregate function has no merge(), which windows that merge ask for; use windows that do not merge.");
    }
  }
  template <class K>
  void emit(const Stored& stored, ProcessWindowContext<K>& context, Collector<Out>& out) {
    const typename A::Out result = aggregate_.getResult(stored);
    callWindowFunction(this->function, context, std::span<const typename A::Out>(&result, 1), out);
  }

 private:
  A aggregate_;
};

/// All elements, in the order in which they came. Flink: WindowedStream.process.
template <class T, class F, class O>
class ListContents : public detail::WindowFunctionHolder<F> {
 public:
  using In = T;
  using Out = O;
  using Stored = CopyOnWrite<std::vector<T>>;
  static constexpr StateKind kKind = StateKind::kList;
  explicit ListContents(F function) : detail::WindowFunctionHolder<F>{std::move(function)} {}

  Stored initial() const { return {}; }
  void add(Stored& stored, bool, const StreamRecord<In>& record) { stored.mutate().push_back(record.value); }
  void merge(Stored& into, const Stored& from) {
    const auto& more = from.get();
    auto& all = into.mutate();
    all.insert(all.end(), more.begin(), more.end());
  }
  template <class K>
  void emit(const Stored& stored, ProcessWindowContext<K>& context, Collector<Out>& out) {
    callWindowFunction(this->function, context, std::span<const T>(stored.get()), out);
  }
};

/// Keeps the elements with their timestamps for an evictor; what it leaves goes into `Inner` when the window fires. Flink:
/// EvictingWindowOperator.
template <class Inner>
class EvictingContents {
 public:
  using In = typename Inner::In;
  using Out = typename Inner::Out;
  using Elements = std::vector<TimestampedValue<In>>;
  using Stored = CopyOnWrite<Elements>;
  static constexpr StateKind kKind = StateKind::kList;
  static constexpr bool kEvicts = true;
  EvictingContents(EvictorPtr<In> evictor, Inner inner) : evictor_(std::move(evictor)), inner_(std::move(inner)) {}

  template <class K>
  void open(KeyedRuntimeContext<K>& runtime) {
    inner_.open(runtime);
  }
  template <class K>
  void clear(ProcessWindowContext<K>& context) {
    inner_.clear(context);
  }
  void close() { inner_.close(); }

  Stored initial() const { return {}; }
  void add(Stored& stored, bool, const StreamRecord<In>& record) {
    stored.mutate().push_back({record.value, record.hasTimestamp ? record.timestamp : kNoTimestamp, record.hasTimestamp});
  }
  void merge(Stored& into, const Stored& from) {
    const auto& more = from.get();
    auto& all = into.mutate();
    all.insert(all.end(), more.begin(), more.end());
  }
  /// Returns what is left in the window.
  template <class K>
  Elements emit(const Stored& stored, ProcessWindowContext<K>& context, Collector<Out>& out) {
    const EvictorContext evictorContext{context.currentProcessingTime(), context.currentWatermark()};
    Elements elements = stored.get();
    evictor_->evictBefore(elements, context.window(), evictorContext);
    // A reduction of nothing is nothing; a list or an aggregate of nothing is one.
    if (!elements.empty() || Inner::kKind != StateKind::kReducing) {
      auto kept = inner_.initial();
      StreamRecord<In> record;
      for (size_t i = 0; i < elements.size(); ++i) {
        record.value = elements[i].value;
        record.timestamp = elements[i].timestamp;
        record.hasTimestamp = elements[i].hasTimestamp;
        inner_.add(kept, i == 0, record);
      }
      inner_.emit(kept, context, out);
    }
    evictor_->evictAfter(elements, context.window(), evictorContext);
    return elements;
  }

 private:
  EvictorPtr<In> evictor_;
  Inner inner_;
};

}  // namespace weir
