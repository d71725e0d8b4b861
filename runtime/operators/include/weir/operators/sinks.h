#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/operators/functions.h"
#include "weir/operators/row_text.h"

namespace weir {

/// Hands batches to `f.invoke(std::span<StreamRecord<T>>)` and emits nothing. For sinks that are built in and content with batches.
template <class T, class F>
class BatchSinkOperator final : public FunctionOperator<OneInputOperator<T>, F> {
 public:
  using FunctionOperator<OneInputOperator<T>, F>::FunctionOperator;

 protected:
  void process(std::span<StreamRecord<T>> records) override { this->function_.invoke(records); }
};

/// Where all subtasks of print sinks write: whole lines, never mixed. Any thread.
class PrintStream {
 public:
  /// `out` outlives this and is written by nobody else meanwhile.
  explicit PrintStream(std::ostream& out) : out_(out) {}
  void write(std::string_view lines);
  /// The one of this process's standard output.
  static const std::shared_ptr<PrintStream>& standardOutput();

 private:
  Mutex mutex_;
  std::ostream& out_;
};

/// Prints a line per record (see appendText), behind "3> " (subtask, from 1) where there are several subtasks, behind "id:3> " or "id> "
/// where it has an identifier. `stream.sinkTo("Print to Std. Out", Batching::kBatches, PrintSink<T>(out))`. Flink: PrintSink.
template <class T>
class PrintSink {
 public:
  explicit PrintSink(std::shared_ptr<PrintStream> out, std::string identifier = "")
      : out_(std::move(out)), identifier_(std::move(identifier)) {}
  std::unique_ptr<StreamOperator> operator()(OperatorSetup setup) const {
    return std::make_unique<BatchSinkOperator<T, PrintSink>>(std::move(setup), *this);
  }

  void open(RuntimeContext& context) {
    prefix_ = identifier_;
    if (context.numberOfParallelSubtasks() > 1) {
      if (!prefix_.empty()) prefix_ += ':';
      prefix_ += std::to_string(context.indexOfThisSubtask() + 1);
    }
    if (!prefix_.empty()) prefix_ += "> ";
  }
  void invoke(std::span<StreamRecord<T>> records) {
    lines_.clear();
    for (const auto& record : records) {
      lines_ += prefix_;
      appendText(lines_, record.value);
      lines_ += '\n';
    }
    out_->write(lines_);
  }

 private:
  std::shared_ptr<PrintStream> out_;
  std::string identifier_;
  std::string prefix_, lines_;
};

/// What all subtasks of a CollectSink put together, in the order of arrival. Any thread.
template <class T>
class CollectResult {
 public:
  void add(std::span<StreamRecord<T>> records) {
    Lock lock(mutex_);
    for (auto& record : records) values_.push_back(std::move(record.value));
  }
  std::vector<T> values() const {
    Lock lock(mutex_);
    return values_;
  }
  size_t size() const {
    Lock lock(mutex_);
    return values_.size();
  }

 private:
  mutable Mutex mutex_;
  std::vector<T> values_;
};

/// Collects every record at once, so at least once: after a failure records come again. See TransactionalCollectSink.
template <class T>
class CollectSink {
 public:
  explicit CollectSink(std::shared_ptr<CollectResult<T>> result) : result_(std::move(result)) {}
  std::unique_ptr<StreamOperator> operator()(OperatorSetup setup) const {
    return std::make_unique<BatchSinkOperator<T, CollectSink>>(std::move(setup), *this);
  }
  void invoke(std::span<StreamRecord<T>> records) { result_->add(records); }

 private:
  std::shared_ptr<CollectResult<T>> result_;
};

}  // namespace weir
