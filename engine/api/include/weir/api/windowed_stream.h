#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/api/data_stream.h"
#include "weir/windowing/window_operator.h"

namespace weir {

template <class R>
class TwoStageStream;
template <class K>
struct TwoStageOptions;

/// The results of an aggregation in windows; or in two stages, which is said at once:
/// `keyBy(k).window(w).aggregate(f).twoStage({...})`, with weir/api/two_stage_windows.h.
template <class T, class KeyFn, class A, class F, class Out>
class AggregatedWindows : public DataStream<Out> {
 public:
  AggregatedWindows(DataStream<Out> oneStage, DataStream<T> keyed, KeyFn keyFn, WindowSettings settings, A aggregate, F function,
                    bool evicts)
      : DataStream<Out>(std::move(oneStage)), keyed_(std::move(keyed)), keyFn_(std::move(keyFn)), settings_(std::move(settings)),
        aggregate_(std::move(aggregate)), function_(std::move(function)), evicts_(evicts) {}
  /// Spreads the records of a key over several subtasks; see AggregatedStream::twoStage.
  TwoStageStream<Out> twoStage(TwoStageOptions<KeyOf<T, KeyFn>> options = {});

 private:
  DataStream<T> keyed_;
  KeyFn keyFn_;
  WindowSettings settings_;
  A aggregate_;
  F function_;
  bool evicts_;
};

/// The records of each key, in windows; reduce, aggregate or process makes results of their contents. Settings chain.
///
///     keyed.window(TumblingEventTimeWindows::of(Millis(60'000))).allowedLateness(Millis(5'000)).sum(&Order::amount)
///
/// What is wrong with the assigner, or between assigner and trigger, is said by getJobGraph() and execute(). Flink: WindowedStream; with
/// the key that windowAll gives all records, AllWindowedStream.
template <class T, class KeyFn>
class WindowedStream {
 public:
  using K = KeyOf<T, KeyFn>;
  WindowedStream(const DataStream<T>& stream, KeyFn keyFn, const WindowAssignerResult& assigner, bool parallel = true)
      : stream_(stream), keyFn_(std::move(keyFn)), parallel_(parallel) {
    if (assigner.has_error())
      stream_.program()->mistake(assigner.error());
    else
      settings_.assigner = *assigner;
  }

  WindowedStream& trigger(TriggerPtr trigger) { return settings_.trigger = std::move(trigger), *this; }
  /// The windows then keep all their elements, also in front of a reduction.
  WindowedStream& evictor(EvictorPtr<T> evictor) { return evictor_ = std::move(evictor), *this; }
  /// For so long after its end a window takes records in, and fires again.
  WindowedStream& allowedLateness(Millis lateness) { return settings_.allowedLateness = lateness.count(), *this; }
  /// Records that are too late go there, see getSideOutput of the result; without it they are dropped and counted.
  WindowedStream& sideOutputLateData(const OutputTag<T>& tag) { return settings_.lateTag = tag.id, *this; }

  /// f(const T&, const T&) -> T, or f(T& accumulated, const T&), which changes the first in place.
  template <class R>
  DataStream<T> reduce(R f) {
    return build("reduce", Batching::kOneByOne, ReduceContents<T, R>(std::move(f)));
  }
  /// The reduction, handed to a window function: see process().
  template <class Out, class R, class F>
  DataStream<Out> reduce(R f, F function) {
    return build("reduce, process", Batching::kOneByOne, ReduceContents<T, R, F, Out>(std::move(f), std::move(function)));
  }
  /// See AggregateFunction. It is called for whole batches, so it should be quick.
  template <class A>
  AggregatedWindows<T, KeyFn, A, PassThrough, typename A::Out> aggregate(A f) {
    auto oneStage = build("aggregate", Batching::kBatches, AggregateContents<A>(f));
    return {std::move(oneStage), stream_, keyFn_, settings_, std::move(f), PassThrough{}, evictor_ != nullptr};
  }
  template <class Out, class A, class F>
  AggregatedWindows<T, KeyFn, A, F, Out> aggregate(A f, F function) {
    auto oneStage = build("aggregate, process", Batching::kOneByOne, AggregateContents<A, F, Out>(f, function));
    return {std::move(oneStage), stream_, keyFn_, settings_, std::move(f), std::move(function), evictor_ != nullptr};
  }
  /// f(const K&, ProcessWindowContext<K>&, std::span<const T>, Collector<Out>&), or an object with process() of that shape, and perhaps
  /// open(KeyedRuntimeContext<K>&) and clear(ProcessWindowContext<K>&).
  template <class Out, class F>
  DataStream<Out> process(F function) {
    return build("process", Batching::kOneByOne, ListContents<T, F, Out>(std::move(function)));
  }

  /// The sum of one member, the others as in the window's first record.
  template <class C, class M>
  DataStream<T> sum(M C::*member) {
    return build("sum", Batching::kBatches, reducing([member](T& all, const T& one) { rolling::sum(all.*member, one.*member); }));
  }
  template <class C, class M>
  DataStream<T> min(M C::*member) {
    return build("min", Batching::kBatches, reducing([member](T& all, const T& one) { rolling::min(all.*member, one.*member); }));
  }
  template <class C, class M>
  DataStream<T> max(M C::*member) {
    return build("max", Batching::kBatches, reducing([member](T& all, const T& one) { rolling::max(all.*member, one.*member); }));
  }
  /// The record with the smallest value of the member; of several the first one, or the last.
  template <class C, class M>
  DataStream<T> minBy(M C::*member, bool first = true) {
    return build("minBy", Batching::kBatches, reducing([member, first](T& all, const T& one) { rolling::minBy(all, one, member, first); }));
  }
  template <class C, class M>
  DataStream<T> maxBy(M C::*member, bool first = true) {
    return build("maxBy", Batching::kBatches, reducing([member, first](T& all, const T& one) { rolling::maxBy(all, one, member, first); }));
  }

  /// What it was put together from, for other ways to build its operators.
  const DataStream<T>& stream() const { return stream_; }
  const KeyFn& keyFn() const { return keyFn_; }
  const WindowSettings& settings() const { return settings_; }
  bool evicts() const { return evictor_ != nullptr; }

 private:
  template <class R>
  static ReduceContents<T, R> reducing(R reduce) {
    return ReduceContents<T, R>(std::move(reduce));
  }

  template <class Contents>
  DataStream<typename Contents::Out> build(const std::string& function, Batching batching, Contents contents) {
    if (evictor_) return transform(function, batching, EvictingContents<Contents>(evictor_, std::move(contents)));
    return transform(function, batching, std::move(contents));
  }
  template <class Contents>
  DataStream<typename Contents::Out> transform(const std::string& function, Batching batching, Contents contents) {
    using Operator = WindowOperator<KeyFn, Contents>;
    std::string name = "Window";
    if (settings_.assigner) {  // else a mistake that the program has noted
      if (auto fits = settings_.check(); fits.has_error()) stream_.program()->mistake(fits.error());
      name = settings_.toString(function);
    }
    auto result = stream_.template transform<typename Contents::Out>(
        std::move(name), batching, [settings = settings_, contents = std::move(contents), keyFn = keyFn_](OperatorSetup setup) {
          return std::make_unique<Operator>(std::move(setup), keyFn, settings, contents, heapKeyedStateBackend<K>());
        });
    if (!parallel_) result.setParallelism(1).setMaxParallelism(1);
    return result;
  }

  DataStream<T> stream_;
  KeyFn keyFn_;
  bool parallel_;
  WindowSettings settings_;
  EvictorPtr<T> evictor_;
};

/// The key that all records of a stream without keys have. Flink: NullByteKeySelector.
struct SameKey {
  template <class T>
  int8_t operator()(const T&) const {
    return 0;
  }
};

template <class T>
WindowedStream<T, SameKey> DataStream<T>::windowAll(const WindowAssignerResult& assigner) const {
  return WindowedStream<T, SameKey>(KeyedStream<T, SameKey>(*this, SameKey{}).stream(), SameKey{}, assigner, false);
}
template <class T>
WindowedStream<T, SameKey> DataStream<T>::countWindowAll(int64_t size) const {
  auto windows = windowAll(GlobalWindows::create());
  windows.trigger(PurgingTrigger::of(CountTrigger::of(size)));
  return windows;
}
template <class T, class KeyFn>
WindowedStream<T, KeyFn> KeyedStream<T, KeyFn>::window(const WindowAssignerResult& assigner) const {
  return WindowedStream<T, KeyFn>(stream_, keyFn_, assigner);
}
template <class T, class KeyFn>
WindowedStream<T, KeyFn> KeyedStream<T, KeyFn>::countWindow(int64_t size) const {
  auto windows = window(GlobalWindows::create());
  windows.trigger(PurgingTrigger::of(CountTrigger::of(size)));
  return windows;
}
template <class T, class KeyFn>
WindowedStream<T, KeyFn> KeyedStream<T, KeyFn>::countWindow(int64_t size, int64_t slide) const {
  auto windows = window(GlobalWindows::create());
  windows.trigger(CountTrigger::of(slide)).evictor(CountEvictor<T>::of(size));
  return windows;
}

}  // namespace weir
