#include "weir/task/virtual_channels.h"

#include <algorithm>

#include "weir/base/error.h"

namespace weir {

VirtualChannels::VirtualChannels(const InFlightRescaling& rescaling, int32_t channel, std::string name) : name_(std::move(name)) {
  for (const int32_t subtask : rescaling.oldSubtasks) {
    for (const int32_t sender : rescaling.oldChannels[static_cast<size_t>(channel)]) {
      Virtual made{RecordDeserializer(fmt::format("{}, in flight from subtask {} to subtask {}", name_, sender, subtask)),
                   rescaling.ambiguous.contains(subtask)};
      channels_.emplace(std::pair(subtask, sender), std::move(made));
    }
  }
}

void VirtualChannels::select(int32_t oldSubtask, int32_t oldSender) {
  const auto found = channels_.find({oldSubtask, oldSender});
  if (found == channels_.end())
    throw Throwable("java.lang.IllegalStateException", fmt::format("Cannot select the in-flight data from subtask {} to subtask {} on {}",
                                                                   oldSender, oldSubtask, name_));
  selected_ = &found->second;
}

RecordDeserializer& VirtualChannels::selected() const {
  if (!selected_) throw Throwable("java.lang.IllegalStateException", "in-flight data of nobody came on " + name_);
  return selected_->deserializer;
}

std::optional<int64_t> VirtualChannels::inputWatermark(int64_t watermark) {
  selected_->watermark = watermark;
  int64_t smallest = kMaxWatermark;
  for (const auto& [who, channel] : channels_) {
    if (!channel.watermark) return std::nullopt;
    smallest = std::min(smallest, *channel.watermark);
  }
  return smallest;
}

WatermarkStatus VirtualChannels::inputStatus(WatermarkStatus status) {
  selected_->idle = status.idle;
  return {std::all_of(channels_.begin(), channels_.end(), [](const auto& channel) { return channel.second.idle; })};
}

void VirtualChannels::finish() const {
  for (const auto& [pair, channel] : channels_) {
    if (channel.deserializer.getUnconsumedBuffer().size() > 0)
      throw Throwable("java.io.IOException", channel.deserializer.channel() + ": the in-flight data ends in the middle of a record");
  }
}

}  // namespace weir
