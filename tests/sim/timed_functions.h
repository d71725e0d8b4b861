#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/event_time.h"
#include "sim/functions.h"
#include "weir/operators/source.h"
#include "weir/windowing/window_context.h"

// What the operators of simulated jobs do with time, and what they watch meanwhile.
namespace weir::sim {

/// Reads the splits of a subtask in the order of event time, so that after a rescale too no split brings another one's watermark forward
/// past its own records.
class TimedReader {
 public:
  using Element = Rec;
  TimedReader(int32_t node, int64_t records, int32_t splits) : node_(node), records_(records), splitCount_(splits) {}
  int32_t numberOfSplits(int32_t) const { return splitCount_; }
  void open(SourceReaderContext, std::vector<SourceSplit>& splits) { splits_ = &splits; }
  size_t poll(std::span<StreamRecord<Rec>> into, bool& end) {
    size_t read = 0;
    SourceSplit* next = nextSplit();
    for (; next && read < into.size(); next = nextSplit()) {
      into[read].value = sourceRecord(node_, indexOf(*next), next->splits);
      into[read].hasTimestamp = false;
      ++next->position, ++read;
    }
    end = next == nullptr;
    return read;
  }

 private:
  static int64_t indexOf(const SourceSplit& split) { return split.id + split.position * split.splits; }
  SourceSplit* nextSplit() const {
    SourceSplit* first = nullptr;
    for (SourceSplit& split : *splits_)
      if (indexOf(split) < records_ && (!first || indexOf(split) < indexOf(*first))) first = &split;
    return first;
  }

  int32_t node_;
  int64_t records_;
  int32_t splitCount_;
  std::vector<SourceSplit>* splits_ = nullptr;
};

/// How event time goes on at one operator of one attempt.
class TimeWatch {
 public:
  /// Behind a source there is nothing that could be late yet; elsewhere the oracle says it.
  void open(const Scenario& scenario, int32_t node) { mayBeLate_ = mayBeLateInto(scenario, node); }
  /// What is wrong with it; empty: nothing.
  std::string advance(int64_t watermark) {
    const int64_t before = std::exchange(watermark_, watermark);
    return watermark < before ? fmt::format("the watermark went back from {} to {}", before, watermark) : "";
  }
  std::string look(const Rec& rec, bool hasTimestamp, int64_t timestamp, int64_t watermark) {
    if (std::string wrong = advance(watermark); !wrong.empty()) return wrong;
    if (!hasTimestamp) return "no timestamp: " + rec.text();
    if (watermark == kMaxWatermark) return "a record behind the end of event time: " + rec.text();
    if (!mayBeLate_ && timestamp <= watermark) return fmt::format("late at {} behind {}: {}", timestamp, watermark, rec.text());
    return "";
  }
  int64_t watermark() const { return watermark_; }

 private:
  bool mayBeLate_ = false;
  int64_t watermark_ = kNoTimestamp;
};

/// Keyed, numbers what it emits, and knows about time.
class TimedPart : public KeyedPart {
 public:
  using KeyedPart::KeyedPart;
  void open(KeyedRuntimeContext<int32_t>& runtime) {
    Part::open(runtime);
    tally_ = runtime.state(ValueStateDescriptor<Tally>{.name = "tally"});
    watch_.open(journal_->scenario, node_);
    knowsTimes_ = knowsTimesInto(journal_->scenario, node_);
  }

 protected:
  using Held = MapState<int64_t, std::vector<Rec>>;

  const Timing& timing() const { return journal_->scenario.nodes[static_cast<size_t>(node_)].timing; }
  void complainIf(const std::string& wrong) {
    if (!wrong.empty()) complain(wrong);
  }
  void lookAt(const Rec& rec, KeyedProcessContext<int32_t>& context) {
    look(rec);
    complainIf(watch_.look(rec, context.hasTimestamp(), context.timestamp(), context.timerService().currentWatermark()));
  }
  void emit(std::vector<Rec> records, Collector<Rec>& out) {
    for (Rec& rec : records) {
      Tally& tally = tally_.slot();
      ++tally.first;
      tally.second += rec.value;
      out.collect(numbered(std::move(rec), tally));
    }
  }
  /// Takes what was held until `time`. Each timer has something: none fires twice, and none that was deleted.
  std::vector<Rec> release(Held& held, int64_t time) {
    const std::vector<Rec>* found = held.get(time);
    if (!found) {
      complain(fmt::format("a timer of {} that has fired before, or was deleted", time));
      return {};
    }
    std::vector<Rec> records = *found;
    held.remove(time);
    return records;
  }
  void noteTimer(const char* kind, int64_t time, size_t records) {
    journal_->pass(Spot::kTimer);
    if (journal_->note)
      journal_->note(fmt::format("node {} subtask {}: {} timer of {} at watermark {}, {} records", node_, subtask_, kind, time,
                                 watch_.watermark(), records));
  }

  ValueState<Tally> tally_;
  TimeWatch watch_;
  bool knowsTimes_ = true;
};

/// Keeps each record until event time has come so far. Every timer is set once per record, and a second one, a millisecond later, that must
/// be gone by then.
struct HoldFunction : TimedPart {
  using TimedPart::TimedPart;
  void open(KeyedRuntimeContext<int32_t>& runtime) {
    TimedPart::open(runtime);
    held_ = runtime.state(MapStateDescriptor<int64_t, std::vector<Rec>>{.name = "held"});
  }
  void processElement(const Rec& rec, KeyedProcessContext<int32_t>& context, Collector<Rec>&) { hold(rec, 0, context); }
  void processElement1(const Rec& rec, KeyedProcessContext<int32_t>& context, Collector<Rec>&) { hold(rec, 1, context); }
  void processElement2(const Rec& rec, KeyedProcessContext<int32_t>& context, Collector<Rec>&) { hold(rec, 2, context); }
  void onTimer(int64_t time, OnTimerContext<int32_t>& context, Collector<Rec>& out) {
    const int64_t watermark = context.timerService().currentWatermark();
    complainIf(watch_.advance(watermark));
    if (time > watermark) complain(fmt::format("a timer of {} fires at watermark {}", time, watermark));
    std::vector<Rec> records = release(held_, time);
    noteTimer("event-time", time, records.size());
    context.timerService().deleteEventTimeTimer(time + 1);
    emit(std::move(records), out);
  }

 private:
  void hold(const Rec& rec, int64_t variant, KeyedProcessContext<int32_t>& context) {
    lookAt(rec, context);
    const int64_t until = heldUntil(timing(), knowsTimes_ ? context.timestamp() : eventTime(journal_->scenario, rec));
    held_.slot(until).push_back(heldBack(rec, node_, variant, until));
    context.timerService().registerEventTimeTimer(until);
    context.timerService().registerEventTimeTimer(until + 1);
  }
  Held held_;
};

/// Keeps each record for some time of the clock, and at most until the end of event time. Timers at even times have records, those at odd
/// ones must be gone by then.
struct DelayFunction : TimedPart {
  using TimedPart::TimedPart;
  void open(KeyedRuntimeContext<int32_t>& runtime) {
    TimedPart::open(runtime);
    held_ = runtime.state(MapStateDescriptor<int64_t, std::vector<Rec>>{.name = "held"});
  }
  void processElement(const Rec& rec, KeyedProcessContext<int32_t>& context, Collector<Rec>&) {
    lookAt(rec, context);
    const int64_t until = roundedDown(context.timerService().currentProcessingTime() + timing().delayMs, 2) + 2;
    held_.slot(until).push_back(marked(rec, node_));
    context.timerService().registerProcessingTimeTimer(until + 1);
    context.timerService().registerProcessingTimeTimer(until);
    context.timerService().registerEventTimeTimer(kMaxWatermark);
  }
  void onTimer(int64_t time, OnTimerContext<int32_t>& context, Collector<Rec>& out) {
    if (context.timeDomain() == TimeDomain::kEventTime) return releaseAll(context, out);
    const int64_t now = context.timerService().currentProcessingTime();
    if (time > now) complain(fmt::format("a timer of {} fires at {}", time, now));
    std::vector<Rec> records = release(held_, time);
    noteTimer("processing-time", time, records.size());
    context.timerService().deleteProcessingTimeTimer(time + 1);
    emit(std::move(records), out);
  }

 private:
  /// No timer of the clock fires any more when the input has ended.
  void releaseAll(OnTimerContext<int32_t>& context, Collector<Rec>& out) {
    if (context.timerService().currentWatermark() != kMaxWatermark) complain("the timer of the end of event time fires before it");
    while (!held_.entries().empty()) {
      const int64_t time = held_.entries().begin()->first;
      context.timerService().deleteProcessingTimeTimer(time);
      context.timerService().deleteProcessingTimeTimer(time + 1);
      emit(release(held_, time), out);
    }
  }
  Held held_;
};

/// Emits what a window holds.
struct WindowFunction : TimedPart {
  using TimedPart::TimedPart;
  void process(int32_t, ProcessWindowContext<int32_t>& context, std::span<const Rec> records, Collector<Rec>& out) {
    const TimeWindow window = context.window();
    complainIf(watch_.advance(context.currentWatermark()));
    if (window.maxTimestamp() > context.currentWatermark())
      complain(fmt::format("the window until {} fires at watermark {}", window.end, context.currentWatermark()));
    noteTimer("window", window.maxTimestamp(), records.size());
    std::vector<Rec> results;
    for (const Rec& rec : records) {
      look(rec);
      const bool isExact = knowsTimes_ && timing().window != WindowKind::kSession;
      results.push_back(isExact ? heldBack(rec, node_, 0, window.start) : marked(rec, node_));
    }
    emit(std::move(results), out);
  }
};

/// Looks at all that goes through: watermarks rise, and nothing comes behind one that has passed it.
class WatchOperator final : public OneInputOperator<Rec> {
 public:
  WatchOperator(OperatorSetup setup, std::shared_ptr<Journal> journal, int32_t node)
      : OneInputOperator<Rec>(std::move(setup)), journal_(std::move(journal)), node_(node) {
    watch_.open(journal_->scenario, node_);
  }

 protected:
  void process(std::span<StreamRecord<Rec>> records) override {
    for (auto& record : records) {
      complainIf(watch_.look(record.value, record.hasTimestamp, record.timestamp, watch_.watermark()));
      record.value = marked(record.value, node_);
    }
    output<Rec>().collect(records);
  }
  void processWatermark(int64_t timestamp) override {
    if (timestamp == watch_.watermark()) complainIf(fmt::format("the watermark {} comes twice", timestamp));
    complainIf(watch_.advance(timestamp));
    if (journal_->note) journal_->note(fmt::format("node {} subtask {}: watermark {}", node_, environment().subtask(), timestamp));
    OneInputOperator<Rec>::processWatermark(timestamp);
  }
  void processWatermarkStatus(WatermarkStatus status) override {
    if (status.idle == idle_) complainIf(fmt::format("told twice that it is {}", idle_ ? "idle" : "active"));
    idle_ = status.idle;
    OneInputOperator<Rec>::processWatermarkStatus(status);
  }

 private:
  void complainIf(const std::string& wrong) {
    if (!wrong.empty()) journal_->complain(fmt::format("node {} subtask {}: {}", node_, environment().subtask(), wrong));
  }
  const std::shared_ptr<Journal> journal_;
  const int32_t node_;
  TimeWatch watch_;
  bool idle_ = false;
};

}  // namespace weir::sim
