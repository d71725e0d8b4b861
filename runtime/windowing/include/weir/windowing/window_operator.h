#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/operators/keyed.h"
#include "weir/windowing/merging_window_set.h"
#include "weir/windowing/window_assigner.h"
#include "weir/windowing/window_contents.h"

namespace weir {

/// How the windows of an operator behave, beside what they keep. Shared by all subtasks.
struct WindowSettings {
  std::shared_ptr<const WindowAssigner> assigner;
  TriggerPtr trigger{};  ///< null: the assigner's default
  int64_t allowedLateness = 0;
  /// Side output of records that are too late; empty: they are dropped and counted.
  std::string lateTag{};

  /// One sentence where the parts do not go together.
  Result<void> check() const;
  /// "Window(TumblingEventTimeWindows(1000), EventTimeTrigger())", for the operator's name.
  std::string toString(const std::string& function) const;
};

/// Lets a selector say that a record has no key: refused as Flink refuses null.
template <class F>
struct NonNullKey {
  F select;
  template <class T>
  auto operator()(const T& value) const {
    auto key = std::invoke(select, value);
    if (!key) throw Throwable("java.lang.NullPointerException", "Assigned key must not be null!");
    return *std::move(key);
  }
};

/// Collects the records of each key in windows, and hands the contents of a window to its function when its trigger says so. The results
/// carry the last millisecond of their window. `Contents`: one of window_contents.h.
///
/// Two ways through it. In general, per record: the assigner gives its windows, each that is not over takes it in, and the trigger is
/// asked. Where windows lie on a grid of event time and have the default trigger, a whole batch goes into state at once, because nothing
/// can fire; only records of windows that the watermark has passed take the general way.
///
/// State, as in Flink: `window-contents` per window, for merging windows also `merging-window-set`, what triggers and functions keep, and
/// the timers `window-timers`. Flink: WindowOperator, EvictingWindowOperator, WindowOperatorBuilder. Lives on its task.
template <class KeyFn, class Contents>
class WindowOperator final : public OneInputOperator<typename Contents::In>,
                             private Triggerable<KeyOf<typename Contents::In, KeyFn>, TimeWindow> {
 public:
  using In = typename Contents::In;
  using Out = typename Contents::Out;
  using Stored = typename Contents::Stored;
  using K = KeyOf<In, KeyFn>;

  WindowOperator(OperatorSetup setup, KeyFn keyFn, WindowSettings settings, Contents contents, KeyedStateBackendFactory<K> backend)
      : OneInputOperator<In>(std::move(setup)), keys_(std::move(keyFn)), settings_(std::move(settings)), contents_(std::move(contents)),
        backendFactory_(std::move(backend)), counted_(this->template output<Out>(), this->metrics()), collector_(counted_),
        triggerContext_(*this) {
    if (!settings_.trigger) {
      settings_.trigger = settings_.assigner->getDefaultTrigger();
      if (const auto grid = settings_.assigner->grid()) grid_.emplace(*grid);
    }
    merging_ = settings_.assigner->isMerging();
    eventTime_ = settings_.assigner->isEventTime();
  }

  void open() override {
    timers_ = &this->template internalTimerService<K, TimeWindow>("window-timers", *backend_, *this);
    functionContext_.bind(*backend_, *timers_, this->sideOutputs(), merging_);
    KeyedRuntimeContext<K> runtime(this->environment(), this->context(), *backend_);
    contents_.open(runtime);
  }
  void close() override { contents_.close(); }

 protected:
  std::unique_ptr<AnyKeyedStateBackend> createKeyedState() override {
    auto backend = makeKeyedBackend<K>(backendFactory_, this->environment(), this->context());
    backend_ = backend.get();
    return backend;
  }
  void onInitializeState(bool restored) override {
    firedBefore_ = restored && settings_.allowedLateness > 0;
    table_ = stateOrThrow(backend_->storedTable("window-contents", StateNamespace::kTimeWindow,
                                                std::make_shared<StateTypeOf<Stored>>(Contents::kKind, contents_.initial())));
    slots_.emplace(*table_);
    if (merging_) mergingSet_ = stateOrThrow(backend_->state(ListStateDescriptor<std::pair<TimeWindow, TimeWindow>>{"merging-window-set"}));
  }

  void process(std::span<StreamRecord<In>> records) override {
    for (; !records.empty(); records = records.subspan(std::min(records.size(), kMaxBatch))) {
      const auto batch = records.first(std::min(records.size(), kMaxBatch));
      if (grid_ && processOnGrid(batch)) continue;
      for (const auto& record : batch) processElement(record);
    }
  }

  void onEventTime(int64_t timestamp) override { OneInputOperator<In>::onEventTime(timestamp); }

 private:
  class Context;
  static constexpr bool kEvicts = requires { Contents::kEvicts; };

  // ---- On a grid, in batches ----

  /// The grid, and what is remembered between records.
  struct Grid {
    explicit Grid(const WindowGrid& g) : shape(g), cursor(g) {}
    WindowGrid shape;
    WindowGrid::Cursor cursor;
  };

  /// False: one of the records wants to go the general way; nothing was done.
  bool processOnGrid(std::span<StreamRecord<In>> records) {
    const int64_t watermark = timers_->currentWatermark();
    const int64_t size = grid_->shape.size;
    std::array<TimeWindow, kMaxBatch> windows;
    bool allOpen = true;
    for (size_t i = 0; i < records.size(); ++i) {
      const int64_t start = grid_->cursor.startOf(records[i].timestamp);
      windows[i] = {start, plusLong(start, size)};
      allOpen &= records[i].hasTimestamp && windows[i].maxTimestamp() > watermark;
    }
    if (grid_->shape.slide != size) return allOpen && processSliding(records, windows);
    if (!allOpen) return false;
    addBatch(records, keys_.of(records), windows.data());
    return true;
  }

  /// `last`: the latest window of each record. The earlier ones must be open too. Goes by runs of records that share all their windows, so
  /// that each window takes its records in the order in which they came.
  bool processSliding(std::span<StreamRecord<In>> records, std::array<TimeWindow, kMaxBatch>& last) {
    const int64_t watermark = timers_->currentWatermark();
    const int64_t size = grid_->shape.size, slide = grid_->shape.slide;
    if (size % slide != 0) return false;  // then records are in different numbers of windows
    for (size_t i = 0; i < records.size(); ++i)
      if (minusLong(last[i].maxTimestamp(), size - slide) <= watermark) return false;
    const auto keys = keys_.of(records);
    for (size_t from = 0, to = 0; from < records.size(); from = to) {
      while (to < records.size() && last[to] == last[from]) ++to;
      for (int64_t back = 0; back < size; back += slide) {
        addBatch(records.subspan(from, to - from), keys.subspan(from, to - from), last.data() + from);
        for (size_t i = from; i < to; ++i) last[i] = {minusLong(last[i].start, slide), minusLong(last[i].end, slide)};
      }
    }
    return true;
  }

  void addBatch(std::span<StreamRecord<In>> records, std::span<const K* const> keys, const TimeWindow* windows) {
    std::array<Stored*, kMaxBatch> stored;
    std::array<bool, kMaxBatch> created;
    slots_->get(keys, windows, stored.data(), created.data());
    for (size_t i = 0; i < records.size(); ++i) {
      contents_.add(*stored[i], created[i], records[i]);
      if (__builtin_expect(created[i] || firedBefore_, 0)) registerGridTimers(*keys[i], windows[i]);
    }
  }
  void registerGridTimers(const K& key, const TimeWindow& window) {
    timers_->registerEventTimeTimer(key, window, window.maxTimestamp());
    const int64_t cleanup = cleanupTime(window);
    if (cleanup != kMaxWatermark) timers_->registerEventTimeTimer(key, window, cleanup);
  }

  // ---- Per record ----

  void processElement(const StreamRecord<In>& record) {
    backend_->setCurrentKey(std::invoke(keys_.function(), record.value));
    const int64_t timestamp = record.hasTimestamp ? record.timestamp : kNoTimestamp;
    assigned_.clear();
    settings_.assigner->assignWindows(ElementRef(record.value), timestamp, timers_->currentProcessingTime(), assigned_);
    bool skipped = true;
    if (merging_) {
      loadMergingWindows();
      for (const TimeWindow& window : assigned_) skipped &= !addToMerging(window, record, timestamp);
      persistMergingWindows();
    } else {
      for (const TimeWindow& window : assigned_) {
        if (isWindowLate(window)) continue;
        skipped = false;
        addToWindow(window, window, record, timestamp);
      }
    }
    if (skipped && isElementLate(timestamp)) handleLate(record);
  }

  /// False: too late.
  bool addToMerging(const TimeWindow& window, const StreamRecord<In>& record, int64_t timestamp) {
    std::optional<WindowMerge> merge;
    const TimeWindow actual = windows_.addWindow(window, merge);
    if (merge) mergeWindows(*merge);
    if (isWindowLate(actual)) {
      windows_.retireWindow(actual);
      return false;
    }
    addToWindow(actual, *windows_.stateWindow(actual), record, timestamp);
    return true;
  }

  void addToWindow(const TimeWindow& window, const TimeWindow& stateWindow, const StreamRecord<In>& record, int64_t timestamp) {
    table_->setCurrentNamespace(stateWindow);
    bool created;
    Stored& stored = *static_cast<Stored*>(table_->findOrCreate(created));
    contents_.add(stored, created, record);
    triggerContext_.set(window);
    react(settings_.trigger->onElement(ElementRef(record.value), timestamp, window, triggerContext_), window);
    registerCleanupTimer(window);
  }

  void mergeWindows(const WindowMerge& merge) {
    requireMergedIsOpen(merge.result);
    triggerContext_.set(merge.result, merge.merged);
    settings_.trigger->onMerge(merge.result, triggerContext_);
    for (const TimeWindow& merged : merge.merged) {
      triggerContext_.set(merged);
      settings_.trigger->clear(merged, triggerContext_);
      deleteCleanupTimer(merged);
    }
    // First those that go are put together, then the whole goes behind what stays: elements keep Flink's order.
    std::optional<Stored> gathered;
    for (const TimeWindow& from : merge.mergedStateWindows) {
      table_->setCurrentNamespace(from);
      const auto* found = static_cast<const Stored*>(table_->find());
      if (!found) continue;
      if (gathered)
        contents_.merge(*gathered, *found);
      else
        gathered = *found;
      table_->remove();
    }
    if (!gathered) return;
    table_->setCurrentNamespace(merge.stateWindow);
    bool created;
    Stored& into = *static_cast<Stored*>(table_->findOrCreate(created));
    if (created)
      into = std::move(*gathered);
    else
      contents_.merge(into, *gathered);
  }

  void requireMergedIsOpen(const TimeWindow& merged) const {
    const std::string window = "TimeWindow{start=" + std::to_string(merged.start) + ", end=" + std::to_string(merged.end) + "}";
    if (eventTime_ && plusLong(merged.maxTimestamp(), settings_.allowedLateness) <= timers_->currentWatermark()) {
      throw Throwable("java.lang.UnsupportedOperationException",
                      "The end timestamp of an event-time window cannot become earlier than the current watermark by merging. Current "
                      "watermark: " + std::to_string(timers_->currentWatermark()) + " window: " + window);
    }
    if (!eventTime_ && merged.maxTimestamp() <= timers_->currentProcessingTime()) {
      throw Throwable("java.lang.UnsupportedOperationException",
                      "The end timestamp of a processing-time window cannot become earlier than the current processing time by merging. "
                      "Current processing time: " + std::to_string(timers_->currentProcessingTime()) + " window: " + window);
    }
  }

  /// Requires: the table stands at the state of `window`.
  void react(TriggerResult result, const TimeWindow& window) {
    if (isFire(result)) emitWindowContents(window);
    if (isPurge(result)) table_->remove();
  }

  void emitWindowContents(const TimeWindow& window) {
    const auto* stored = static_cast<const Stored*>(table_->find());
    if (!stored) return;
    OperatorMetrics::add(this->metrics().numWindowsFired, 1);
    functionContext_.setWindow(window);
    collector_.setTimestampOf(StreamRecord<char>(0, window.maxTimestamp()));
    if constexpr (kEvicts) {
      auto left = contents_.emit(*stored, functionContext_, collector_);
      table_->remove();
      bool created;
      if (!left.empty()) static_cast<Stored*>(table_->findOrCreate(created))->mutate() = std::move(left);
    } else {
      contents_.emit(*stored, functionContext_, collector_);
    }
  }

  void handleLate(const StreamRecord<In>& record) {
    if (settings_.lateTag.empty()) {
      OperatorMetrics::add(this->metrics().numLateRecordsDropped, 1);
    } else if (Output<In>* side = this->template sideOutput<In>(settings_.lateTag)) {
      StreamRecord<In> copy = record;
      side->collect({&copy, 1});
    }
  }

  // ---- Timers ----

  void onEventTime(const InternalTimer<K, TimeWindow>& timer) override { onTimer(timer, true); }
  void onProcessingTime(const InternalTimer<K, TimeWindow>& timer) override { onTimer(timer, false); }

  void onTimer(const InternalTimer<K, TimeWindow>& timer, bool eventTimer) {
    const TimeWindow window = timer.nameSpace;
    const int64_t time = timer.timestamp;
    TimeWindow stateWindow = window;
    if (merging_) {
      loadMergingWindows();
      const auto found = windows_.stateWindow(window);
      if (!found) return;  // a timer that the trigger left behind: its window is gone, and with it all that it had
      stateWindow = *found;
    }
    table_->setCurrentNamespace(stateWindow);
    triggerContext_.set(window);
    const Trigger& trigger = *settings_.trigger;
    react(eventTimer ? trigger.onEventTime(time, window, triggerContext_) : trigger.onProcessingTime(time, window, triggerContext_),
          window);
    if (eventTimer == eventTime_ && time == cleanupTime(window)) clearAllState(window);
    if (merging_) persistMergingWindows();
  }

  /// Requires: the table stands at the state of `window`.
  void clearAllState(const TimeWindow& window) {
    table_->remove();
    triggerContext_.set(window);
    settings_.trigger->clear(window, triggerContext_);
    functionContext_.setWindow(window);
    contents_.clear(functionContext_);
    if (merging_) windows_.retireWindow(window);
  }

  /// When everything of a window is forgotten.
  int64_t cleanupTime(const TimeWindow& window) const {
    if (!eventTime_) return window.maxTimestamp();
    const int64_t time = plusLong(window.maxTimestamp(), settings_.allowedLateness);
    return time >= window.maxTimestamp() ? time : kMaxWatermark;
  }
  bool isWindowLate(const TimeWindow& window) const { return eventTime_ && cleanupTime(window) <= timers_->currentWatermark(); }
  bool isElementLate(int64_t timestamp) const {
    return eventTime_ && plusLong(timestamp, settings_.allowedLateness) <= timers_->currentWatermark();
  }
  void registerCleanupTimer(const TimeWindow& window) {
    const int64_t time = cleanupTime(window);
    if (time == kMaxWatermark) return;  // the end of time needs no cleaning up
    if (eventTime_)
      timers_->registerEventTimeTimer(window, time);
    else
      timers_->registerProcessingTimeTimer(window, time);
  }
  void deleteCleanupTimer(const TimeWindow& window) {
    const int64_t time = cleanupTime(window);
    if (time == kMaxWatermark) return;
    if (eventTime_)
      timers_->deleteEventTimeTimer(window, time);
    else
      timers_->deleteProcessingTimeTimer(window, time);
  }

  void loadMergingWindows() {
    static const MergingWindowSet::Mapping kNone;
    const auto* persisted = mergingSet_.get();
    windows_.load(persisted ? *persisted : kNone);
  }
  void persistMergingWindows() {
    if (windows_.changed()) mergingSet_.update(windows_.mapping());
  }

  /// The trigger's view of one window of the current key.
  class Context final : public TriggerContext {
   public:
    explicit Context(WindowOperator& op) : op_(op) {}
    void set(const TimeWindow& window, std::span<const TimeWindow> merged = {}) {
      window_ = window;
      merged_ = merged;
    }
    int64_t getCurrentWatermark() const override { return op_.timers_->currentWatermark(); }
    int64_t getCurrentProcessingTime() const override { return op_.timers_->currentProcessingTime(); }
    void registerEventTimeTimer(int64_t time) override { op_.timers_->registerEventTimeTimer(window_, time); }
    void registerProcessingTimeTimer(int64_t time) override { op_.timers_->registerProcessingTimeTimer(window_, time); }
    void deleteEventTimeTimer(int64_t time) override { op_.timers_->deleteEventTimeTimer(window_, time); }
    void deleteProcessingTimeTimer(int64_t time) override { op_.timers_->deleteProcessingTimeTimer(window_, time); }

   protected:
    const TimeWindow& window() const override { return window_; }
    std::span<const TimeWindow> mergedWindows() const override { return merged_; }
    KeyedStateTable* known(const std::string& name, const std::type_info& type) override {
      for (const auto& state : states_)
        if (state.name == name && *state.type == type) return state.table;
      return nullptr;
    }
    KeyedStateTable& made(const std::string& name, std::shared_ptr<const StateType> type) override {
      const std::type_info& stored = type->type();
      KeyedStateTable* table = stateOrThrow(op_.backend_->storedTable(name, StateNamespace::kTimeWindow, std::move(type)));
      states_.push_back({name, &stored, table});
      return *table;
    }

   private:
    struct State {
      std::string name;
      const std::type_info* type;
      KeyedStateTable* table;
    };
    WindowOperator& op_;
    TimeWindow window_;
    std::span<const TimeWindow> merged_;
    std::vector<State> states_;  ///< those that the trigger has asked for
  };

  BatchKeys<In, KeyFn> keys_;
  WindowSettings settings_;
  Contents contents_;
  KeyedStateBackendFactory<K> backendFactory_;
  CountingOutput<Out> counted_;
  Collector<Out> collector_;
  bool merging_ = false, eventTime_ = false;
  /// A window that is kept for late records may have fired before the restore; the watermark is in no checkpoint, so records of it are no
  /// longer late, and its contents are no sign that it has a timer.
  bool firedBefore_ = false;
  std::optional<Grid> grid_;  ///< none: every record goes the general way

  KeyedStateBackend<K>* backend_ = nullptr;  ///< owned by StreamOperator, as are the timers
  InternalTimerService<K, TimeWindow>* timers_ = nullptr;
  KeyedTable<K>* table_ = nullptr;  ///< `window-contents`
  std::optional<ValueSlots<K, Stored>> slots_;
  ListState<std::pair<TimeWindow, TimeWindow>> mergingSet_;

  Context triggerContext_;
  ProcessWindowContext<K> functionContext_;
  std::vector<TimeWindow> assigned_;  ///< of one record
  MergingWindowSet windows_;          ///< of the current key
};

}  // namespace weir
