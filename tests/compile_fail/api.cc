// What must not compile of a program, and what the compiler must say. See run.cmake.
#include "weir/aggregate/collections.h"
#include "weir/api/aggregated_stream.h"
#include "weir/api/stream_execution_environment.h"
#include "weir/api/two_stage_windows.h"

enum class Colour { kRed };
struct NoFields {
  int x = 0;
};
struct Order {
  std::string id;
  std::vector<int32_t> items;
  std::array<int32_t, 2> pair;
  Colour colour = Colour::kRed;
  WEIR_FIELDS(id, items)
};

weir::DataStream<Order> orders(weir::StreamExecutionEnvironment& env) {
  return env.fromCollection(std::vector<Order>());
}

weir::DataStream<double> prices(weir::StreamExecutionEnvironment& env) {
  return env.fromCollection(std::vector<double>());
}
struct SumOfTexts {};

void compiles() {
  weir::StreamExecutionEnvironment env;
  orders(env).keyBy(&Order::id);
  orders(env).map([](const Order& order) { return order.id; });
  prices(env).keyBy([](double) { return true; }).aggregate(weir::Sum<double>()).twoStage({.salts = 4});
  prices(env).keyBy([](double) { return true; }).aggregate(weir::ExponentialAverage());
}

// CASE KEY_LIST: Weir cannot key a stream by this type: use
// CASE KEY_ENUM: Weir cannot key a stream by this type: use
// CASE KEY_WITHOUT_SERIALIZER: Weir cannot key a stream by this type: use
// CASE STREAM_OF_POINTERS: Weir cannot serialize the elements of this stream: use
// CASE STREAM_WITHOUT_FIELDS: Weir cannot serialize the elements of this stream: use
// CASE TWO_STAGES_WITHOUT_MERGE: Weir cannot aggregate in two stages with this function: its accumulators cannot be merged
// CASE TWO_STAGES_OF_WINDOWS_WITHOUT_MERGE: Weir cannot aggregate in two stages with this function: its accumulators cannot be merged
// CASE AGGREGATE_OF_ANOTHER_TYPE: This aggregate function takes another type than the stream has: use on(
// CASE NO_AGGREGATE: Weir cannot aggregate with this type: an aggregate function has
void doesNot() {
  weir::StreamExecutionEnvironment env;
#if defined(KEY_LIST)
  orders(env).keyBy(&Order::items);
#elif defined(KEY_ENUM)
  orders(env).keyBy(&Order::colour);
#elif defined(KEY_WITHOUT_SERIALIZER)
  orders(env).keyBy([](const Order&) { return NoFields{}; });
#elif defined(STREAM_OF_POINTERS)
  orders(env).map([](const Order& order) { return order.id.c_str(); });
#elif defined(STREAM_WITHOUT_FIELDS)
  orders(env).map([](const Order&) { return NoFields{}; });
#elif defined(TWO_STAGES_WITHOUT_MERGE)
  prices(env).keyBy([](double) { return true; }).aggregate(weir::ExponentialAverage()).twoStage({});
#elif defined(TWO_STAGES_OF_WINDOWS_WITHOUT_MERGE)
  prices(env).windowAll(weir::TumblingEventTimeWindows::of(weir::Millis(1))).aggregate(weir::ExponentialAverage()).twoStage({});
#elif defined(AGGREGATE_OF_ANOTHER_TYPE)
  prices(env).keyBy([](double) { return true; }).aggregate(weir::Sum<int64_t>());
#elif defined(NO_AGGREGATE)
  prices(env).keyBy([](double) { return true; }).aggregate(SumOfTexts{});
#endif
}
