#pragma once

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/operators/keyed.h"
#include "weir/windowing/element_ref.h"

namespace weir {

/// An element that waits for its partners. Flink: IntervalJoinOperator.BufferEntry, with its layout.
template <class T>
struct BufferEntry {
  T element{};
  bool hasBeenJoined = false;
};
template <Serializable T>
struct Serializer<BufferEntry<T>> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = Serializer<T>::kFixedSize > 0 ? 1 + Serializer<T>::kFixedSize : 0;
  static size_t maxSize(const BufferEntry<T>& e) { return 1 + Serializer<T>::maxSize(e.element); }
  static uint8_t* write(uint8_t* at, const BufferEntry<T>& e) {
    *at++ = e.hasBeenJoined ? 1 : 0;
    return Serializer<T>::write(at, e.element);
  }
  static bool read(DataInput& in, BufferEntry<T>& into) {
    into.hasBeenJoined = in.readBoolean();
    return Serializer<T>::read(in, into.element);
  }
  static SerializerSnapshot snapshot() {
    SerializerSnapshot s;
    s.className = "org.apache.flink.streaming.api.operators.co.IntervalJoinOperator$BufferEntrySerializerSnapshot";
    s.nested.push_back(Serializer<T>::snapshot());
    return s;
  }
};

/// Which elements of the right stream belong to one of the left: left + lower <= right <= left + upper, in milliseconds, both ends
/// included.
struct JoinInterval {
  int64_t lower, upper;
  /// Side outputs of elements that are late; empty: they are dropped, and as in Flink nobody counts them.
  std::string lateLeftTag{}, lateRightTag{};

  static Result<JoinInterval> between(Millis lower, Millis upper, bool lowerInclusive = true, bool upperInclusive = true) {
    JoinInterval interval{plusLong(lower.count(), lowerInclusive ? 0 : 1), minusLong(upper.count(), upperInclusive ? 0 : 1)};
    if (interval.lower <= interval.upper) return interval;
    return Error{ErrorCode::kInvalidArgument,
                 "lowerBound <= upperBound must be fulfilled (an interval join has the bounds " + std::to_string(interval.lower) + " and " +
                     std::to_string(interval.upper) + " ms)"};
  }
};

/// What the function of an interval join gets beside the pair. Flink: ProcessJoinFunction.Context.
struct IntervalJoinContext {
  int64_t leftTimestamp = 0, rightTimestamp = 0;
  /// Of the result: the later one of both.
  int64_t timestamp() const { return std::max(leftTimestamp, rightTimestamp); }
};

/// Joins two keyed streams where the timestamps of two elements are near each other. Each element waits in state until the watermark says
/// that no partner can come any more. `f(const T1&, const T2&, IntervalJoinContext&, Collector<Out>&)`, or a member processElement of that
/// shape.
///
/// Flink: IntervalJoinOperator, with its state `LEFT_BUFFER` and `RIGHT_BUFFER`. Differs: the namespace of its timers (CLEANUP_TIMER) is a
/// window, [0,0) left and [1,1) right, not a text. Lives on its task.
template <class T1, class T2, class Out, class KeyFn1, class KeyFn2, class F>
class IntervalJoinOperator final : public TwoInputOperator<T1, T2>, private Triggerable<KeyOf<T1, KeyFn1>, TimeWindow> {
 public:
  using K = KeyOf<T1, KeyFn1>;
  static_assert(std::same_as<K, KeyOf<T2, KeyFn2>>, "An interval join needs keys of the same type on both sides");

  IntervalJoinOperator(OperatorSetup setup, KeyFn1 keyFn1, KeyFn2 keyFn2, JoinInterval interval, F function,
                       KeyedStateBackendFactory<K> backend)
      : TwoInputOperator<T1, T2>(std::move(setup)), keyFn1_(std::move(keyFn1)), keyFn2_(std::move(keyFn2)), interval_(std::move(interval)),
        function_(std::move(function)), backendFactory_(std::move(backend)), counted_(this->template output<Out>(), this->metrics()),
        collector_(counted_) {}

  void open() override {
    timers_ = &this->template internalTimerService<K, TimeWindow>("CLEANUP_TIMER", *backend_, *this);
    if constexpr (requires(F & f, RuntimeContext & c) { f.open(c); }) {
      RuntimeContext runtime(this->environment(), this->context());
      function_.open(runtime);
    }
  }

 protected:
  std::unique_ptr<AnyKeyedStateBackend> createKeyedState() override {
    auto backend = makeKeyedBackend<K>(backendFactory_, this->environment(), this->context());
    backend_ = backend.get();
    return backend;
  }
  void onInitializeState(bool) override {
    left_ = stateOrThrow(backend_->state(MapStateDescriptor<int64_t, Entries<T1>>{.name = "LEFT_BUFFER"}));
    right_ = stateOrThrow(backend_->state(MapStateDescriptor<int64_t, Entries<T2>>{.name = "RIGHT_BUFFER"}));
  }

  void processFirst(std::span<StreamRecord<T1>> records) override {
    for (auto& record : records) {
      backend_->setCurrentKey(std::invoke(keyFn1_, std::as_const(record.value)));
      if (!addTo(left_, record, interval_.lateLeftTag, kCleanupLeft, interval_.upper)) continue;
      forEachIn(right_, plusLong(record.timestamp, interval_.lower), plusLong(record.timestamp, interval_.upper),
                [&](int64_t timestamp, const T2& other) { join(record.value, other, record.timestamp, timestamp); });
    }
  }
  void processSecond(std::span<StreamRecord<T2>> records) override {
    for (auto& record : records) {
      backend_->setCurrentKey(std::invoke(keyFn2_, std::as_const(record.value)));
      if (!addTo(right_, record, interval_.lateRightTag, kCleanupRight, minusLong(0, interval_.lower))) continue;
      forEachIn(left_, minusLong(record.timestamp, interval_.upper), minusLong(record.timestamp, interval_.lower),
                [&](int64_t timestamp, const T1& other) { join(other, record.value, timestamp, record.timestamp); });
    }
  }
  void onEventTime(int64_t timestamp) override { TwoInputOperator<T1, T2>::onEventTime(timestamp); }

 private:
  template <class T>
  using Entries = std::vector<BufferEntry<T>>;
  template <class T>
  using Buffer = MapState<int64_t, Entries<T>>;
  static constexpr TimeWindow kCleanupLeft{0, 0}, kCleanupRight{1, 1};

  /// `waits`: for so long after its own time a partner may come. False: the element is late.
  template <class T>
  bool addTo(Buffer<T>& buffer, const StreamRecord<T>& record, const std::string& lateTag, const TimeWindow& cleanup, int64_t waits) {
    if (!record.hasTimestamp || record.timestamp == kNoTimestamp) {
      throw Throwable("org.apache.flink.util.FlinkException",
                      "Long.MIN_VALUE timestamp: Elements used in interval stream joins need to have timestamps meaningful timestamps.");
    }
    if (timers_->currentWatermark() != kNoTimestamp && record.timestamp < timers_->currentWatermark()) {
      if (Output<T>* side = this->template sideOutput<T>(lateTag)) {
        StreamRecord<T> copy = record;
        side->collect({&copy, 1});
      }
      return false;
    }
    buffer.slot(record.timestamp).push_back({record.value, false});
    timers_->registerEventTimeTimer(cleanup, waits > 0 ? plusLong(record.timestamp, waits) : record.timestamp);
    return true;
  }

  template <class T, class Each>
  void forEachIn(Buffer<T>& buffer, int64_t from, int64_t to, Each each) {
    const auto& entries = buffer.entries();
    for (auto bucket = entries.lower_bound(from); bucket != entries.end() && bucket->first <= to; ++bucket)
      for (const auto& entry : bucket->second) each(bucket->first, entry.element);
  }

  void join(const T1& left, const T2& right, int64_t leftTimestamp, int64_t rightTimestamp) {
    IntervalJoinContext context{leftTimestamp, rightTimestamp};
    collector_.setTimestampOf(StreamRecord<char>(0, context.timestamp()));
    if constexpr (requires { function_.processElement(left, right, context, collector_); })
      function_.processElement(left, right, context, collector_);
    else
      std::invoke(function_, left, right, context, collector_);
  }

  void onEventTime(const InternalTimer<K, TimeWindow>& timer) override {
    const int64_t time = timer.timestamp;
    if (timer.nameSpace == kCleanupLeft)
      left_.remove(interval_.upper <= 0 ? time : minusLong(time, interval_.upper));
    else
      right_.remove(interval_.lower <= 0 ? plusLong(time, interval_.lower) : time);
  }
  void onProcessingTime(const InternalTimer<K, TimeWindow>&) override {}

  KeyFn1 keyFn1_;
  KeyFn2 keyFn2_;
  const JoinInterval interval_;
  F function_;
  KeyedStateBackendFactory<K> backendFactory_;
  CountingOutput<Out> counted_;
  Collector<Out> collector_;
  KeyedStateBackend<K>* backend_ = nullptr;  ///< owned by StreamOperator, as are the timers
  InternalTimerService<K, TimeWindow>* timers_ = nullptr;
  Buffer<T1> left_;
  Buffer<T2> right_;
};

}  // namespace weir
