#pragma once

#include <memory>
#include <string>
#include <utility>

#include "weir/api/aggregated_stream.h"
#include "weir/api/windowed_stream.h"
#include "weir/windowing/two_stage_windows.h"

namespace weir {

/// A windowed aggregation in two stages: event-time windows of a fixed size with their default trigger, allowed lateness and a side output
/// of late records as in one stage. `keyed`: the stream partitioned by `keyFn`, or any other. `function` is a window function as with
/// WindowedStream.aggregate, PassThrough for the results alone. `global`: the settings of the whole. Mistakes come out of getJobGraph().
template <class T, class KeyFn, MergeableAggregate F, class Function = PassThrough, class O = typename F::Out>
TwoStageStream<O> aggregateWindowsInTwoStages(const DataStream<T>& keyed, KeyFn keyFn, const WindowSettings& settings, F f,
                                              const TwoStageOptions<KeyOf<T, KeyFn>>& options, StreamNode global, Function function = {},
                                              bool evicts = false) {
  using K = KeyOf<T, KeyFn>;
  using Part = WindowPart<K, typename F::Acc>;
  const auto& program = keyed.program();
  if (auto mistake = options.mistake(); !mistake.empty()) program->graph.mistake("twoStage() of windows has " + mistake);
  if (auto why = whyNotInTwoStages(settings, evicts); !why.empty()) program->graph.mistake("twoStage(): " + why);

  const auto local = detail::stageOne(keyed, keyFn, options, global, [&]<class In>(DataStream<In> from) {
    return from.template transform<Part>(
        "Local Window", Batching::kBatches, [keyFn, f, settings, flush = options.flush](OperatorSetup setup) {
          return std::make_unique<LocalWindowAggregateOperator<In, T, KeyFn, F>>(std::move(setup), keyFn, f, settings, flush);
        });
  });
  WindowSettings merging;
  merging.assigner = std::make_shared<WindowsOfParts<Part>>();
  merging.allowedLateness = settings.allowedLateness;
  using Contents = AggregateContents<MergeOfParts<K, F>, Function, O>;
  if (global.name.empty()) global.name = "Global Window";
  global.inputType = &ElementTypeOf<Part>::instance();
  global.factory = makeOperatorFactory(Batching::kOneByOne,
                                       [merging, contents = Contents(MergeOfParts<K, F>{f}, std::move(function))](OperatorSetup setup) {
                                         return std::make_unique<WindowOperator<WindowPartKey, Contents>>(
                                             std::move(setup), WindowPartKey(), merging, contents, heapKeyedStateBackend<K>());
                                       });
  const int32_t node = program->graph.addNode(std::move(global));
  local.partitioned(std::make_shared<KeyedEdge<Part, WindowPartKey>>(WindowPartKey())).feed(node, 0);
  return TwoStageStream<O>(DataStream<O>(program, node), local.origins().front().node, options.salts == 0);
}

template <class T, class KeyFn, class A, class F, class Out>
TwoStageStream<Out> AggregatedWindows<T, KeyFn, A, F, Out>::twoStage(TwoStageOptions<KeyOf<T, KeyFn>> options) {
  static_assert(MergeableAggregate<A>,
                "Weir cannot aggregate in two stages with this function: its accumulators cannot be merged (kTraits.mergeable is false, or "
                "there is no merge(Acc&, const Acc&)); aggregate in one stage, or find a form that keeps what a merge needs");
  StreamNode global = this->program_->graph.takeBackLast(this->node_);
  const bool ofAll = global.maxParallelism == 1;  // windowAll: stage one is as parallel as the program
  auto result = aggregateWindowsInTwoStages<T, KeyFn, A, F, Out>(keyed_, keyFn_, settings_, aggregate_, options, std::move(global),
                                                                 function_, evicts_);
  if (ofAll) result.setLocalParallelism(this->program_->parallelism);
  return result;
}

}  // namespace weir
