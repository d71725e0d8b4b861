#pragma once

#include <span>
#include <vector>

#include "weir/record/stream_element.h"

namespace weir {

/// Any Output, for those who wire operators without knowing their types.
class OutputBase {
 public:
  virtual ~OutputBase() = default;
  /// A watermark, latency marker or the like, in order with the records.
  virtual void emitControl(const ControlElement& element) = 0;
};

/// Where records of type T go: the input of a chained operator, a network partition, or several of these.
///
/// One virtual call carries up to a batch of records. The values may be moved from; the storage belongs to the caller and is used again.
/// Lives on its task. Flink: Output and Input, which are one thing here: an operator's input is the output of the one before it.
template <class T>
class Output : public OutputBase {
 public:
  virtual void collect(std::span<StreamRecord<T>> records) = 0;
};

/// What user functions emit through: keeps the timestamp of the record that is being processed. Flink: TimestampedCollector.
template <class T>
class Collector {
 public:
  explicit Collector(Output<T>& output) : output_(output) {}

  void collect(T value) {
    record_.value = std::move(value);
    output_.collect({&record_, 1});
  }
  void collect(T value, int64_t timestamp) {
    StreamRecord<T> record(std::move(value), timestamp);
    output_.collect({&record, 1});
  }
  void setTimestamp(int64_t timestamp) {
    record_.timestamp = timestamp;
    record_.hasTimestamp = true;
  }
  void eraseTimestamp() { record_.hasTimestamp = false; }
  template <class In>
  void setTimestampOf(const StreamRecord<In>& record) {
    record_.timestamp = record.timestamp;
    record_.hasTimestamp = record.hasTimestamp;
  }

 private:
  Output<T>& output_;
  StreamRecord<T> record_{};
};

/// Hands each batch to several outputs; all but the last get copies. Flink: BroadcastingOutputCollector.
template <class T>
class FanOutOutput final : public Output<T> {
 public:
  explicit FanOutOutput(std::vector<Output<T>*> targets) : targets_(std::move(targets)) {}

  void collect(std::span<StreamRecord<T>> records) override {
    for (size_t i = 0; i + 1 < targets_.size(); ++i) {
      copies_.assign(records.begin(), records.end());
      targets_[i]->collect(copies_);
    }
    if (!targets_.empty()) targets_.back()->collect(records);
  }
  void emitControl(const ControlElement& element) override {
    for (Output<T>* target : targets_) target->emitControl(element);
  }

 private:
  std::vector<Output<T>*> targets_;
  std::vector<StreamRecord<T>> copies_;
};

}  // namespace weir
