#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/snapshot/channel_state_writer.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {

/// A ChannelStateWriter that keeps everything in memory and checks how it is used. Any thread. A checkpoint is complete once inputs and
/// outputs are finished and no expected output is open.
class MemoryChannelStateWriter final : public ChannelStateWriter {
 public:
  struct Stored {
    std::map<InputChannelInfo, std::vector<std::string>> inputs;  ///< by channel, a string per buffer
    std::map<ResultSubpartitionInfo, std::vector<std::string>> outputs;
    bool unaligned = false;  ///< as it was started
    bool complete = false;

    static std::string joined(const std::vector<std::string>& buffers) {
      std::string all;
      for (const std::string& buffer : buffers) all += buffer;
      return all;
    }
    std::string input(int gate, int channel) const { return of(inputs, InputChannelInfo{gate, channel}); }
    std::string output(int partition, int subpartition) const { return of(outputs, ResultSubpartitionInfo{partition, subpartition}); }
    size_t bytes() const {
      size_t sum = 0;
      for (const auto& [channel, buffers] : inputs) sum += joined(buffers).size();
      for (const auto& [channel, buffers] : outputs) sum += joined(buffers).size();
      return sum;
    }

   private:
    template <class Map>
    static std::string of(const Map& map, const typename Map::key_type& key) {
      const auto found = map.find(key);
      return found == map.end() ? "" : joined(found->second);
    }
  };

  void start(int64_t id, const CheckpointOptions& options) override {
    std::vector<std::shared_ptr<ChannelStateWriteResult>> older;
    {
      Lock lock(mutex_);
      for (auto& [other, checkpoint] : checkpoints_)
        if (other < id && !checkpoint.ended) {
          checkpoint.ended = true;
          older.push_back(checkpoint.result);
        }
      Checkpoint& checkpoint = checkpoints_[id];
      if (checkpoint.started) problem("checkpoint " + std::to_string(id) + " is started twice");
      checkpoint.started = true;
      checkpoint.stored.unaligned = options.isUnaligned();
      if (!options.needsChannelState()) problem("checkpoint " + std::to_string(id) + " stores nothing, but is started");
      if (checkpoint.ended) older.push_back(checkpoint.result);  // aborted before
    }
    for (const auto& result : older)
      result->fail(std::make_shared<CheckpointException>(CheckpointFailureReason::kCheckpointDeclinedSubsumed));
  }

  void addInputData(int64_t id, InputChannelInfo channel, std::vector<Buffer> data) override {
    Lock lock(mutex_);
    Checkpoint* checkpoint = open(id, "input data");
    if (!checkpoint) return;
    if (checkpoint->inputFinished) problem("input data of checkpoint " + std::to_string(id) + " after its end");
    append(checkpoint->stored.inputs[channel], data);
  }
  void addOutputData(int64_t id, ResultSubpartitionInfo subpartition, std::vector<Buffer> data) override {
    Lock lock(mutex_);
    Checkpoint* checkpoint = open(id, "output data");
    if (!checkpoint) return;
    if (checkpoint->outputFinished) problem("output data of checkpoint " + std::to_string(id) + " after its end");
    append(checkpoint->stored.outputs[subpartition], data);
  }
  void expectOutputData(int64_t id, ResultSubpartitionInfo subpartition) override {
    Lock lock(mutex_);
    if (Checkpoint* checkpoint = open(id, "expected output data")) checkpoint->expected.insert(subpartition);
  }
  void completeOutputData(int64_t id, ResultSubpartitionInfo subpartition, std::vector<Buffer> data) override {
    {
      Lock lock(mutex_);
      Checkpoint* checkpoint = open(id, "the end of output data");
      if (!checkpoint) return;
      if (checkpoint->expected.erase(subpartition) == 0) problem("output data of checkpoint " + std::to_string(id) + " was not expected");
      append(checkpoint->stored.outputs[subpartition], data);
    }
    completeIfDone(id);
  }
  void failOutputData(int64_t id, ResultSubpartitionInfo, std::shared_ptr<const Throwable> cause) override {
    abort(id, std::move(cause), false);
  }
  void finishInput(int64_t id) override {
    {
      Lock lock(mutex_);
      Checkpoint* checkpoint = open(id, "the end of its inputs");
      if (!checkpoint) return;
      checkpoint->inputFinished = true;
    }
    completeIfDone(id);
  }
  void finishOutput(int64_t id) override {
    {
      Lock lock(mutex_);
      Checkpoint* checkpoint = open(id, "the end of its outputs");
      if (!checkpoint) return;
      checkpoint->outputFinished = true;
    }
    completeIfDone(id);
  }
  void abort(int64_t id, std::shared_ptr<const Throwable> cause, bool) override {
    std::shared_ptr<ChannelStateWriteResult> result;
    {
      Lock lock(mutex_);
      Checkpoint& checkpoint = checkpoints_[id];
      if (checkpoint.ended) return;
      checkpoint.ended = true;
      result = checkpoint.result;
      aborted.push_back(id);
    }
    result->fail(std::move(cause));
  }
  std::shared_ptr<ChannelStateWriteResult> getAndRemoveWriteResult(int64_t id) override {
    Lock lock(mutex_);
    Checkpoint& checkpoint = checkpoints_[id];
    if (!checkpoint.started) return nullptr;
    if (std::exchange(checkpoint.asked, true)) problem("checkpoint " + std::to_string(id) + " is asked for twice");
    return checkpoint.result;
  }
  void close() override {
    std::vector<std::shared_ptr<ChannelStateWriteResult>> left;
    {
      Lock lock(mutex_);
      closed_ = true;
      for (auto& [id, checkpoint] : checkpoints_)
        if (!std::exchange(checkpoint.ended, true)) left.push_back(checkpoint.result);
    }
    for (const auto& result : left)
      result->fail(std::make_shared<Throwable>("java.util.concurrent.CancellationException", "the task has ended"));
  }

  /// A copy of what there is.
  Stored stored(int64_t id) const {
    Lock lock(mutex_);
    const auto found = checkpoints_.find(id);
    return found == checkpoints_.end() ? Stored{} : found->second.stored;
  }
  std::vector<int64_t> checkpoints() const {
    Lock lock(mutex_);
    std::vector<int64_t> ids;
    for (const auto& [id, checkpoint] : checkpoints_)
      if (checkpoint.started) ids.push_back(id);
    return ids;
  }
  /// Outputs of this checkpoint that may still follow.
  size_t expectedOutputs(int64_t id) const {
    Lock lock(mutex_);
    const auto found = checkpoints_.find(id);
    return found == checkpoints_.end() ? 0 : found->second.expected.size();
  }
  std::vector<std::string> problems() const {
    Lock lock(mutex_);
    return problems_;
  }

  std::vector<int64_t> aborted;  ///< for tests of one thread

 private:
  struct Checkpoint {
    explicit Checkpoint(int64_t id) : result(std::make_shared<ChannelStateWriteResult>(id)) {}
    Stored stored;
    std::set<ResultSubpartitionInfo> expected;
    bool started = false, inputFinished = false, outputFinished = false, ended = false, asked = false;
    std::shared_ptr<ChannelStateWriteResult> result;
  };
  struct Checkpoints : std::map<int64_t, Checkpoint> {
    Checkpoint& operator[](int64_t id) { return try_emplace(id, id).first->second; }
  };

  void problem(std::string what) { problems_.push_back(std::move(what)); }
  /// Null where what comes has to be dropped.
  Checkpoint* open(int64_t id, const char* what) {
    const auto found = checkpoints_.find(id);
    if (found == checkpoints_.end() || !found->second.started) {
      if (!closed_ && (found == checkpoints_.end() || !found->second.ended))
        problem(std::string(what) + " of checkpoint " + std::to_string(id) + ", which was not started");
      return nullptr;
    }
    return found->second.ended || closed_ ? nullptr : &found->second;
  }
  void append(std::vector<std::string>& into, const std::vector<Buffer>& data) {
    for (const Buffer& buffer : data) {
      if (!buffer.isBuffer()) problem("an event is stored as data");
      if (buffer.size() == 0) problem("an empty buffer is stored");
      into.emplace_back(reinterpret_cast<const char*>(buffer.data()), buffer.size());
    }
  }
  void completeIfDone(int64_t id) {
    WrittenChannelState written;
    std::shared_ptr<ChannelStateWriteResult> result;
    {
      Lock lock(mutex_);
      Checkpoint& checkpoint = checkpoints_[id];
      if (checkpoint.ended || !checkpoint.inputFinished || !checkpoint.outputFinished || !checkpoint.expected.empty()) return;
      checkpoint.ended = checkpoint.stored.complete = true;
      result = checkpoint.result;
      addHandle(written.inputs, checkpoint.stored.inputs, [](InputChannelInfo c) { return std::pair(c.gate, c.channel); });
      addHandle(written.outputs, checkpoint.stored.outputs,
                [](ResultSubpartitionInfo s) { return std::pair(s.partition, s.subpartition); });
    }
    result->complete(std::move(written));
  }
  template <class Map, class Names>
  static void addHandle(std::vector<ChannelStateHandle>& into, const Map& map, Names names) {
    ChannelStateHandle handle;
    auto bytes = std::make_shared<std::vector<std::byte>>(4);  // the version, 0
    for (const auto& [key, buffers] : map) {
      if (buffers.empty()) continue;
      ChannelStateHandle::Channel channel;
      std::tie(channel.gateOrPartition, channel.channelOrSubpartition) = names(key);
      for (const std::string& buffer : buffers) {
        channel.offsets.push_back(static_cast<int64_t>(bytes->size()));
        channel.size += 4 + static_cast<int64_t>(buffer.size());
        for (int shift = 24; shift >= 0; shift -= 8) bytes->push_back(static_cast<std::byte>(buffer.size() >> shift));
        for (const char c : buffer) bytes->push_back(static_cast<std::byte>(c));
      }
      handle.size += channel.size;
      handle.channels.push_back(std::move(channel));
    }
    if (handle.channels.empty()) return;
    handle.stream = InlineHandle{"in-flight", std::move(bytes)};
    into.push_back(std::move(handle));
  }

  mutable Mutex mutex_;
  Checkpoints checkpoints_;
  std::vector<std::string> problems_;
  bool closed_ = false;
};

}  // namespace weir
