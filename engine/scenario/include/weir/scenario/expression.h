#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/record/stream_element.h"
#include "weir/scenario/position.h"
#include "weir/scenario/schema.h"

namespace weir {

/// The values of one expression for all rows of a batch. Bool, int, long and timestamp lie in `numbers`.
struct ColumnVector {
  std::vector<int64_t> numbers;
  std::vector<double> doubles;
  std::vector<std::string> texts;
  std::vector<uint8_t> nulls;  ///< 1: null; the value beside it means nothing
  void resize(ColumnType type, size_t rows);
};

/// Memory that evaluations use again and again; one per operator.
class ExpressionScratch {
 public:
  ColumnVector& take() {
    if (used_ == vectors_.size()) vectors_.emplace_back();
    return vectors_[used_++];
  }
  size_t mark() const { return used_; }
  void release(size_t mark) { used_ = mark; }

 private:
  std::deque<ColumnVector> vectors_;
  size_t used_ = 0;
};

using RowBatch = std::span<const StreamRecord<Row>>;

/// A part of a compiled expression: one virtual call carries a batch. Immutable, any thread.
class ExpressionNode {
 public:
  /// `height`: how many nodes lie one in the other. Evaluation goes down as deep, on the small stack of a fiber too.
  ExpressionNode(ColumnType type, bool nullable, int height) : type_(type), nullable_(nullable), height_(height) {}
  virtual ~ExpressionNode() = default;
  virtual void evaluate(RowBatch rows, ExpressionScratch& scratch, ColumnVector& into) const = 0;
  ColumnType type() const { return type_; }
  bool nullable() const { return nullable_; }
  int height() const { return height_; }

 private:
  ColumnType type_;
  bool nullable_;
  int height_;
};

/// An expression over the columns of a schema, parsed and checked once: arithmetic, comparison, and/or/not with SQL's null, is null, in,
/// if, and the functions of docs/scenario-file.md. Copies share what is compiled. What has no value (a division of whole numbers by zero,
/// a text that is no number) is null: nothing throws while it runs.
class Expression {
 public:
  /// `at`: where the text begins. Errors name the place in it.
  static Result<Expression> compile(std::string_view text, const Schema& schema, const Position& at);

  ColumnType type() const { return node_->type(); }
  bool nullable() const { return node_->nullable(); }
  /// One value per row.
  void evaluate(RowBatch rows, ExpressionScratch& scratch, ColumnVector& into) const { node_->evaluate(rows, scratch, into); }

 private:
  explicit Expression(std::shared_ptr<const ExpressionNode> node) : node_(std::move(node)) {}
  std::shared_ptr<const ExpressionNode> node_;
};

/// Value `row` of a vector of this type, whose memory is used again.
void storeValue(const ColumnVector& vector, ColumnType type, size_t row, Value& into);

}  // namespace weir
