#pragma once

#include <string>
#include <utility>

#include "weir/api/aggregated_stream.h"
#include "weir/operators/naive_two_stage.h"

namespace weir {

/// The naive form of two stages, by name: keys as text `salt|key`, results of `first` aggregated by `second`, the salt cut off at the first
/// bar. `keyFn` returns text. See NaiveTwoStageOptions for what can be wrong with it; see AggregatedStream::twoStage for what is right.
template <class T, class KeyFn, AggregateFunction F, AggregateFunction G>
requires std::same_as<typename F::In, T> && std::same_as<typename G::In, typename F::Out>
DataStream<std::pair<std::string, typename G::Out>> naiveTwoStage(DataStream<T> stream, KeyFn keyFn, F first, G second,
                                                                  NaiveTwoStageOptions options = {}) {
  using Partial = std::pair<std::string, typename F::Out>;
  auto salted = stream.map(NaiveSalt<T, KeyFn>(std::move(keyFn), options.salts));
  DataStream<NaivelySalted<T>> spread = salted.keyBy(&NaivelySalted<T>::key).stream();
  auto partials =
      spread.template transform<Partial>("Naive Local Aggregate", Batching::kOneByOne, [first, options](OperatorSetup setup) {
        return std::make_unique<NaiveLocalAggregateOperator<T, F>>(std::move(setup), first, options);
      });
  const bool takesOut = options.takesSaltOutAgain;
  return partials
      .map([takesOut](const Partial& partial) {
        return Partial{takesOut ? unsaltedText(partial.first) : partial.first, partial.second};
      })
      .keyBy(&Partial::first)
      .aggregate(on(&Partial::second, std::move(second)));
}

}  // namespace weir
