#include "weir/task/virtual_channels.h"

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

void VirtualChannels::finish() const {
  for (const auto& [pair, channel] : channels_) {
    if (channel.deserializer.getUnconsumedBuffer().size() > 0)
      throw Throwable("java.io.IOException", channel.deserializer.channel() + ": the in-flight data ends in the middle of a record");
  }
}

}  // namespace weir
