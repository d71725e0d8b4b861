#include "row_operators.h"

namespace weir {

void RowMapOperator::process(std::span<StreamRecord<Row>> records) {
  results_.resize(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    results_[i].value.values.resize(parts_->size());
    results_[i].timestamp = records[i].timestamp;
    results_[i].hasTimestamp = records[i].hasTimestamp;
  }
  for (size_t part = 0; part < parts_->size(); ++part) {
    const Part& made = (*parts_)[part];
    if (made.column) {
      for (size_t i = 0; i < records.size(); ++i) results_[i].value.values[part] = records[i].value.values[*made.column];
      continue;
    }
    made.expression->evaluate(records, scratch_, values_);
    for (size_t i = 0; i < records.size(); ++i) storeValue(values_, made.expression->type(), i, results_[i].value.values[part]);
  }
  OperatorMetrics::add(metrics().numRecordsOut, records.size());
  output<Row>().collect(results_);
}

void RowFilterOperator::process(std::span<StreamRecord<Row>> records) {
  expression_.evaluate(records, scratch_, values_);
  size_t kept = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    if (values_.nulls[i] || values_.numbers[i] == 0) continue;
    if (kept != i) std::swap(records[kept], records[i]);
    ++kept;
  }
  OperatorMetrics::add(metrics().numRecordsOut, kept);
  if (kept > 0) output<Row>().collect(records.first(kept));
}

void RowStampOperator::process(std::span<StreamRecord<Row>> records) {
  const int64_t now = processingTime().currentProcessingTime();
  for (auto& record : records) record.value.values.emplace_back(now);
  OperatorMetrics::add(metrics().numRecordsOut, records.size());
  output<Row>().collect(records);
}

void RowPrintSink::invoke(std::span<StreamRecord<Row>> records) {
  lines_.clear();
  for (const auto& record : records) {
    lines_ += prefix_;
    appendRowText(lines_, record.value, schema_);
    lines_ += '\n';
  }
  out_->write(lines_);
}

RowFileSinkOperator::RowFileSinkOperator(OperatorSetup setup, RowFileFormat format, const std::string& directory, Schema schema)
    : TwoPhaseCommitSink(std::move(setup)),
      format_(format),
      schema_(std::move(schema)),
      parts_(environment().world.fileSystem, context(), FileSinkOptions{.directory = directory},
             format == RowFileFormat::kCsv ? ".csv" : ".jsonl", environment().subtask(),
             format == RowFileFormat::kCsv ? schemaCsvHeader(schema_) + "\n" : "") {}

void RowFileSinkOperator::write(PartFile& current, std::span<StreamRecord<Row>> records) {
  for (const auto& record : records) {
    if (format_ == RowFileFormat::kCsv)
      appendRowCsv(parts_.buffer(), record.value, schema_);
    else
      appendRowJson(parts_.buffer(), record.value, schema_);
    parts_.buffer() += '\n';
  }
  parts_.writeIfFull(current);
}

}  // namespace weir
