#pragma once

#include "weir/exchange/input_channel.h"
#include "weir/exchange/result_partition_manager.h"

namespace weir {

/// Reads a subpartition of the same process in place: no receive queue, no credit, no copies.
///
/// Flink: LocalInputChannel. Its queue length is that of the subpartition; it has no announcements, so a queued barrier cannot be converted
/// here.
class LocalInputChannel final : public InputChannel {
 public:
  LocalInputChannel(InputChannelDescriptor descriptor, std::shared_ptr<ResultPartitionManager> partitions,
                    ChannelStateWriter* writer = nullptr)
      : InputChannel(std::move(descriptor)), partitions_(std::move(partitions)), persister_(writer, info()) {}

  bool requestSubpartition(const ReaderSlot& reader) override;
  std::optional<BufferAndBacklog> getNextBuffer() override;
  void prefetch() const override { view_.prefetch(); }
  void resumeConsumption() override;
  void acknowledgeAllRecordsProcessed() override;
  void announceBufferSize(int32_t size) override;
  void releaseAllResources() override;
  bool isReleased() const override { return released_; }
  int32_t queueLength() const override;
  int64_t queuedBytes() const override { return 0; }
  int32_t buffersInUse() const override { return queueLength(); }
  void checkpointStarted(const CheckpointBarrier& barrier) override { persister_.startPersisting(barrier.id, {}); }
  void checkpointStopped(int64_t checkpointId) override { persister_.stopPersisting(checkpointId); }
  void convertToPriorityEvent(int32_t sequenceNumber) override;
  bool isLocal() const override { return true; }

 private:
  void throwIfFailed() const;

  const std::shared_ptr<ResultPartitionManager> partitions_;
  ReaderSlot reader_;
  PipelinedSubpartitionView view_;
  ChannelStatePersister persister_;
  bool released_ = false;
  mutable Mutex gaugeMutex_;                    ///< only between a gauge and the end of the channel
  std::shared_ptr<ResultPartition> forGauges_;
};

}  // namespace weir
