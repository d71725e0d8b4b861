#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "weir/exchange/result_partition_manager.h"
#include "weir/transport/view_reader.h"

namespace weir {

/// The readers of one connection in turn: a buffer each, as the connection has room and each has credit.
///
/// Flink: PartitionRequestQueue. Threads: the owner of the connection end; tasks tell of data through ready(), which its owner drains.
/// Invariants: a reader is at most once among the available ones.
class PartitionRequestQueue {
 public:
  /// `onReady`: some subpartition has something; called by producing tasks, with no lock held.
  PartitionRequestQueue(MessageSink& out, std::function<void()> onReady);

  /// The number under which its subpartition reports.
  uint32_t newSlot();
  ReaderSlot slotOf(const CreditBasedSequenceNumberingViewReader& reader) const { return {ready_, reader.slot()}; }
  CreditBasedSequenceNumberingViewReader& add(std::unique_ptr<CreditBasedSequenceNumberingViewReader> reader);
  CreditBasedSequenceNumberingViewReader* find(const InputChannelID& receiver) const;
  /// Lets go of its subpartition.
  void remove(const InputChannelID& receiver);
  void removeAll();
  size_t readers() const { return readers_.size(); }

  /// After credit, resumption or news of data: it gets in line if it can send; where it has no buffers to hope for, its backlog is told.
  void enqueueAvailable(CreditBasedSequenceNumberingViewReader& reader);
  /// Takes what tasks have reported.
  void drainReady();
  /// Sends as long as there is room.
  void write();

 private:
  void reportFailure(const CreditBasedSequenceNumberingViewReader& reader);

  MessageSink& out_;
  const std::shared_ptr<ReadyQueue> ready_;
  std::unordered_map<InputChannelID, std::unique_ptr<CreditBasedSequenceNumberingViewReader>> readers_;  ///< look-ups only
  std::vector<CreditBasedSequenceNumberingViewReader*> bySlot_;
  std::vector<uint32_t> freeSlots_;
  std::deque<CreditBasedSequenceNumberingViewReader*> available_;
  std::vector<uint32_t> reported_;                      ///< scratch of drainReady
  std::vector<ReadyQueue::Priority> reportedPriority_;  ///< scratch of drainReady
};

/// The producing end of a connection: what consumers ask for.
///
/// Flink: PartitionRequestServerHandler with PartitionRequestQueue. A state machine without a socket or a clock: messages go out through a
/// MessageSink, whoever owns the connection calls the rest.
/// Threads: the owner's. A request for a partition that is not there yet waits until it is registered or expire() is called.
/// Errors: a message that makes no sense breaks the connection: failed() is true from then on, and its last message was an ErrorResponse.
class PartitionRequestServerHandler {
 public:
  struct Callbacks {
    std::function<void()> onReady;  ///< as PartitionRequestQueue
    /// The partition that `receiver` waits for is there: registered() is to be called on the owner's thread. Any thread.
    std::function<void(const InputChannelID& receiver)> onRegistered;
    /// `receiver` waits: expire() is to be called when its time is up. On the owner's thread.
    std::function<void(const InputChannelID& receiver)> onWaiting;
  };
  PartitionRequestServerHandler(std::shared_ptr<ResultPartitionManager> partitions, MessageSink& out, Callbacks callbacks);

  void onMessage(const NetworkMessage& message);
  void onWritable() { queue_.write(); }
  void onReady();
  void registered(const InputChannelID& receiver);
  /// False: it does not wait any more.
  bool expire(const InputChannelID& receiver);
  /// Lets go of all partitions and of who waits.
  void release();
  bool failed() const { return failure_ != nullptr; }
  const std::shared_ptr<const Throwable>& failure() const { return failure_; }
  PartitionRequestQueue& queue() { return queue_; }
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    PartitionRequest request;
    uint64_t listener = 0;
  };
  using Reader = CreditBasedSequenceNumberingViewReader;

  void request(const PartitionRequest& message);
  void read(const PartitionRequest& message, const std::shared_ptr<ResultPartition>& partition);
  void notFound(const PartitionRequest& message);
  template <class Message, class Action>
  void withReader(const Message& message, Action&& action);
  void handle(const AddCredit& message);
  void handle(const ResumeConsumption& message);
  void fail(std::shared_ptr<const Throwable> cause);

  const std::shared_ptr<ResultPartitionManager> partitions_;
  MessageSink& out_;
  const Callbacks callbacks_;
  PartitionRequestQueue queue_;
  std::map<InputChannelID, Waiting> waiting_;
  std::shared_ptr<const Throwable> failure_;
};

}  // namespace weir
