#pragma once

#include <memory>
#include <string>

#include "weir/exchange/input_channel.h"
#include "weir/transport/connection_manager.h"
#include "weir/transport/remote_receiver.h"

namespace weir {

/// Reads a subpartition of another TaskManager: what arrives lies in its receiver, and its buffers say how much may be sent.
///
/// Flink: RemoteInputChannel, the half that belongs to the task; RemoteReceiver is the other. Threads: the consuming task.
/// Life: setup, requestSubpartition, releaseAllResources. Errors: as InputChannel; a lost connection is a RemoteTransportException.
class RemoteInputChannel final : public InputChannel {
 public:
  struct Remote {
    std::string taskManager;  ///< where the producer runs
    InputChannelID id;        ///< unique on the connection, over all attempts
    Millis partitionRequestTimeout{10'000};
  };
  RemoteInputChannel(InputChannelDescriptor descriptor, Remote remote, std::shared_ptr<ConnectionManager> connections,
                     std::shared_ptr<ChannelStateWriter> writer = nullptr);
  ~RemoteInputChannel() override { releaseAllResources(); }

  /// Before anything else; as BufferManager::setup.
  void setup(std::shared_ptr<LocalBufferPool> exclusiveSource, int32_t exclusive, std::shared_ptr<LocalBufferPool> floating);

  bool requestSubpartition(const ReaderSlot& reader) override;
  std::optional<BufferAndBacklog> getNextBuffer() override;
  void resumeConsumption() override;
  void acknowledgeAllRecordsProcessed() override;
  void announceBufferSize(int32_t size) override;
  void releaseAllResources() override;
  bool isReleased() const override { return receiver_->isReleased(); }
  int32_t queueLength() const override { return receiver_->queueLength(); }
  int64_t queuedBytes() const override { return receiver_->queuedBytes(); }
  int32_t buffersInUse() const override { return receiver_->buffersInUse(); }
  void checkpointStarted(const CheckpointBarrier& barrier) override { receiver_->checkpointStarted(barrier); }
  void checkpointStopped(int64_t checkpointId) override { receiver_->checkpointStopped(checkpointId); }
  void convertToPriorityEvent(int32_t sequenceNumber) override { receiver_->convertToPriorityEvent(sequenceNumber); }
  bool isLocal() const override { return false; }

  const std::string& taskManager() const { return remote_.taskManager; }
  const std::shared_ptr<RemoteReceiver>& receiver() const { return receiver_; }

 private:
  /// How its buffers reach the connection, once there is one.
  struct Announcer {
    InputChannelID id;
    std::shared_ptr<PartitionRequestClient> client;
  };

  const Remote remote_;
  const std::shared_ptr<ConnectionManager> connections_;
  const std::shared_ptr<Announcer> announcer_;
  const std::shared_ptr<RemoteReceiver> receiver_;
};

}  // namespace weir
