#include "weir/time/status_watermark_valve.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir {

StatusWatermarkValve::StatusWatermarkValve(int channels)
    : channels_(static_cast<size_t>(channels)), unfinished_(channels), active_(channels), aligned_(channels) {
  while (firstLeaf_ < channels_.size()) firstLeaf_ *= 2;
  minima_.assign(firstLeaf_ * 2, kMaxWatermark);
  for (size_t c = 0; c < channels_.size(); ++c) place(c);
}

/// Brings the channel's leaf, and what stands over it, up to date.
void StatusWatermarkValve::place(size_t channel) {
  size_t node = firstLeaf_ + channel;
  minima_[node] = channels_[channel].aligned ? channels_[channel].watermark : kMaxWatermark;
  while (node /= 2) {
    const int64_t smaller = std::min(minima_[node * 2], minima_[node * 2 + 1]);
    if (minima_[node] == smaller) break;
    minima_[node] = smaller;
  }
}

void StatusWatermarkValve::setAligned(size_t channel, bool aligned) {
  if (channels_[channel].aligned != aligned) aligned_ += aligned ? 1 : -1;
  channels_[channel].aligned = aligned;
  place(channel);
}

std::optional<int64_t> StatusWatermarkValve::advanceTo(int64_t watermark) {
  if (watermark <= lastOutput_) return std::nullopt;
  return lastOutput_ = watermark;
}

std::optional<int64_t> StatusWatermarkValve::newMinimum() {
  // The smallest of no channel at all would be MAX, and end all event time.
  if (aligned_ == 0) return std::nullopt;
  return advanceTo(minima_[1]);
}

MergedWatermark StatusWatermarkValve::inputWatermark(int channel, int64_t watermark) {
  Channel& from = channels_[static_cast<size_t>(channel)];
  if (from.idle || watermark <= from.watermark) return {};
  from.watermark = watermark;
  if (watermark == kMaxWatermark) return finished(static_cast<size_t>(channel));
  setAligned(static_cast<size_t>(channel), from.aligned || watermark >= lastOutput_);
  return {newMinimum()};
}

MergedWatermark StatusWatermarkValve::finished(size_t channel) {
  setAligned(channel, false);
  --active_;
  if (--unfinished_ == 0) return {advanceTo(kMaxWatermark)};
  if (active_ > 0) return {newMinimum()};
  return {advanceTo(largestUnfinished()), WatermarkStatus{.idle = true}};
}

int64_t StatusWatermarkValve::largestUnfinished() const {
  int64_t largest = kNoTimestamp;
  for (const Channel& channel : channels_)
    if (!channel.isFinished()) largest = std::max(largest, channel.watermark);
  return largest;
}

MergedWatermark StatusWatermarkValve::inputStatus(int channel, WatermarkStatus status) {
  Channel& from = channels_[static_cast<size_t>(channel)];
  if (from.idle == status.idle || from.isFinished()) return {};
  const bool wasIdle = isIdle();
  from.idle = status.idle;
  active_ += status.idle ? -1 : 1;
  if (!status.idle) {
    setAligned(static_cast<size_t>(channel), from.watermark >= lastOutput_);
    return {std::nullopt, wasIdle ? std::optional(status) : std::nullopt};
  }
  setAligned(static_cast<size_t>(channel), false);
  const bool heldBack = from.watermark == lastOutput_;
  if (active_ > 0) return {heldBack ? newMinimum() : std::nullopt};
  if (!heldBack) return {std::nullopt, status};
  return {advanceTo(largestUnfinished()), status};
}

MergedWatermark StatusWatermarkValve::restart(int channel) {
  Channel& from = channels_[static_cast<size_t>(channel)];
  const bool wasIdle = isIdle();
  if (from.isFinished()) ++unfinished_;
  if (from.isFinished() || from.idle) ++active_;
  from.watermark = kNoTimestamp;
  from.idle = false;
  setAligned(static_cast<size_t>(channel), true);
  return {std::nullopt, wasIdle ? std::optional(WatermarkStatus{.idle = false}) : std::nullopt};
}

std::optional<int64_t> CombinedWatermarkStatus::combine() {
  int64_t smallest = kMaxWatermark, largest = kNoTimestamp;
  bool active = false, unfinished = false;
  for (const Input& input : inputs_) {
    if (input.watermark == kMaxWatermark) continue;
    unfinished = true;
    largest = std::max(largest, input.watermark);
    if (input.idle) continue;
    active = true;
    smallest = std::min(smallest, input.watermark);
  }
  idle_ = unfinished && !active;
  const int64_t next = idle_ ? largest : smallest;
  if (next <= combined_) return std::nullopt;
  return combined_ = next;
}

MergedWatermark CombinedWatermarkStatus::updateWatermark(int input, int64_t watermark) {
  Input& from = inputs_[static_cast<size_t>(input)];
  const bool wasIdle = idle_;
  from.idle = false;
  if (watermark <= from.watermark) return {};
  from.watermark = watermark;
  MergedWatermark merged{combine()};
  if (idle_ != wasIdle) merged.status = WatermarkStatus{idle_};
  return merged;
}

MergedWatermark CombinedWatermarkStatus::updateStatus(int input, WatermarkStatus status) {
  const bool wasIdle = idle_;
  inputs_[static_cast<size_t>(input)].idle = status.idle;
  MergedWatermark merged{combine()};
  if (idle_ != wasIdle) merged.status = WatermarkStatus{idle_};
  return merged;
}

}  // namespace weir
