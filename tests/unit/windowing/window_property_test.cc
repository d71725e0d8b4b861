// Random streams: the batched way gives what the general one gives, and a failure at any moment changes nothing.
#include <map>

#include "weir/base/random.h"
#include "weir/windowing/window_operator.h"
#include "window_fixture.h"

namespace weir {
namespace {

using namespace testing;

/// Something that an operator goes through.
struct Step {
  std::vector<StreamRecord<Event>> records;  ///< a batch, or
  int64_t watermark = kNoTimestamp;          ///< a watermark, or
  int64_t clock = -1;                        ///< the clock goes on
};

/// Batches of disordered records, some of them late, with watermarks and a clock that never go back.
std::vector<Step> randomSteps(uint64_t seed) {
  Random random(seed);
  std::vector<Step> steps;
  int64_t time = 0, watermark = -1000, clock = 0;
  for (int i = 0; i < 40; ++i) {
    Step step;
    if (random.below(4) == 0) {
      watermark += static_cast<int64_t>(random.below(300));
      step.watermark = watermark;
    } else if (random.below(5) == 0) {
      step.clock = clock += static_cast<int64_t>(random.below(200));
    } else {
      const uint64_t count = 1 + random.below(6);
      for (uint64_t n = 0; n < count; ++n) {
        time += static_cast<int64_t>(random.below(40));
        const auto late = static_cast<int64_t>(random.below(5) == 0 ? random.below(900) : random.below(60));
        step.records.push_back(at(time - late - 200, std::string(1, static_cast<char>('a' + random.below(4))), time));
      }
    }
    steps.push_back(std::move(step));
  }
  steps.push_back({{}, kMaxWatermark, -1});
  return steps;
}

template <class Harness>
void apply(Harness& op, const Step& step) {
  if (!step.records.empty()) op.add(step.records);
  else if (step.clock >= 0) op.clock(step.clock);
  else op.watermark(step.watermark);
}

/// What a run shows: results of each step as a set (those of one moment have no order), late records, the number of dropped ones.
struct Observed {
  std::vector<std::vector<std::string>> results;
  std::vector<std::string> late;
  int64_t dropped = 0;
  bool operator==(const Observed&) const = default;
};
/// How Google Test prints it.
void PrintTo(const Observed& observed, std::ostream* out) {
  for (size_t i = 0; i < observed.results.size(); ++i)
    for (const auto& text : observed.results[i]) *out << "step " << i << ": " << text << "\n";
  for (const auto& text : observed.late) *out << "late " << text << "\n";
  *out << observed.dropped << " dropped\n";
}
template <class Harness>
void observe(Harness& op, Observed& into) {
  auto results = op.take();
  std::sort(results.begin(), results.end());
  into.results.push_back(std::move(results));
  for (auto& text : op.late()) into.late.push_back(std::move(text));
}

template <class Contents>
Observed run(const std::vector<Step>& steps, const WindowSettings& settings) {
  OperatorMachine machine;
  WindowHarness<Contents> op(machine, settings);
  op.start();
  Observed all;
  for (const Step& step : steps) {
    apply(op, step);
    observe(op, all);
  }
  all.dropped = op.dropped();
  return all;
}

TEST(WindowProperty, TheBatchedWayGivesWhatTheGeneralOneGives) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto steps = randomSteps(seed);
    for (const auto& assigner : {tumbling(250, 30), sliding(300, 100), sliding(250, 100), sliding(50, 120)}) {
      for (int64_t lateness : {0, 200}) {
        WindowSettings batched = windows(assigner, nullptr, lateness);
        if (seed % 2) batched = lateToSide(batched);
        WindowSettings general = batched;
        general.trigger = EventTimeTrigger::create();  // the default, but asked for
        ASSERT_EQ(run<ListOfEvents>(steps, batched), run<ListOfEvents>(steps, general)) << (*assigner)->toString();
        ASSERT_EQ(run<SumOfEvents>(steps, batched), run<SumOfEvents>(steps, general)) << (*assigner)->toString();
      }
    }
  }
}

/// Kinds of windows with everything that they keep in state.
std::vector<WindowSettings> kinds() {
  return {windows(tumbling(250), nullptr, 100),
          windows(sliding(300, 100)),
          windows(sessions(60), nullptr, 50),
          windows(sessions(60), CountTrigger::of(2)),
          windows(tumbling(250), PurgingTrigger::of(CountTrigger::of(2))),
          windows(TumblingProcessingTimeWindows::of(Millis(150))),
          windows(ProcessingTimeSessionWindows::withGap(Millis(80))),
          windows(GlobalWindows::create(), ProcessingTimeoutTrigger::of(CountTrigger::of(4), Millis(60)))};
}

/// After a restore an operator has no watermark; the one that its input sends again comes first here, so that nothing is late in one run
/// and not in the other.
TEST(WindowProperty, AFailureAtAnyStepChangesNothing) {
  for (const WindowSettings& settings : kinds()) {
    SCOPED_TRACE(settings.toString("process"));
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const auto steps = randomSteps(seed);
      const Observed expected = run<ListOfEvents>(steps, settings);
      for (size_t failure = 0; failure < steps.size(); ++failure) {
        OperatorMachine machine;
        auto op = std::make_unique<WindowHarness<ListOfEvents>>(machine, settings);
        op->start();
        Observed all;
        int64_t watermark = kNoTimestamp, clock = 0;
        for (size_t i = 0; i < steps.size(); ++i) {
          if (i == failure) {
            const auto state = op->snapshot();
            all.dropped += op->dropped();
            op = std::make_unique<WindowHarness<ListOfEvents>>(machine, settings);
            op->restore(state);
            op->clock(clock);
            if (watermark != kNoTimestamp) op->watermark(watermark);
            op->take();
          }
          apply(*op, steps[i]);
          observe(*op, all);
          if (steps[i].watermark != kNoTimestamp) watermark = steps[i].watermark;
          if (steps[i].clock >= 0) clock = steps[i].clock;
        }
        all.dropped += op->dropped();
        ASSERT_EQ(all, expected) << "failure before step " << failure << ", seed " << seed;
      }
    }
  }
}

/// Subtasks of one operator, each with the keys of its key groups.
class Subtasks {
 public:
  Subtasks(OperatorMachine& machine, const WindowSettings& settings, int32_t parallelism) {
    for (int32_t i = 0; i < parallelism; ++i)
      all_.push_back(std::make_unique<WindowHarness<ListOfEvents>>(machine, settings, ListOfEvents(Show{}),
                                                                  HarnessOptions{.subtask = i, .parallelism = parallelism}));
  }
  void start() {
    for (auto& op : all_) op->start();
  }
  void restore(const std::vector<OperatorSubtaskState>& states) {
    for (size_t i = 0; i < all_.size(); ++i) all_[i]->restore(states[i]);
  }
  std::vector<OperatorSubtaskState> snapshot() {
    std::vector<OperatorSubtaskState> states;
    for (auto& op : all_) states.push_back(op->snapshot());
    return states;
  }
  void apply(const Step& step) {
    for (size_t i = 0; i < all_.size(); ++i) {
      Step mine = step;
      std::erase_if(mine.records, [&](const auto& record) {
        const int32_t group = assignToKeyGroup(record.value.first, 128);
        return operatorIndexForKeyGroup(group, static_cast<int32_t>(all_.size()), 128) != static_cast<int32_t>(i);
      });
      if (step.records.empty() || !mine.records.empty()) weir::apply(*all_[i], mine);
    }
  }
  std::vector<std::string> results() {
    std::vector<std::string> all;
    for (auto& op : all_)
      for (auto& text : op->results()) all.push_back(std::move(text));
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::vector<std::unique_ptr<WindowHarness<ListOfEvents>>> all_;
};

TEST(WindowProperty, ContentsAndTimersFollowTheirKeysToOtherSubtasks) {
  for (const WindowSettings& settings : kinds()) {
    SCOPED_TRACE(settings.toString("process"));
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const auto steps = randomSteps(seed);
      const auto expected = run<ListOfEvents>(steps, settings).results;
      OperatorMachine machine;
      auto op = std::make_unique<Subtasks>(machine, settings, 1);
      op->start();
      Random random(seed);
      int64_t watermark = kNoTimestamp, clock = 0;
      for (size_t i = 0; i < steps.size(); ++i) {
        if (i % 8 == 7) {
          const auto parallelism = static_cast<int32_t>(1 + random.below(4));
          const auto states = rescaled(op->snapshot(), parallelism);
          op = std::make_unique<Subtasks>(machine, settings, parallelism);
          op->restore(states);
          op->apply({{}, kNoTimestamp, clock});
          if (watermark != kNoTimestamp) op->apply({{}, watermark, -1});
          op->results();
        }
        op->apply(steps[i]);
        auto wanted = expected[i];
        std::erase_if(wanted, [](const std::string& text) { return text.starts_with("Watermark"); });
        ASSERT_EQ(op->results(), wanted) << "step " << i << ", seed " << seed;
        if (steps[i].watermark != kNoTimestamp) watermark = steps[i].watermark;
        if (steps[i].clock >= 0) clock = steps[i].clock;
      }
    }
  }
}

}  // namespace
}  // namespace weir
