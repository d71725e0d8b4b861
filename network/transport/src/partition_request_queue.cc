#include "weir/transport/server_handler.h"

namespace weir {

PartitionRequestQueue::PartitionRequestQueue(MessageSink& out, std::function<void()> onReady)
    : out_(out), ready_(std::make_shared<ReadyQueue>(0, std::make_shared<GateSignals>(), std::move(onReady))) {}

uint32_t PartitionRequestQueue::newSlot() {
  if (freeSlots_.empty()) {
    bySlot_.push_back(nullptr);
    return ready_->addChannel();
  }
  // Late news of its last reader may still come: then the new one is looked at once too often.
  const uint32_t slot = freeSlots_.back();
  freeSlots_.pop_back();
  return slot;
}

CreditBasedSequenceNumberingViewReader& PartitionRequestQueue::add(std::unique_ptr<CreditBasedSequenceNumberingViewReader> reader) {
  CreditBasedSequenceNumberingViewReader& added = *reader;
  bySlot_[added.slot()] = &added;
  readers_[added.receiver()] = std::move(reader);
  return added;
}

CreditBasedSequenceNumberingViewReader* PartitionRequestQueue::find(const InputChannelID& receiver) const {
  const auto found = readers_.find(receiver);
  return found == readers_.end() ? nullptr : found->second.get();
}

void PartitionRequestQueue::remove(const InputChannelID& receiver) {
  auto node = readers_.extract(receiver);
  if (!node) return;
  CreditBasedSequenceNumberingViewReader* reader = node.mapped().get();
  if (reader->isQueued()) std::erase(available_, reader);
  bySlot_[reader->slot()] = nullptr;
  freeSlots_.push_back(reader->slot());
}

void PartitionRequestQueue::removeAll() {
  ready_->close();
  available_.clear();
  for (auto& reader : bySlot_) reader = nullptr;
  readers_.clear();
}

void PartitionRequestQueue::enqueueAvailable(CreditBasedSequenceNumberingViewReader& reader) {
  if (reader.isQueued()) return;
  // A released subpartition never has anything: its reader gets in line once, to say why.
  if (!reader.isAvailable() && !(reader.hasView() && reader.isReleased())) {
    if (const int32_t backlog = reader.backlogToAnnounce(); backlog > 0) out_.send(BacklogAnnouncement{reader.receiver(), backlog});
    return;
  }
  reader.setQueued(true);
  available_.push_back(&reader);
}

void PartitionRequestQueue::drainReady() {
  ready_->drain(reported_, reportedPriority_);
  const auto look = [this](uint32_t slot) {
    if (bySlot_[slot]) enqueueAvailable(*bySlot_[slot]);
  };
  for (const auto& report : reportedPriority_) look(report.channel);
  for (const uint32_t slot : reported_) look(slot);
  reported_.clear();
  reportedPriority_.clear();
}

void PartitionRequestQueue::write() {
  while (!available_.empty() && out_.isWritable()) {
    CreditBasedSequenceNumberingViewReader& reader = *available_.front();
    available_.pop_front();
    reader.setQueued(false);
    auto next = reader.next();
    if (!next) {
      if (reader.isReleased()) reportFailure(reader);
      continue;
    }
    if (next->moreAvailable) {
      reader.setQueued(true);
      available_.push_back(&reader);
    }
    if (SocketTrace trace = reader.traceOf(next->response); trace.onFlushed) out_.send(std::move(next->response), std::move(trace));
    else out_.send(std::move(next->response));
  }
}

void PartitionRequestQueue::reportFailure(const CreditBasedSequenceNumberingViewReader& reader) {
  if (const auto cause = reader.failureCause())
    out_.send(ErrorResponse{reader.receiver(), std::make_shared<Throwable>(
                                                   "org.apache.flink.runtime.io.network.partition.ProducerFailedException",
                                                   "The producing task has failed.", cause)});
}

}  // namespace weir
