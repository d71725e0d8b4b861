#include "weir/transport/view_reader.h"

#include "weir/exchange/barrier_bytes.h"

namespace weir {

std::optional<CreditBasedSequenceNumberingViewReader::Next> CreditBasedSequenceNumberingViewReader::next() {
  // It may have been in line since before its credit was voided.
  if (credit_ == 0 && !view_.isAvailable(false)) return std::nullopt;
  std::optional<BufferAndBacklog> polled = view_.getNextBuffer();
  if (!polled) return std::nullopt;
  if (polled->buffer.isBuffer()) {
    --credit_;
    WEIR_CHECK_GE(credit_, 0);
  }
  const DataType following = polled->nextDataType;
  bool more = following != DataType::NONE && (credit_ > 0 || isEvent(following));
  // While the subpartition is blocked it names no next element, but another priority event may be there.
  if (following == DataType::NONE && hasPriority(polled->buffer.dataType())) more = isAvailable();
  return Next{{receiver(), polled->sequenceNumber, polled->buffersInBacklog, std::move(polled->buffer),
               static_cast<int32_t>(request_.subpartition)},
              more};
}

SocketTrace CreditBasedSequenceNumberingViewReader::traceOf(const BufferResponse& response) const {
  const std::shared_ptr<BarrierTracer>& tracer = view_.partition().trace();
  if (!tracer || response.buffer.isBuffer()) return {};
  const std::optional<int64_t> checkpoint = barrierId(response.buffer.bytes());
  if (!checkpoint) return {};
  const BarrierDetails where{.gate = view_.partition().descriptor().partitionIndex, .channel = static_cast<int32_t>(request_.subpartition)};
  return {[tracer, id = *checkpoint, where](int64_t bytes) {
            BarrierDetails details = where;
            details.bytes = bytes;
            tracer->recordElsewhere(BarrierStep::kSocketWritten, id, details);
          },
          [tracer, id = *checkpoint, where] { tracer->recordElsewhere(BarrierStep::kSocketFlushed, id, where); }};
}

int32_t CreditBasedSequenceNumberingViewReader::backlogToAnnounce() const {
  return view_ && request_.credit == 0 && credit_ == 0 ? view_.backlog() : 0;
}

Result<void> CreditBasedSequenceNumberingViewReader::addCredit(int32_t credit) {
  if (credit <= 0 || credit_ > std::numeric_limits<int32_t>::max() - credit)
    return Error{ErrorCode::kCorrupt, fmt::format("a credit of {} on top of {} is not possible", credit, credit_)};
  credit_ += credit;
  return {};
}

Result<void> CreditBasedSequenceNumberingViewReader::resumeConsumption() {
  if (!view_ || !view_.isBlocked())
    return Error{ErrorCode::kCorrupt, fmt::format("receiver {} resumes a subpartition that is not blocked", receiver().toString())};
  // The receiver has given back what its credit stood for.
  if (request_.credit == 0) credit_ = 0;
  (void)view_.resumeConsumption();
  return {};
}

}  // namespace weir
