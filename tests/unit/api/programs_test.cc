#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "support/job_runner.h"
#include "weir/operators/sinks.h"

namespace weir {
namespace {

/// Programs in every shape of the API, on the simulated executor: what comes out does not depend on the order in which tasks run.
class Programs : public testing::Test {
 protected:
  template <class T>
  struct Collected {
    std::mutex mutex;
    std::vector<T> values;
  };
  template <class T>
  std::shared_ptr<Collected<T>> collect(DataStream<T> stream) {
    auto into = std::make_shared<Collected<T>>();
    stream.addSink([into](const T& value) {
      std::lock_guard lock(into->mutex);
      into->values.push_back(value);
    });
    return into;
  }
  void run() {
    JobRunner runner(JobRunner::simulated(7));
    const JobResult result = runner.run(env);
    ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "");
  }
  template <class T>
  static std::vector<T> sorted(std::vector<T> values) {
    std::sort(values.begin(), values.end());
    return values;
  }
  std::string mistake() {
    const auto graph = env.getJobGraph("job");
    return graph.has_error() ? graph.error().message : "";
  }

  StreamExecutionEnvironment env;
};

using Pair = std::pair<int64_t, int64_t>;

TEST_F(Programs, FlatMapEmitsAnyNumberOfRecords) {
  auto out = collect(env.setParallelism(2).fromSequence(0, 3).flatMap<int64_t>([](int64_t x, Collector<int64_t>& c) {
    for (int64_t i = 0; i < x; ++i) c.collect(x);
  }));
  run();
  EXPECT_EQ(sorted(out->values), (std::vector<int64_t>{1, 2, 2, 3, 3, 3}));
}

TEST_F(Programs, AFilterKeepsWhatItsFunctionLikes) {
  auto out = collect(env.setParallelism(3).fromSequence(1, 10).filter([](int64_t x) { return x % 3 == 0; }).rebalance());
  run();
  EXPECT_EQ(sorted(out->values), (std::vector<int64_t>{3, 6, 9}));
}

TEST_F(Programs, AReductionTakesFlinksShapeToo) {
  auto out = collect(env.fromSequence(1, 6)
                         .map([](int64_t x) { return Pair(x % 2, x); })
                         .keyBy([](const Pair& p) { return p.first; })
                         .reduce([](const Pair& a, const Pair& b) { return Pair(a.first, a.second * b.second); }));
  run();
  EXPECT_EQ(sorted(out->values), (std::vector<Pair>{{0, 2}, {0, 8}, {0, 48}, {1, 1}, {1, 3}, {1, 15}}));
}

TEST_F(Programs, SumMinAndMaxRunPerKeyAndKeepTheRestOfTheFirstRecord) {
  auto keyed = env.fromCollection<Pair>({{1, 5}, {1, 2}, {1, 9}}).keyBy([](const Pair& p) { return p.first; });
  auto sums = collect(keyed.sum<1>());
  auto least = collect(keyed.min(&Pair::second));
  auto most = collect(keyed.max(&Pair::second));
  run();
  EXPECT_EQ(sums->values, (std::vector<Pair>{{1, 5}, {1, 7}, {1, 16}}));
  EXPECT_EQ(least->values, (std::vector<Pair>{{1, 5}, {1, 2}, {1, 2}}));
  EXPECT_EQ(most->values, (std::vector<Pair>{{1, 5}, {1, 5}, {1, 9}}));
}

TEST_F(Programs, AUnionReadsAllItsStreams) {
  auto low = env.fromSequence(1, 3), high = env.fromSequence(11, 12), higher = env.fromSequence(21, 21);
  auto out = collect(low.unionWith(high, higher).map([](int64_t x) { return x; }));
  run();
  EXPECT_EQ(sorted(out->values), (std::vector<int64_t>{1, 2, 3, 11, 12, 21}));
}

TEST_F(Programs, SideOutputsCarryTheirOwnType) {
  const OutputTag<std::string> odd{"odd"};
  auto main = env.setParallelism(2).fromSequence(1, 4).process<int64_t>([odd](int64_t x, ProcessContext& context, Collector<int64_t>& out) {
    if (x % 2 == 0)
      out.collect(x);
    else
      context.output(odd, std::to_string(x));
  });
  auto even = collect(main);
  auto sides = collect(main.getSideOutput(odd));
  run();
  EXPECT_EQ(sorted(even->values), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(sorted(sides->values), (std::vector<std::string>{"1", "3"}));
}

struct TwoSides {
  void processElement1(int64_t x, ProcessContext&, Collector<std::string>& out) { out.collect("n" + std::to_string(x)); }
  void processElement2(const std::string& s, ProcessContext&, Collector<std::string>& out) { out.collect("s" + s); }
};

TEST_F(Programs, ConnectedStreamsOfTwoTypesMeetInOneFunction) {
  auto numbers = env.fromSequence(1, 2);
  auto names = env.fromCollection<std::string>({"a"});
  auto out = collect(numbers.connect(names).process<std::string>(TwoSides{}));
  run();
  EXPECT_EQ(sorted(out->values), (std::vector<std::string>{"n1", "n2", "sa"}));
}

struct CountPerKey {
  ValueState<int64_t> count;
  void open(KeyedRuntimeContext<int64_t>& context) { count = context.state(ValueStateDescriptor<int64_t>{.name = "count"}); }
  void processElement(const Pair&, KeyedProcessContext<int64_t>& context, Collector<Pair>& out) {
    out.collect({context.currentKey(), ++count.slot()});
  }
};

TEST_F(Programs, KeyedFunctionsHaveStatePerKey) {
  auto out = collect(env.setParallelism(2)
                         .fromSequence(0, 5)
                         .map([](int64_t x) { return Pair(x % 2, x); })
                         .keyBy([](const Pair& p) { return p.first; })
                         .process<Pair>(CountPerKey{}));
  run();
  EXPECT_EQ(sorted(out->values), (std::vector<Pair>{{0, 1}, {0, 2}, {0, 3}, {1, 1}, {1, 2}, {1, 3}}));
}

TEST_F(Programs, BroadcastReachesEverySubtaskAndGlobalOnlyTheFirst) {
  auto numbers = env.setParallelism(3).fromSequence(1, 2);
  auto everywhere = collect(numbers.broadcast().map([](int64_t x) { return x; }));
  auto first = collect(numbers.global().map([](int64_t x) { return x; }));
  run();
  EXPECT_EQ(sorted(everywhere->values), (std::vector<int64_t>{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(sorted(first->values), (std::vector<int64_t>{1, 2}));
}

TEST_F(Programs, ACustomPartitionerThatLeavesItsRangeFailsTheJobWithASentence) {
  env.setParallelism(2);
  collect(env.fromSequence(1, 2).partitionCustom([](int64_t, int32_t) { return 9; }, [](int64_t x) { return x; }).map([](int64_t x) {
    return x;
  }));
  JobRunner runner(JobRunner::simulated(1));
  const JobResult result = runner.run(env);
  ASSERT_EQ(result.status, JobStatus::kFailed);
  EXPECT_NE(result.failure->trace().find("the partitioner chose channel 9 of 2: return 0 to 1"), std::string::npos)
      << result.failure->trace();
}

TEST_F(Programs, ADuplicateUidIsRefusedWithTheNameOfTheOperator) {
  env.fromSequence(1, 2).uid("same").map([](int64_t x) { return x; }).name("second").uid("same");
  EXPECT_EQ(mistake(), "The uid 'same' is used twice, the second time by operator 'second': every uid must be unique in a job");
}

TEST_F(Programs, AParallelismAboveTheMaxParallelismIsRefused) {
  env.fromSequence(1, 2).map([](int64_t x) { return x; }).name("wide").setParallelism(9).setMaxParallelism(8);
  EXPECT_EQ(mistake(),
            "Operator 'wide' has parallelism 9, above its max parallelism of 8: lower the parallelism or raise the max parallelism");
}

TEST_F(Programs, NumbersThatMakeNoSenseAreRefusedWithTheNameOfTheOperator) {
  const auto same = [](int64_t x) { return x; };
  const auto saidOf = [&](const std::function<void(StreamExecutionEnvironment&)>& program) {
    StreamExecutionEnvironment other;
    program(other);
    const auto graph = other.getJobGraph("job");
    return graph.has_error() ? graph.error().message : "";
  };
  EXPECT_EQ(saidOf([&](auto& e) { e.fromSequence(1, 2).map(same).name("m").setMaxParallelism(40'000); }),
            "Operator 'm' has max parallelism 40000: it must be 1 to 32768");
  EXPECT_EQ(saidOf([&](auto& e) { e.fromSequence(1, 2).map(same).name("m").setMaxParallelism(-3); }),
            "Operator 'm' has max parallelism -3: it must be 1 to 32768");
  EXPECT_EQ(saidOf([&](auto& e) { e.fromSequence(1, 2).map(same).name("m").setBufferTimeout(-5); }),
            "Operator 'm' has a buffer timeout of -5 ms: it must be 0 or more, or -1 for full buffers only");
  EXPECT_EQ(saidOf([&](auto& e) { e.fromSequence(1, 2).map(same).name("m").cost(Nanos(-1)); }),
            "Operator 'm' has a cost below 0 for each record");
  for (const double rate : {0.0, -1.0, std::nan("")})
    EXPECT_EQ(saidOf([&](auto& e) { e.fromGenerator(5, same, rate); }),
              "Source 'Generator' has a rate that is not above 0 records a second");
  EXPECT_EQ(saidOf([&](auto& e) { e.fromSequence(5, 1); }), "fromSequence(5, 1) is no range of 1 to 2^63 - 1 numbers");
  EXPECT_NE(saidOf([&](auto& e) { e.fromSequence(INT64_MIN, INT64_MAX); }), "");
}

// In Flink they would not compile: what such a call returns has no settings. Here they would have changed the operator in front.
TEST_F(Programs, SettingsBehindAWayToTheNextOperatorAreRefused) {
  const auto said = [](const std::function<void(DataStream<int64_t>)>& set) {
    StreamExecutionEnvironment other;
    auto source = other.fromSequence(1, 2).name("numbers").setParallelism(1);
    set(source);
    source.addSink([](int64_t) {});
    const auto graph = other.getJobGraph("job");
    if (graph.has_error()) return graph.error().message;
    return std::to_string((*graph)->vertices().front().parallelism);
  };
  EXPECT_EQ(said([](auto) {}), "1");
  for (const auto& misplaced : std::vector<std::function<void(DataStream<int64_t>)>>{
           [](auto stream) { stream.rebalance().setParallelism(3); }, [](auto stream) { stream.unionWith(stream).name("both"); },
           [](auto stream) { stream.getSideOutput(OutputTag<int64_t>("late")).uid("side"); },
           [](auto stream) { DataStream<int64_t>(stream.keyBy([](int64_t x) { return x; }).stream()).setMaxParallelism(3); }})
    EXPECT_NE(said(misplaced).find("behind 'numbers' they are given to a way to the next one"), std::string::npos) << said(misplaced);
}

TEST_F(Programs, KeysOfTheConfigurationHoldForWhatIsAddedAfterThem) {
  StreamExecutionEnvironment other;
  other.setParallelism(3).configure("execution.checkpointing.interval", "1 s");
  EXPECT_EQ(other.getParallelism(), 3) << "no key of parallelism";
  other.configure("parallelism.default", "2").configure("pipeline.max-parallelism", "64");
  other.configure("pipeline.operator-chaining", "false");
  other.fromSequence(1, 2).map([](int64_t x) { return x; });
  const auto graph = other.getJobGraph("job");
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  ASSERT_EQ((*graph)->vertices().size(), 2u) << "a former spelling counts, too";
  for (const JobVertex& vertex : (*graph)->vertices()) {
    EXPECT_EQ(vertex.parallelism, 2);
    EXPECT_EQ(vertex.maxParallelism, 64);
  }
  other.configure("parallelism.default", "0");
  EXPECT_TRUE(other.getJobGraph("job").has_error());
}

TEST_F(Programs, ForwardBetweenDifferentParallelismsIsRefused) {
  env.fromSequence(1, 2).forward().map([](int64_t x) { return x; }).setParallelism(2);
  EXPECT_NE(mistake().find("Forward partitioning does not allow change of parallelism."), std::string::npos);
}

TEST_F(Programs, AProgramWithoutOperatorsIsRefused) {
  EXPECT_EQ(mistake(), "The job has no operators: add a source and a sink before it is executed");
}

TEST_F(Programs, OperatorsAreChainedAsFlinkChainsThem) {
  auto source = env.setParallelism(2).fromSequence(1, 2);
  source.map([](int64_t x) { return x; }).addSink([](int64_t) {});
  source.map([](int64_t x) { return x; }).startNewChain().keyBy([](int64_t x) { return x; }).reduce([](int64_t a, int64_t b) {
    return a + b;
  });
  const auto graph = env.getJobGraph("job");
  std::vector<std::string> names;
  for (const JobVertex& vertex : (*graph)->vertices()) names.push_back(vertex.name);
  EXPECT_EQ(names, (std::vector<std::string>{"Source: Sequence Source -> Map -> Sink: Unnamed", "Map", "Keyed Reduce"}));
}

TEST_F(Programs, UidsFixTheIdsOfOperatorsWhateverStandsAroundThem) {
  auto idOf = [](bool more) {
    StreamExecutionEnvironment program;
    auto numbers = program.fromSequence(1, 2);
    if (more) numbers.map([](int64_t x) { return x; }).addSink([](int64_t) {});
    numbers.map([](int64_t x) { return x; }).uid("kept").disableChaining().addSink([](int64_t) {});
    const auto graph = program.getJobGraph("job");
    for (const JobVertex& vertex : (*graph)->vertices())
      for (const ChainedOperator& op : vertex.operators)
        if (op.uid == "kept") return op.id.toString();
    return std::string();
  };
  EXPECT_EQ(idOf(false), idOf(true));
  EXPECT_EQ(idOf(true).size(), 32u);
}

}  // namespace
}  // namespace weir
