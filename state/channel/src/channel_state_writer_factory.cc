#include "weir/channel/channel_state_writer_factory.h"

#include <map>

#include "channel_state_write_executor.h"
#include "weir/base/check.h"

namespace weir {
namespace {

/// One subtask's end of the queue. Flink: ChannelStateWriterImpl.
class QueueingWriter final : public ChannelStateWriter {
 public:
  QueueingWriter(std::shared_ptr<ChannelStateWriteExecutor> executor, int32_t number, std::string taskName)
      : executor_(std::move(executor)), number_(number), taskName_(std::move(taskName)) {}
  ~QueueingWriter() override { close(); }

  void start(int64_t checkpointId, const CheckpointOptions& options) override {
    auto result = std::make_shared<ChannelStateWriteResult>(checkpointId);
    {
      Lock lock(mutex_);
      if (closed_) return;
      // A bound against a leak: who starts asks for the result, or aborts.
      if (results_.size() >= kMaxUnfinished)
        throw Throwable("java.lang.IllegalStateException",
                        fmt::format("{} can't start {}, results.size() > maxCheckpoints: {} > {}", taskName_, checkpointId, results_.size(),
                                    kMaxUnfinished));
      WEIR_CHECK(results_.emplace(checkpointId, Started{result, options.location}).second,
                 "{}: result future already present for checkpoint {}", taskName_, checkpointId);
    }
    ChannelStateRequest request = make(Kind::kStart, checkpointId);
    request.result = std::move(result);
    request.location = options.location;
    executor_->submit(std::move(request));
  }

  void addInputData(int64_t checkpointId, InputChannelInfo channel, std::vector<Buffer> data) override {
    submit(Kind::kWriteInput, checkpointId, channel.gate, channel.channel, std::move(data));
  }
  void addOutputData(int64_t checkpointId, ResultSubpartitionInfo subpartition, std::vector<Buffer> data) override {
    submit(Kind::kWriteOutput, checkpointId, subpartition.partition, subpartition.subpartition, std::move(data));
  }
  void expectOutputData(int64_t checkpointId, ResultSubpartitionInfo subpartition) override {
    submit(Kind::kExpectOutput, checkpointId, subpartition.partition, subpartition.subpartition, {});
  }
  void completeOutputData(int64_t checkpointId, ResultSubpartitionInfo subpartition, std::vector<Buffer> data) override {
    submit(Kind::kCompleteOutput, checkpointId, subpartition.partition, subpartition.subpartition, std::move(data));
  }
  void failOutputData(int64_t checkpointId, ResultSubpartitionInfo subpartition, std::shared_ptr<const Throwable> cause) override {
    ChannelStateRequest request = make(Kind::kFailOutput, checkpointId);
    request.gateOrPartition = subpartition.partition;
    request.channelOrSubpartition = subpartition.subpartition;
    request.cause = std::move(cause);
    submit(std::move(request));
  }
  void finishInput(int64_t checkpointId) override { submit(make(Kind::kFinishInput, checkpointId)); }
  void finishOutput(int64_t checkpointId) override { submit(make(Kind::kFinishOutput, checkpointId)); }

  void abort(int64_t checkpointId, std::shared_ptr<const Throwable> cause, bool cleanUp) override {
    ChannelStateRequest request = make(Kind::kAbort, checkpointId);
    request.cause = std::move(cause);
    {
      Lock lock(mutex_);
      if (closed_) return;
      if (const auto found = results_.find(checkpointId); cleanUp && found != results_.end()) {
        request.result = std::move(found->second.result);
        request.location = std::move(found->second.location);
        results_.erase(found);
      }
    }
    executor_->submitUrgent(std::move(request));
  }

  std::shared_ptr<ChannelStateWriteResult> getAndRemoveWriteResult(int64_t checkpointId) override {
    Lock lock(mutex_);
    const auto found = results_.find(checkpointId);
    if (found == results_.end()) return nullptr;
    auto result = std::move(found->second.result);
    results_.erase(found);
    return result;
  }

  void close() override {
    std::map<int64_t, Started> unasked;
    {
      Lock lock(mutex_);
      if (std::exchange(closed_, true)) return;
      unasked.swap(results_);
    }
    const auto cause = std::make_shared<Throwable>("java.util.concurrent.CancellationException", "The subtask has ended.");
    for (auto& [id, started] : unasked) {
      ChannelStateRequest drop = make(Kind::kDrop, id);
      drop.cause = cause;
      drop.result = std::move(started.result);
      drop.location = std::move(started.location);
      executor_->submit(std::move(drop));
    }
    executor_->submit(make(Kind::kRelease, 0));
  }

 private:
  using Kind = ChannelStateRequest::Kind;
  static constexpr size_t kMaxUnfinished = 1000;
  struct Started {
    std::shared_ptr<ChannelStateWriteResult> result;
    std::vector<uint8_t> location;
  };

  ChannelStateRequest make(Kind kind, int64_t checkpointId) const {
    ChannelStateRequest request;
    request.kind = kind;
    request.writer = number_;
    request.checkpointId = checkpointId;
    return request;
  }
  void submit(Kind kind, int64_t checkpointId, int32_t first, int32_t second, std::vector<Buffer> data) {
    ChannelStateRequest request = make(kind, checkpointId);
    request.gateOrPartition = first;
    request.channelOrSubpartition = second;
    request.data = std::move(data);
    submit(std::move(request));
  }
  void submit(ChannelStateRequest request) {
    {
      Lock lock(mutex_);
      if (closed_) return;  // `request` lets go of its buffers after the lock
    }
    executor_->submit(std::move(request));
  }

  const std::shared_ptr<ChannelStateWriteExecutor> executor_;
  const int32_t number_;
  const std::string taskName_;
  Mutex mutex_;
  std::map<int64_t, Started> results_;  ///< started, and not asked for
  bool closed_ = false;
};

}  // namespace

ChannelStateWriterFactory::ChannelStateWriterFactory(Executor& executor, LogSink& log, Options options)
    : executor_(executor), log_(log, "org.apache.flink.runtime.checkpoint.channel.ChannelStateWriteRequestExecutorFactory"),
      options_(std::move(options)) {
  WEIR_CHECK(options_.storage != nullptr && options_.maxSubtasksPerFile >= 1);
}

ChannelStateWriterFactory::~ChannelStateWriterFactory() = default;

std::shared_ptr<ChannelStateWriter> ChannelStateWriterFactory::create(const std::string& taskName, int32_t subtask) {
  std::shared_ptr<ChannelStateWriteExecutor> group;
  std::optional<int32_t> number;
  {
    Lock lock(mutex_);
    group = filling_;
  }
  if (group) number = group->join(subtask);
  if (!number) {
    group = std::make_shared<ChannelStateWriteExecutor>(options_.storage, options_.acks, options_.maxSubtasksPerFile);
    number = group->join(subtask);
    ActorOptions actor = options_.actor;
    {
      Lock lock(mutex_);
      filling_ = group;
      actor.name += fmt::format(" {}", groups_++);
    }
    executor_.spawn(std::move(actor), [group](ExecutionContext& context) { group->run(context); });
  }
  log_.debug("{} writes its in-flight data as member {} of its file's subtasks.", taskName, *number);
  return std::make_shared<QueueingWriter>(std::move(group), *number, taskName);
}

}  // namespace weir
