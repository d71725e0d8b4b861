#pragma once

#include <string>
#include <vector>

#include "weir/api/data_stream.h"
#include "weir/scenario/aggregates.h"
#include "weir/scenario/scenario_file.h"

namespace weir {

// The keyed operators of job files, apart from their builder because they are heavy to compile. They are named after their stream; what
// stands beside it has a suffix.

/// What an aggregation does, whatever its form. Its results are rows of the key's columns, the window's start and end where windows have
/// times, and the aggregates.
struct Aggregation {
  std::vector<size_t> key;
  RowAggregate aggregate;
  std::optional<WindowSpec> window;
  int32_t randomSalts = 0;  ///< the key selector itself draws a salt: a mistake, for teaching
};

/// Whether the rows of results have the bounds of a window.
inline bool hasWindowBounds(const std::optional<WindowSpec>& window) { return window && window->kind != WindowSpec::Kind::kCount; }

/// Late records go to the side output of that name where the window names one.
DataStream<Row> aggregateInOneStage(const DataStream<Row>& input, const Aggregation& aggregation, const NodeSpec& node,
                                    const std::string& suffix = "");

/// Salts, stage one and stage two (`-salt`, the stream's name, `-global`). Stage one ships accumulators with their windows, before the
/// watermark that ends them; it has no state, since it ships everything before a barrier. `late` becomes the stream of late records.
DataStream<Row> aggregateInTwoStages(const DataStream<Row>& input, const Aggregation& aggregation, const NodeSpec& node,
                                     int32_t inputParallelism, const std::vector<RowKey>& hotKeys, std::optional<DataStream<Row>>& late);

/// Puts a salt behind the columns of each row, in turn, from a counter that is not in the state.
DataStream<Row> saltInTurn(const DataStream<Row>& input, int32_t salts, const NodeSpec& node, int32_t inputParallelism);

/// Rows of both sides with the same key in the same window, or near each other in time: the columns of the left, then of the right one.
DataStream<Row> joinInWindows(const DataStream<Row>& left, const DataStream<Row>& right, const std::vector<size_t>& leftKey,
                              const std::vector<size_t>& rightKey, const NodeSpec& node);
DataStream<Row> joinByTime(const DataStream<Row>& left, const DataStream<Row>& right, const std::vector<size_t>& leftKey,
                           const std::vector<size_t>& rightKey, const NodeSpec& node);

/// Watermarks behind the timestamps that the source has given its rows.
DataStream<Row> withWatermarks(const DataStream<Row>& input, const SourceSpec& spec, const NodeSpec& node, bool everyRecord);

}  // namespace weir
