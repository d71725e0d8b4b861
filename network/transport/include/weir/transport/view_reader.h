#pragma once

#include <memory>
#include <optional>

#include "weir/base/result.h"
#include "weir/exchange/result_partition.h"
#include "weir/transport/messages.h"

namespace weir {

/// Reads one subpartition for one receiver, as far as its credit goes. Events cost none.
///
/// Flink: CreditBasedSequenceNumberingViewReader. Threads: the owner of the connection end. Units: credit in buffers.
/// Errors: what the receiver may not ask for is an error of one sentence; data without credit is a bug here.
class CreditBasedSequenceNumberingViewReader {
 public:
  CreditBasedSequenceNumberingViewReader(const PartitionRequest& request, uint32_t slot)
      : request_(request), slot_(slot), credit_(request.credit) {}

  void setView(PipelinedSubpartitionView view) { view_ = std::move(view); }
  bool hasView() const { return static_cast<bool>(view_); }
  const InputChannelID& receiver() const { return request_.receiver; }
  const PartitionRequest& request() const { return request_; }
  /// Its number in the ready queue of the connection.
  uint32_t slot() const { return slot_; }

  struct Next {
    BufferResponse response;
    bool moreAvailable = false;
  };
  std::optional<Next> next();
  /// How the way of this message is traced; empty for all but barriers of a job whose trace is wanted.
  SocketTrace traceOf(const BufferResponse& response) const;
  /// Something can be sent now.
  bool isAvailable() const { return view_ && view_.isAvailable(credit_ > 0); }
  /// What its receiver should be told, which has no buffers of its own and got no credit; 0: nothing.
  int32_t backlogToAnnounce() const;
  bool isReleased() const { return view_.isReleased(); }
  std::shared_ptr<const Throwable> failureCause() const { return view_.failureCause(); }

  Result<void> addCredit(int32_t credit);
  Result<void> resumeConsumption();
  void acknowledgeAllRecordsProcessed() { view_.acknowledgeAllDataProcessed(); }
  void notifyNewBufferSize(int32_t size) { view_.notifyNewBufferSize(size); }

  int32_t credit() const { return credit_; }
  bool isQueued() const { return queued_; }
  void setQueued(bool queued) { queued_ = queued; }

 private:
  const PartitionRequest request_;
  const uint32_t slot_;
  PipelinedSubpartitionView view_;
  int32_t credit_;
  bool queued_ = false;  ///< is among the available readers
};

}  // namespace weir
