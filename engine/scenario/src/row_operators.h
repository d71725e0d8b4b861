#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/operators/file_sink.h"
#include "weir/operators/sinks.h"
#include "weir/scenario/expression.h"

namespace weir {

/// Puts the values of expressions in place of a row, or behind its columns.
class RowMapOperator final : public OneInputOperator<Row> {
 public:
  /// For each column of the result: the column of the input that stays, or the expression that makes it.
  struct Part {
    std::optional<size_t> column;
    std::optional<Expression> expression;
  };
  RowMapOperator(OperatorSetup setup, std::shared_ptr<const std::vector<Part>> parts)
      : OneInputOperator(std::move(setup)), parts_(std::move(parts)) {}

 protected:
  void process(std::span<StreamRecord<Row>> records) override;

 private:
  std::shared_ptr<const std::vector<Part>> parts_;
  ExpressionScratch scratch_;
  ColumnVector values_;
  std::vector<StreamRecord<Row>> results_;
};

/// Keeps the rows for which the expression is true; null is not.
class RowFilterOperator final : public OneInputOperator<Row> {
 public:
  RowFilterOperator(OperatorSetup setup, Expression expression) : OneInputOperator(std::move(setup)), expression_(std::move(expression)) {}

 protected:
  void process(std::span<StreamRecord<Row>> records) override;

 private:
  Expression expression_;
  ExpressionScratch scratch_;
  ColumnVector values_;
};

/// Puts the time of the clock behind the columns of a row.
class RowStampOperator final : public OneInputOperator<Row> {
 public:
  explicit RowStampOperator(OperatorSetup setup) : OneInputOperator(std::move(setup)) {}

 protected:
  void process(std::span<StreamRecord<Row>> records) override;
};

/// Prints rows with the names of their columns: see PrintSink.
class RowPrintSink {
 public:
  RowPrintSink(std::shared_ptr<PrintStream> out, Schema schema, std::string prefix)
      : out_(std::move(out)), schema_(std::move(schema)), prefix_(std::move(prefix)) {}
  void invoke(std::span<StreamRecord<Row>> records);

 private:
  std::shared_ptr<PrintStream> out_;
  Schema schema_;
  std::string prefix_, lines_;
};

struct RowDiscardSink {
  void invoke(std::span<StreamRecord<Row>>) {}
};

/// Rows as files of a folder, exactly once: see FileSink.
class RowFileSinkOperator final : public TwoPhaseCommitSink<Row, PartFile> {
 public:
  RowFileSinkOperator(OperatorSetup setup, RowFileFormat format, const std::string& directory, Schema schema);

 protected:
  void onStart() override { parts_.start(); }
  PartFile beginTransaction() override { return parts_.begin(); }
  void write(PartFile& current, std::span<StreamRecord<Row>> records) override;
  void preCommit(PartFile& part) override { parts_.preCommit(part); }
  void commit(PartFile& part) override { parts_.commit(part); }
  void abort(PartFile& part) override { parts_.abort(part); }
  void recoverAndCommit(PartFile& part) override { parts_.recoverAndCommit(part); }

 private:
  RowFileFormat format_;
  Schema schema_;
  PartFileWriter parts_;
};

}  // namespace weir
