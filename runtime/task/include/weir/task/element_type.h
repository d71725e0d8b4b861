#pragma once

#include <memory>
#include <span>
#include <vector>

#include "weir/record/record_deserializer.h"
#include "weir/record/serializer.h"
#include "weir/task/output.h"
#include "weir/task/stream_operator.h"

namespace weir {

/// Largest number of records that one virtual call carries.
constexpr size_t kMaxBatch = 64;

/// Reads the elements of one gate from the network into an operator. Flink: the element part of StreamTaskNetworkInput.
class ElementReader {
 public:
  virtual ~ElementReader() = default;
  /// Decodes at most `limit` (<= kMaxBatch) records of `channel` and hands them on as one batch; a control element in between goes to
  /// `control`, in order. False once the channel's buffer is used up. Throws on bytes that are no element.
  virtual bool read(RecordDeserializer& channel, size_t limit, ControlElement& control, bool& hasControl, size_t& records) = 0;
};

/// What the runtime needs to know of an element type without naming it. One object per type. Flink: TypeInformation.
class ElementType {
 public:
  virtual ~ElementType() = default;
  virtual std::unique_ptr<OutputBase> fanOut(const std::vector<OutputBase*>& targets) const = 0;
  virtual std::unique_ptr<OutputBase> withCost(OutputBase& into, RecordCost cost, ExecutionContext& context) const = 0;
  virtual std::unique_ptr<ElementReader> createReader(OutputBase& into) const = 0;
};

template <class T>
class TypedElementReader final : public ElementReader {
 public:
  explicit TypedElementReader(Output<T>& into) : into_(into), batch_(kMaxBatch) {}

  bool read(RecordDeserializer& channel, size_t limit, ControlElement& control, bool& hasControl, size_t& records) override {
    Error error;
    const ReadResult result = readRecords<T>(channel, {batch_.data(), limit}, control, error);
    records = result.count;
    if (result.count > 0) into_.collect({batch_.data(), result.count});
    if (result.stop == ReadStop::kCorrupt) throw Throwable("java.io.IOException", error.message);
    hasControl = result.stop == ReadStop::kControl;
    return result.stop != ReadStop::kNeedBuffer;
  }

 private:
  Output<T>& into_;
  std::vector<StreamRecord<T>> batch_;  ///< used again and again, so that strings keep their memory
};

template <class T>
class ElementTypeOf final : public ElementType {
 public:
  static const ElementTypeOf& instance() {
    static const ElementTypeOf type;
    return type;
  }
  std::unique_ptr<OutputBase> fanOut(const std::vector<OutputBase*>& targets) const override {
    std::vector<Output<T>*> typed;
    for (OutputBase* target : targets) typed.push_back(static_cast<Output<T>*>(target));
    return std::make_unique<FanOutOutput<T>>(std::move(typed));
  }
  std::unique_ptr<OutputBase> withCost(OutputBase& into, RecordCost cost, ExecutionContext& context) const override {
    return std::make_unique<CostOutput<T>>(static_cast<Output<T>&>(into), cost, context);
  }
  std::unique_ptr<ElementReader> createReader(OutputBase& into) const override {
    return std::make_unique<TypedElementReader<T>>(static_cast<Output<T>&>(into));
  }
};

}  // namespace weir
