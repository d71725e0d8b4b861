#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "weir/operators/functions.h"
#include "weir/time/watermark_alignment.h"

namespace weir {

/// What a watermark generator speaks through. Watermarks that do not advance are dropped; one that does makes the stream active.
/// Flink: WatermarkOutput, WatermarkEmitter.
class WatermarkOutput {
 public:
  void emitWatermark(int64_t timestamp) {
    if (timestamp <= current_) return;
    current_ = timestamp;
    markActive();
    said_.emplace_back(Watermark{timestamp});
  }
  void markIdle() { say(true); }
  void markActive() { say(false); }

  /// Long.MIN_VALUE before the first one.
  int64_t current() const { return current_; }
  bool isIdle() const { return idle_; }
  /// What was said and not taken yet, in order.
  std::vector<ControlElement>& said() { return said_; }

 private:
  void say(bool idle) {
    if (idle_ == idle) return;
    idle_ = idle;
    said_.emplace_back(WatermarkStatus{idle});
  }
  int64_t current_ = kNoTimestamp;
  bool idle_ = false;
  std::vector<ControlElement> said_;
};

/// Turns timestamps into watermarks. `onEvent` is called with every record, `onPeriodicEmit` every pipeline.auto-watermark-interval; either
/// may emit. A prototype is copied for each attempt. Flink: WatermarkGenerator.
template <class G, class T>
concept WatermarkGenerator = requires(G g, const T& event, WatermarkOutput& output) {
  g.onEvent(event, int64_t{0}, output);
  g.onPeriodicEmit(output);
};

/// Records come at most `bound` later than ones with a higher timestamp: the watermark is the highest one less the bound, and one more.
/// Flink: BoundedOutOfOrdernessWatermarks; with 0 AscendingTimestampsWatermarks.
class BoundedOutOfOrdernessWatermarks {
 public:
  static constexpr bool kBuiltIn = true;
  explicit BoundedOutOfOrdernessWatermarks(Millis bound) : bound_(bound.count()), highest_(kNoTimestamp + bound_ + 1) {
    if (bound_ < 0) throw Throwable("java.lang.IllegalArgumentException", "The bound of out-of-orderness is negative; give 0 ms or more");
  }
  template <class T>
  void onEvent(const T&, int64_t timestamp, WatermarkOutput&) {
    highest_ = std::max(highest_, timestamp);
  }
  void onPeriodicEmit(WatermarkOutput& output) { output.emitWatermark(highest_ - bound_ - 1); }

 private:
  int64_t bound_, highest_;
};

/// The same with a watermark behind every record that brings event time forward.
class PerRecordWatermarks {
 public:
  static constexpr bool kBuiltIn = true;
  explicit PerRecordWatermarks(Millis bound) : inner_(bound) {}
  template <class T>
  void onEvent(const T& event, int64_t timestamp, WatermarkOutput& output) {
    inner_.onEvent(event, timestamp, output);
    inner_.onPeriodicEmit(output);
  }
  void onPeriodicEmit(WatermarkOutput&) {}

 private:
  BoundedOutOfOrdernessWatermarks inner_;
};

/// Flink: NoWatermarksGenerator.
struct NoWatermarks {
  static constexpr bool kBuiltIn = true;
  template <class T>
  void onEvent(const T&, int64_t, WatermarkOutput&) {}
  void onPeriodicEmit(WatermarkOutput&) {}
};

/// The timestamp that a record has already; Long.MIN_VALUE where it has none. Flink: RecordTimestampAssigner.
struct RecordTimestampAssigner {
  template <class T>
  int64_t operator()(const T&, int64_t recordTimestamp) const {
    return recordTimestamp;
  }
};

/// How a stream gets its timestamps and watermarks: a generator, an assigner, and when silence counts as idleness. A value.
/// Flink: WatermarkStrategy.
template <class Generator, class Assigner>
struct WatermarkStrategyOf {
  Generator generator;
  Assigner assigner;
  std::optional<Millis> idleness{};
  std::optional<WatermarkAlignmentParams> alignment{};

  /// f(const T&) -> epoch milliseconds, or f(const T&, the timestamp it has).
  template <class F>
  WatermarkStrategyOf<Generator, F> withTimestampAssigner(F f) const {
    return {generator, std::move(f), idleness, alignment};
  }
  /// A subtask without records for longer than this is idle: it does not hold back the others.
  WatermarkStrategyOf withIdleness(Millis timeout) const {
    if (timeout <= Millis::zero()) throw Throwable("java.lang.IllegalArgumentException", "An idle timeout must be above 0 ms");
    return {generator, assigner, timeout, alignment};
  }
  /// Sources of one group keep together: one that is more than `maxDrift` ahead of the slowest waits. Right behind a source, chained to it.
  WatermarkStrategyOf withWatermarkAlignment(std::string group, Millis maxDrift, Millis updateInterval = Millis(1000)) const {
    if (maxDrift <= Millis::zero() || updateInterval <= Millis::zero())
      throw Throwable("java.lang.IllegalArgumentException",
                      "The drift and the update interval of a watermark alignment must be above 0 ms");
    return {generator, assigner, idleness, WatermarkAlignmentParams{std::move(group), maxDrift, updateInterval}};
  }
};
/// Where one begins.
struct WatermarkStrategy {
  static WatermarkStrategyOf<BoundedOutOfOrdernessWatermarks, RecordTimestampAssigner> forMonotonousTimestamps() {
    return forBoundedOutOfOrderness(Millis(0));
  }
  static WatermarkStrategyOf<BoundedOutOfOrdernessWatermarks, RecordTimestampAssigner> forBoundedOutOfOrderness(Millis bound) {
    return {BoundedOutOfOrdernessWatermarks(bound), {}};
  }
  /// A watermark behind every record that brings event time forward. Weir's own; in Flink a generator of the user's.
  static WatermarkStrategyOf<PerRecordWatermarks, RecordTimestampAssigner> forEveryRecord(Millis bound) {
    return {PerRecordWatermarks(bound), {}};
  }
  static WatermarkStrategyOf<NoWatermarks, RecordTimestampAssigner> noWatermarks() { return {{}, {}}; }
  template <class G>
  static WatermarkStrategyOf<G, RecordTimestampAssigner> forGenerator(G generator) {
    return {std::move(generator), {}};
  }
};

/// Says whether records have failed to come for too long. The clock starts at the first look that finds no new record, and stands still
/// while consumers hold the task up, so that back pressure is not taken for silence. Flink: WatermarksWithIdleness.
class IdlenessTimer {
 public:
  explicit IdlenessTimer(Millis timeout) : timeout_(timeout) {}
  void activity(size_t records) { records_ += records; }
  bool checkIfIdle(Nanos activeTime) {
    if (records_ != seen_) {
      seen_ = records_;
      since_.reset();
      return false;
    }
    if (!since_) {
      since_ = activeTime;
      return false;
    }
    return activeTime - *since_ > timeout_;
  }

 private:
  const Nanos timeout_;
  uint64_t records_ = 0, seen_ = 0;
  std::optional<Nanos> since_;
};

/// Gives each record its timestamp and the stream its watermarks; those that come from upstream end here, but for MAX.
/// Flink: TimestampsAndWatermarksOperator.
template <class T, class Generator, class Assigner>
class TimestampsAndWatermarksOperator final : public OneInputOperator<T> {
 public:
  static_assert(WatermarkGenerator<Generator, T>, "A watermark generator has onEvent(const T&, int64_t, WatermarkOutput&) and "
                                                  "onPeriodicEmit(WatermarkOutput&)");
  TimestampsAndWatermarksOperator(OperatorSetup setup, WatermarkStrategyOf<Generator, Assigner> strategy)
      : OneInputOperator<T>(std::move(setup)),
        generator_(std::move(strategy.generator)),
        assigner_(std::move(strategy.assigner)),
        alignment_(std::move(strategy.alignment)) {
    if (strategy.idleness) idleness_.emplace(*strategy.idleness);
  }

  void open() override {
    if (this->environment().settings.autoWatermarkInterval > Millis::zero()) scheduleTick();
    if (!alignment_) return;
    if (!this->environment().alignment)
      throw Throwable("java.lang.IllegalStateException",
                      "Watermark alignment holds back a source: assign timestamps and watermarks right behind one, chained to it");
    scheduleReport();
  }

 protected:
  void process(std::span<StreamRecord<T>> records) override {
    if (idleness_) idleness_->activity(records.size());
    size_t emitted = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      StreamRecord<T>& record = records[i];
      record.timestamp = timestampOf(std::as_const(record));
      record.hasTimestamp = true;
      generator_.onEvent(std::as_const(record.value), record.timestamp, said_);
      if (said_.said().empty()) [[likely]]
        continue;
      emit(records.subspan(emitted, i + 1 - emitted));
      emitted = i + 1;
      emitSaid();
    }
    if (emitted < records.size()) emit(records.subspan(emitted));
  }
  void processWatermark(int64_t timestamp) override {
    if (timestamp != kMaxWatermark) return;
    said_.emitWatermark(timestamp);
    emitSaid();
    if (alignment_) report();  // nobody waits for it any more
  }
  void processWatermarkStatus(WatermarkStatus) override {}

 private:
  int64_t timestampOf(const StreamRecord<T>& record) {
    const int64_t has = record.hasTimestamp ? record.timestamp : kNoTimestamp;
    if constexpr (std::is_invocable_v<Assigner&, const T&, int64_t>)
      return std::invoke(assigner_, record.value, has);
    else
      return std::invoke(assigner_, record.value);
  }
  void emit(std::span<StreamRecord<T>> records) {
    OperatorMetrics::add(this->metrics().numRecordsOut, records.size());
    this->template output<T>().collect(records);
  }
  void emitSaid() {
    for (const ControlElement& element : said_.said()) this->emitControl(element);
    said_.said().clear();
    if (alignment_) this->environment().alignment->advanceTo(said_.current());
  }
  void scheduleReport() {
    ProcessingTimeService& time = this->processingTime();
    time.registerTimer(time.currentProcessingTime() + alignment_->updateInterval.count(), [this](int64_t) {
      report();
      scheduleReport();
    });
  }
  /// A source without a watermark does not take part: it would hold up all others for ever.
  void report() {
    if (said_.current() == kNoTimestamp) return;
    this->environment().alignment->report({alignment_->group, said_.current(), said_.isIdle(), alignment_->maxDrift.count()});
  }
  void scheduleTick() {
    ProcessingTimeService& time = this->processingTime();
    const int64_t next = time.currentProcessingTime() + this->environment().settings.autoWatermarkInterval.count();
    time.registerTimer(next, [this](int64_t) { tick(); }, Deadline::Kind::kHousekeeping);
  }
  void tick() {
    // Waiting for other sources is no silence.
    if (idleness_ && alignment_ && this->environment().alignment->isPaused()) idleness_->activity(1);
    if (idleness_ && idleness_->checkIfIdle(this->processingTime().activeTime())) said_.markIdle();
    else generator_.onPeriodicEmit(said_);
    emitSaid();
    scheduleTick();
  }

  Generator generator_;
  Assigner assigner_;
  std::optional<WatermarkAlignmentParams> alignment_;
  std::optional<IdlenessTimer> idleness_;
  WatermarkOutput said_;
};

}  // namespace weir
