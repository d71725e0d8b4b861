#pragma once

#include <memory>
#include <utility>

#include "weir/api/windowed_stream.h"
#include "weir/windowing/interval_join.h"
#include "weir/windowing/join.h"

namespace weir {

/// Two streams on their way through windows together: coGroup hands both sides of a window to a function, join each pair.
///
///     orders.join(payments).where(&Order::id).equalTo(&Payment::order).window(TumblingEventTimeWindows::of(Millis(60'000)))
///         .apply<Receipt>([](const Order& order, const Payment& payment) { return Receipt{...}; });
///
/// Flink: CoGroupedStreams, JoinedStreams.
template <class T1, class T2, class KeyFn1, class KeyFn2, bool pairs>
class JoinedWindows {
 public:
  using Union = TaggedUnion<T1, T2>;
  using UnionKeyFn = UnionKey<T1, T2, KeyFn1, KeyFn2>;
  JoinedWindows(const DataStream<T1>& first, const DataStream<T2>& second, UnionKeyFn key, const WindowAssignerResult& assigner)
      : windowed_(unionOf(first, second).keyBy(std::move(key)).window(assigner)) {}

  JoinedWindows& trigger(TriggerPtr trigger) { return windowed_.trigger(std::move(trigger)), *this; }
  JoinedWindows& evictor(EvictorPtr<Union> evictor) { return windowed_.evictor(std::move(evictor)), *this; }
  JoinedWindows& allowedLateness(Millis lateness) { return windowed_.allowedLateness(lateness), *this; }
  JoinedWindows& sideOutputLateData(const OutputTag<Union>& tag) { return windowed_.sideOutputLateData(tag), *this; }

  /// join: f(const T1&, const T2&) -> Out, or f(const T1&, const T2&, Collector<Out>&), for each pair, in the order of the first stream.
  /// coGroup: f(std::span<const T1>, std::span<const T2>, Collector<Out>&), also where one side is empty.
  template <class Out, class F>
  DataStream<Out> apply(F f) {
    if constexpr (pairs) {
      using Join = JoinFunction<T1, T2, F>;
      return windowed_.template process<Out>(CoGroupFunction<T1, T2, Join>{Join{std::move(f)}});
    } else {
      return windowed_.template process<Out>(CoGroupFunction<T1, T2, F>{std::move(f)});
    }
  }

 private:
  static DataStream<Union> unionOf(DataStream<T1> first, DataStream<T2> second) {
    auto ones = first.map([](const T1& one) { return Union::ofOne(one); }).setParallelism(first.getParallelism());
    auto twos = second.map([](const T2& two) { return Union::ofTwo(two); }).setParallelism(second.getParallelism());
    return ones.unionWith(twos);
  }
  WindowedStream<Union, UnionKeyFn> windowed_;
};

template <class T1, class T2, bool pairs>
class JoinedStreams {
 public:
  JoinedStreams(DataStream<T1> first, DataStream<T2> second) : first_(std::move(first)), second_(std::move(second)) {}

  template <class KeyFn1>
  struct Where {
    DataStream<T1> first;
    DataStream<T2> second;
    KeyFn1 keyFn1;
    template <class KeyFn2>
    struct EqualTo {
      DataStream<T1> first;
      DataStream<T2> second;
      UnionKey<T1, T2, KeyFn1, KeyFn2> key;
      JoinedWindows<T1, T2, KeyFn1, KeyFn2, pairs> window(const WindowAssignerResult& assigner) const {
        return {first, second, key, assigner};
      }
    };
    template <class KeyFn2>
    EqualTo<KeyFn2> equalTo(KeyFn2 keyFn2) const {
      return {first, second, {keyFn1, std::move(keyFn2)}};
    }
  };
  template <class KeyFn1>
  Where<KeyFn1> where(KeyFn1 keyFn1) const {
    return {first_, second_, std::move(keyFn1)};
  }

 private:
  DataStream<T1> first_;
  DataStream<T2> second_;
};

template <class T>
template <class T2>
JoinedStreams<T, T2, true> DataStream<T>::join(const DataStream<T2>& other) const {
  return {*this, other};
}
template <class T>
template <class T2>
JoinedStreams<T, T2, false> DataStream<T>::coGroup(const DataStream<T2>& other) const {
  return {*this, other};
}

/// Pairs of two keyed streams whose timestamps are near each other. Flink: KeyedStream.IntervalJoined.
template <class T1, class KeyFn1, class T2, class KeyFn2>
class IntervalJoined {
 public:
  IntervalJoined(KeyedStream<T1, KeyFn1> left, KeyedStream<T2, KeyFn2> right) : left_(std::move(left)), right_(std::move(right)) {}

  /// left + lower <= right <= left + upper
  IntervalJoined& between(Millis lower, Millis upper) { return lower_ = lower, upper_ = upper, *this; }
  IntervalJoined& lowerBoundExclusive() { return lowerInclusive_ = false, *this; }
  IntervalJoined& upperBoundExclusive() { return upperInclusive_ = false, *this; }
  IntervalJoined& sideOutputLeftLateData(const OutputTag<T1>& tag) { return lateLeft_ = tag.id, *this; }
  IntervalJoined& sideOutputRightLateData(const OutputTag<T2>& tag) { return lateRight_ = tag.id, *this; }

  /// f(const T1&, const T2&, IntervalJoinContext&, Collector<Out>&), or an object with processElement of that shape. The result has the
  /// later timestamp of both.
  template <class Out, class F>
  DataStream<Out> process(F f) {
    using K = KeyOf<T1, KeyFn1>;
    const auto& program = left_.stream().program();
    auto bounds = JoinInterval::between(lower_, upper_, lowerInclusive_, upperInclusive_);
    JoinInterval interval{0, 0};
    if (bounds.has_error())
      program->mistake(bounds.error());
    else
      interval = *bounds;
    interval.lateLeftTag = lateLeft_;
    interval.lateRightTag = lateRight_;
    auto factory = makeOperatorFactory(Batching::kOneByOne, [f, interval, k1 = left_.keyFn(), k2 = right_.keyFn()](OperatorSetup setup) {
      return std::make_unique<IntervalJoinOperator<T1, T2, Out, KeyFn1, KeyFn2, F>>(std::move(setup), k1, k2, interval, f,
                                                                                    heapKeyedStateBackend<K>());
    });
    const int32_t node = program->add("Interval Join", std::move(factory), &ElementTypeOf<T1>::instance());
    left_.stream().feed(node, 0);
    right_.stream().feed(node, 1);
    return DataStream<Out>(program, node);
  }

 private:
  KeyedStream<T1, KeyFn1> left_;
  KeyedStream<T2, KeyFn2> right_;
  Millis lower_{0}, upper_{0};
  bool lowerInclusive_ = true, upperInclusive_ = true;
  std::string lateLeft_, lateRight_;
};

template <class T, class KeyFn>
template <class T2, class KeyFn2>
IntervalJoined<T, KeyFn, T2, KeyFn2> KeyedStream<T, KeyFn>::intervalJoin(const KeyedStream<T2, KeyFn2>& other) const {
  return {*this, other};
}

}  // namespace weir
