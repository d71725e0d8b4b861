#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/record/stream_element.h"
#include "weir/windowing/element_ref.h"
#include "weir/backend/time_window.h"
#include "weir/base/clock.h"

namespace weir {

/// A record in a window that keeps its records. Stored as Flink stores it: as a stream element. Flink: TimestampedValue.
template <class T>
struct TimestampedValue {
  T value{};
  int64_t timestamp = kNoTimestamp;
  bool hasTimestamp = false;
  bool operator==(const TimestampedValue&) const = default;
};

template <Serializable T>
struct Serializer<TimestampedValue<T>> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const TimestampedValue<T>& v) { return 9 + Serializer<T>::maxSize(v.value); }
  static uint8_t* write(uint8_t* at, const TimestampedValue<T>& v) {
    *at++ = static_cast<uint8_t>(v.hasTimestamp ? ElementTag::kRecordWithTimestamp : ElementTag::kRecord);
    if (v.hasTimestamp) at = storeBigEndian(at, v.timestamp);
    return Serializer<T>::write(at, v.value);
  }
  static bool read(DataInput& in, TimestampedValue<T>& into) {
    const auto tag = static_cast<ElementTag>(in.readUnsignedByte());
    if (in.ok() && tag > ElementTag::kRecord) return in.fail("holds a stream element that is no record");
    into.hasTimestamp = tag == ElementTag::kRecordWithTimestamp;
    into.timestamp = into.hasTimestamp ? in.readLong() : kNoTimestamp;
    return Serializer<T>::read(in, into.value);
  }
  static SerializerSnapshot snapshot() {
    SerializerSnapshot s;
    s.className = "org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer$StreamElementSerializerSnapshot";
    s.nested.push_back(Serializer<T>::snapshot());
    return s;
  }
};

/// What an evictor may know besides the elements.
struct EvictorContext {
  int64_t currentProcessingTime = 0;
  int64_t currentWatermark = kNoTimestamp;
};

/// Removes elements of a window that fires, before or after its function runs; they are gone for later firings too. Immutable, shared.
/// Flink: Evictor.
template <class T>
class Evictor {
 public:
  using Elements = std::vector<TimestampedValue<T>>;
  virtual ~Evictor() = default;
  virtual void evictBefore(Elements& elements, const TimeWindow& window, const EvictorContext& context) const = 0;
  virtual void evictAfter(Elements& elements, const TimeWindow& window, const EvictorContext& context) const = 0;
  virtual std::string toString() const = 0;
};
template <class T>
using EvictorPtr = std::shared_ptr<const Evictor<T>>;

/// An evictor that does the same before the function, or (`after`) after it.
template <class T>
class OneSidedEvictor : public Evictor<T> {
 public:
  using typename Evictor<T>::Elements;
  explicit OneSidedEvictor(bool after) : after_(after) {}
  void evictBefore(Elements& elements, const TimeWindow&, const EvictorContext&) const final {
    if (!after_) evict(elements);
  }
  void evictAfter(Elements& elements, const TimeWindow&, const EvictorContext&) const final {
    if (after_) evict(elements);
  }

 protected:
  virtual void evict(Elements& elements) const = 0;

 private:
  bool after_;
};

/// Keeps the last elements to have come, at most so many.
template <class T>
class CountEvictor final : public OneSidedEvictor<T> {
 public:
  using typename Evictor<T>::Elements;
  CountEvictor(int64_t maxCount, bool after) : OneSidedEvictor<T>(after), maxCount_(maxCount) {}
  static EvictorPtr<T> of(int64_t maxCount, bool after = false) { return std::make_shared<CountEvictor>(maxCount, after); }
  std::string toString() const override { return "CountEvictor(" + std::to_string(maxCount_) + ")"; }

 protected:
  void evict(Elements& elements) const override {
    const auto size = static_cast<int64_t>(elements.size());
    if (size > maxCount_) elements.erase(elements.begin(), elements.begin() + (size - maxCount_));
  }

 private:
  int64_t maxCount_;
};

/// Keeps what is newer than the newest element minus the window size. Does nothing where the first element has no timestamp.
template <class T>
class TimeEvictor final : public OneSidedEvictor<T> {
 public:
  using typename Evictor<T>::Elements;
  TimeEvictor(Millis windowSize, bool after) : OneSidedEvictor<T>(after), windowSize_(windowSize.count()) {}
  static EvictorPtr<T> of(Millis windowSize, bool after = false) { return std::make_shared<TimeEvictor>(windowSize, after); }
  std::string toString() const override { return "TimeEvictor(" + std::to_string(windowSize_) + ")"; }

 protected:
  void evict(Elements& elements) const override {
    if (elements.empty() || !elements.front().hasTimestamp) return;
    int64_t newest = std::numeric_limits<int64_t>::min();
    for (const auto& element : elements) newest = std::max(newest, element.timestamp);
    const int64_t cutoff = minusLong(newest, windowSize_);
    std::erase_if(elements, [&](const auto& element) { return element.timestamp <= cutoff; });
  }

 private:
  int64_t windowSize_;
};

/// Keeps what differs from the last element by less than `threshold`. `delta(const T& element, const T& last) -> double`.
template <class T, class Delta>
class DeltaEvictor final : public OneSidedEvictor<T> {
 public:
  using typename Evictor<T>::Elements;
  DeltaEvictor(double threshold, Delta delta, bool after)
      : OneSidedEvictor<T>(after), threshold_(threshold), delta_(std::move(delta)) {}
  std::string toString() const override { return "DeltaEvictor(" + std::to_string(threshold_) + ")"; }

 protected:
  void evict(Elements& elements) const override {
    if (elements.empty()) return;
    const T last = elements.back().value;
    std::erase_if(elements, [&](const auto& element) { return std::invoke(delta_, element.value, last) >= threshold_; });
  }

 private:
  double threshold_;
  Delta delta_;
};
template <class T, class Delta>
EvictorPtr<T> deltaEvictor(double threshold, Delta delta, bool after = false) {
  return std::make_shared<DeltaEvictor<T, Delta>>(threshold, std::move(delta), after);
}

}  // namespace weir
