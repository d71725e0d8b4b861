#include "row_partial.h"

namespace weir {

RowLocalAggregateOperator::RowLocalAggregateOperator(OperatorSetup setup, RowKeySelector key, RowAggregate aggregate,
                                                     std::shared_ptr<const WindowAssigner> assigner, const WindowSpec& window,
                                                     const TwoStageSpec& twoStage)
    : OneInputOperator(std::move(setup)),
      key_(std::move(key)),
      aggregate_(std::move(aggregate)),
      assigner_(std::move(assigner)),
      lateness_(window.latenessMillis),
      flushRecords_(twoStage.flushRecords),
      flushMillis_(twoStage.flushMillis),
      lateTag_(window.late ? window.late->value : "") {}

void RowLocalAggregateOperator::process(std::span<StreamRecord<Salted<Row>>> records) {
  if (flushMillis_ > 0 && timer_ == 0) startTimer();
  for (const auto& record : records) add(record);
  gathered_ += static_cast<int64_t>(records.size());
  if (flushRecords_ > 0 && gathered_ >= flushRecords_) ship(kMaxWatermark);
}

void RowLocalAggregateOperator::processWatermark(int64_t timestamp) {
  const bool mayEnd = timestamp >= earliest_ || (assigner_ && assigner_->isMerging());
  if (mayEnd) ship(timestamp);
  watermark_ = timestamp;
  OneInputOperator::processWatermark(timestamp);
}

void RowLocalAggregateOperator::add(const StreamRecord<Salted<Row>>& record) {
  const RowKey key = key_(record.value.value);
  if (!assigner_) {
    addTo(table_.get(key, [] { return Parts(); }), {}, record);
    return;
  }
  assigned_.clear();
  const int64_t timestamp = record.hasTimestamp ? record.timestamp : kNoTimestamp;
  assigner_->assignWindows(ElementRef(record.value.value), timestamp, processingTime().currentProcessingTime(), assigned_);
  bool skipped = true;
  for (const TimeWindow& window : assigned_) {
    if (isOver(window)) continue;
    skipped = false;
    addTo(table_.get(key, [] { return Parts(); }), window, record);
  }
  if (!skipped || plusLong(timestamp, lateness_) > watermark_) return;
  if (lateTag_.empty()) {
    OperatorMetrics::add(metrics().numLateRecordsDropped, 1);
  } else if (Output<Row>* side = sideOutput<Row>(lateTag_)) {
    StreamRecord<Row> late(record.value.value);
    late.timestamp = record.timestamp;
    late.hasTimestamp = record.hasTimestamp;
    side->collect({&late, 1});
  }
}

bool RowLocalAggregateOperator::isOver(const TimeWindow& window) const {
  const int64_t end = plusLong(window.maxTimestamp(), lateness_);
  return (end >= window.maxTimestamp() ? end : kMaxWatermark) <= watermark_;
}

void RowLocalAggregateOperator::addTo(Parts& parts, const TimeWindow& window, const StreamRecord<Salted<Row>>& record) {
  Part& part = partOf(parts, window);
  aggregate_.add(part.accumulator, record.value.value);
  if (assigner_) {
    part.timestamp = part.window.maxTimestamp();
    part.hasTimestamp = true;
  } else if (record.hasTimestamp && (!part.hasTimestamp || record.timestamp > part.timestamp)) {
    part.timestamp = record.timestamp;
    part.hasTimestamp = true;
  }
  if (part.hasTimestamp) earliest_ = std::min(earliest_, part.timestamp);
}

RowLocalAggregateOperator::Part& RowLocalAggregateOperator::partOf(Parts& parts, const TimeWindow& window) {
  const bool merging = assigner_ && assigner_->isMerging();
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->window == window) return *part;
    if (!merging || !part->window.intersects(window)) continue;
    part->window = part->window.cover(window);  // what it meets besides is put together by stage two
    return *part;
  }
  return parts.emplace_back(Part{window, aggregate_.createAccumulator()});
}

void RowLocalAggregateOperator::ship(int64_t watermark) {
  const bool all = watermark == kMaxWatermark || (assigner_ && assigner_->isMerging());
  if (timer_ != 0 && all) processingTime().cancelTimer(std::exchange(timer_, 0));
  std::vector<AccumulatorTable<RowKey, Parts>::Entry> kept;
  earliest_ = kMaxWatermark;
  for (auto& entry : table_.entries()) {
    Parts left;
    for (Part& part : entry.value) {
      if (!all && (!part.hasTimestamp || part.timestamp > watermark)) {
        if (part.hasTimestamp) earliest_ = std::min(earliest_, part.timestamp);
        left.push_back(std::move(part));
        continue;
      }
      StreamRecord<RowPartial>& record = batch_.emplace_back(RowPartial{entry.key, part.window, std::move(part.accumulator)});
      record.timestamp = part.timestamp;
      record.hasTimestamp = part.hasTimestamp;
      if (batch_.size() == kMaxBatch) emit();
    }
    if (!left.empty()) kept.push_back({entry.key, std::move(left)});
  }
  table_.clear();
  for (auto& entry : kept) table_.get(entry.key, [&] { return std::move(entry.value); });
  if (table_.empty()) gathered_ = 0;
  emit();
}

void RowLocalAggregateOperator::emit() {
  if (batch_.empty()) return;
  OperatorMetrics::add(metrics().numRecordsOut, batch_.size());
  output<RowPartial>().collect(batch_);
  batch_.clear();
}

void RowLocalAggregateOperator::startTimer() {
  auto& clock = processingTime();
  timer_ = clock.registerTimer(clock.currentProcessingTime() + flushMillis_, [this](int64_t) {
    timer_ = 0;
    ship(kMaxWatermark);
  });
}

}  // namespace weir
