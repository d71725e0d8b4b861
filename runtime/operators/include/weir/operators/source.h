#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "weir/operators/functions.h"

namespace weir {

/// A part of a source that one subtask reads at a time, and how far it has got. What a source keeps in its checkpoint: a list that is dealt
/// out again when the parallelism changes, so a source runs on at most as many subtasks as it has splits. Flink: SourceSplit.
struct SourceSplit {
  int32_t id = 0;
  int32_t splits = 1;    ///< how many there are in all
  int64_t position = 0;  ///< records of this split that were emitted
  WEIR_FIELDS(id, splits, position)
  bool operator==(const SourceSplit&) const = default;
};

/// What a reader needs to open.
struct SourceReaderContext {
  FileSystem& fileSystem;
  ExecutionContext& execution;
};

/// Reads the splits of one subtask. A prototype is copied for each attempt; open() is called once on the copy, poll() until it says end.
///
/// A reader R has
///   using Element = ...;
///   int32_t numberOfSplits(int32_t parallelism) const;
///   void open(SourceReaderContext, std::vector<SourceSplit>& splits);   // continue at their positions; keep them up to date
///   size_t poll(std::span<StreamRecord<Element>> into, bool& end);      // up to into.size() records; never waits; end: nothing follows
/// and may have close() and `static constexpr bool kBatches = true` where it is built in and cheap. Errors are thrown.
/// Flink: SourceReader.
template <class R>
concept SourceReader = requires(R r, const R& c, SourceReaderContext x, std::vector<SourceSplit>& s,
                                std::span<StreamRecord<typename R::Element>> b, bool e) {
  { c.numberOfSplits(int32_t{1}) } -> std::convertible_to<int32_t>;
  r.open(x, s);
  { r.poll(b, e) } -> std::convertible_to<size_t>;
};

/// Keeps a source to so many records a second. Availability, not a wait: the task asks when the next one is due.
class RateLimit {
 public:
  /// Per subtask; infinity: no limit.
  explicit RateLimit(double recordsPerSecond) : nanosPerRecord_(1e9 / recordsPerSecond) {}
  bool unlimited() const { return nanosPerRecord_ <= 0; }
  /// How many of `limit` records are due at `now`. A source that was held back catches up by at most 100 ms.
  size_t due(Nanos now, size_t limit);
  void took(size_t records) { nextDue_ += nanosPerRecord_ * static_cast<double>(records); }
  Nanos nextDue() const { return Nanos(static_cast<int64_t>(nextDue_)); }

 private:
  static constexpr double kMaxCatchUpNanos = 100e6;
  double nanosPerRecord_;
  double nextDue_ = -1;  ///< on the monotonic clock; -1: not started
};

/// The operator around a SourceReader: splits, their state, the rate. Flink: SourceOperator.
template <SourceReader R>
class SourceOperator final : public SourceOperatorBase {
 public:
  using Element = typename R::Element;
  SourceOperator(OperatorSetup setup, R reader, double recordsPerSecond)
      : SourceOperatorBase(std::move(setup)),
        reader_(std::move(reader)),
        rate_(recordsPerSecond / environment().parallelism),
        batch_(kMaxBatch) {}

  void open() override { reader_.open({environment().world.fileSystem, context()}, splits_->elements()); }
  void close() override {
    if constexpr (requires(R& r) { r.close(); }) reader_.close();
  }

  SourceStatus emitNext(size_t limit) override {
    limit = std::min(limit, kMaxBatch);
    if (!rate_.unlimited()) {
      limit = rate_.due(context().clock().monotonic(), limit);
      if (limit == 0) return SourceStatus::nothingUntil(Deadline::work(rate_.nextDue()));
    }
    bool end = false;
    const size_t count = reader_.poll({batch_.data(), limit}, end);
    rate_.took(count);
    if (count > 0) {
      OperatorMetrics::add(metrics().numRecordsOut, count);
      output<Element>().collect({batch_.data(), count});
    }
    return end ? SourceStatus::end(count) : SourceStatus::more(count);
  }

 protected:
  void onInitializeState(bool isRestored) override {
    splits_ = stateOrThrow(operatorState().template listState<SourceSplit>("SourceReaderState"));
    if (isRestored) return;  // an empty list then means: everything of this subtask was read
    const int32_t splits = reader_.numberOfSplits(environment().parallelism);
    for (int32_t id = environment().subtask(); id < splits; id += environment().parallelism)
      splits_->elements().push_back({id, splits, 0});
  }

 private:
  R reader_;
  RateLimit rate_;
  OperatorListState<SourceSplit>* splits_ = nullptr;
  std::vector<StreamRecord<Element>> batch_;
};

/// `make(index)` for index 0 to count - 1, dealt to the splits in turn: split s of n makes s, s + n, s + 2n, ... Collections and sequences
/// are generators too. Flink: DataGeneratorSource, fromData, fromSequence.
template <class F>
class GeneratorReader {
 public:
  using Element = std::remove_cvref_t<std::invoke_result_t<F&, int64_t>>;
  GeneratorReader(int64_t count, F make) : count_(count), make_(std::move(make)) {}

  int32_t numberOfSplits(int32_t parallelism) const { return parallelism; }
  void open(SourceReaderContext, std::vector<SourceSplit>& splits) { splits_ = &splits; }

  size_t poll(std::span<StreamRecord<Element>> into, bool& end) {
    size_t n = 0;
    for (; current_ < splits_->size(); ++current_) {
      SourceSplit& split = (*splits_)[current_];
      int64_t index = split.id + split.position * split.splits;
      for (; n < into.size() && index < count_; ++n, index += split.splits) {
        into[n].value = make_(index);
        into[n].hasTimestamp = false;
        ++split.position;
      }
      if (index < count_) break;  // the batch is full
    }
    end = current_ == splits_->size();
    return n;
  }

 private:
  int64_t count_;
  F make_;
  std::vector<SourceSplit>* splits_ = nullptr;
  size_t current_ = 0;  ///< splits before it are read to their end
};

}  // namespace weir
