#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "weir/base/check.h"
#include "weir/base/random.h"
#include "weir/exchange/key_groups.h"

namespace weir {

/// How in-flight data finds its subtask after a rescale. Flink: SubtaskStateMapper.
enum class SubtaskStateMapper : uint8_t { kUnsupported, kArbitrary, kRoundRobin, kRange, kFirst, kFull };

/// The partitioners that an edge can have, and what follows from each.
enum class PartitionerKind : uint8_t { kForward, kRescale, kRebalance, kShuffle, kHash, kGlobal, kBroadcast, kCustom };

struct PartitionerTraits {
  std::string_view name;  ///< as Flink's plans print it
  bool pointwise;  ///< else all-to-all
  bool supportsUnaligned;
  SubtaskStateMapper upstream, downstream;
};
constexpr PartitionerTraits traitsOf(PartitionerKind kind) {
  using enum SubtaskStateMapper;
  switch (kind) {
    case PartitionerKind::kForward: return {"FORWARD", true, false, kUnsupported, kUnsupported};
    case PartitionerKind::kRescale: return {"RESCALE", true, false, kUnsupported, kUnsupported};
    case PartitionerKind::kRebalance: return {"REBALANCE", false, true, kArbitrary, kRoundRobin};
    case PartitionerKind::kShuffle: return {"SHUFFLE", false, true, kArbitrary, kRoundRobin};
    case PartitionerKind::kHash: return {"HASH", false, true, kArbitrary, kRange};
    case PartitionerKind::kGlobal: return {"GLOBAL", false, true, kArbitrary, kFirst};
    case PartitionerKind::kBroadcast: return {"BROADCAST", false, false, kUnsupported, kUnsupported};
    case PartitionerKind::kCustom: return {"CUSTOM", false, true, kArbitrary, kFull};
  }
  return {};
}

/// The one that plans print as `name`.
constexpr std::optional<PartitionerKind> partitionerNamed(std::string_view name) {
  for (int kind = 0; kind <= static_cast<int>(PartitionerKind::kCustom); ++kind)
    if (traitsOf(static_cast<PartitionerKind>(kind)).name == name) return static_cast<PartitionerKind>(kind);
  return std::nullopt;
}

// A channel selector picks the subpartition of each value: select(value), inlined into the emitting loop. One per producing subtask, used
// by its task. Flink: ChannelSelector and the classes of streaming.runtime.partitioner.

/// Flink: ForwardPartitioner.
struct ForwardPartitioner {
  static constexpr bool kIsBroadcast = false;
  template <class T>
  uint32_t select(const T&) { return 0; }
};

/// Flink: GlobalPartitioner.
struct GlobalPartitioner {
  static constexpr bool kIsBroadcast = false;
  template <class T>
  uint32_t select(const T&) { return 0; }
};

/// All channels: never asked for one. Flink: BroadcastPartitioner.
struct BroadcastPartitioner {
  static constexpr bool kIsBroadcast = true;
};

/// Round robin from channel 0 on, over the consumers of this subtask. Flink: RescalePartitioner.
class RescalePartitioner {
 public:
  static constexpr bool kIsBroadcast = false;
  explicit RescalePartitioner(uint32_t channels) : channels_(channels), next_(channels - 1) {}
  template <class T>
  uint32_t select(const T&) {
    if (++next_ == channels_) next_ = 0;
    return next_;
  }

 private:
  uint32_t channels_, next_;
};

/// Round robin; the first channel is random, so that short streams do not all hit channel 0. Flink: RebalancePartitioner.
class RebalancePartitioner {
 public:
  static constexpr bool kIsBroadcast = false;
  RebalancePartitioner(uint32_t channels, Random& random) : channels_(channels), next_(static_cast<uint32_t>(random.below(channels))) {}
  template <class T>
  uint32_t select(const T&) {
    if (++next_ == channels_) next_ = 0;
    return next_;
  }

 private:
  uint32_t channels_, next_;
};

/// Uniformly random, record by record. Flink: ShufflePartitioner.
class ShufflePartitioner {
 public:
  static constexpr bool kIsBroadcast = false;
  ShufflePartitioner(uint32_t channels, Random random) : channels_(channels), random_(random) {}
  template <class T>
  uint32_t select(const T&) { return static_cast<uint32_t>(random_.below(channels_)); }

 private:
  uint32_t channels_;
  Random random_;
};

/// By the key group of the key. `keyOf(value)` returns the key, best by reference. Flink: KeyGroupStreamPartitioner.
template <class KeyOf>
class HashPartitioner {
 public:
  static constexpr bool kIsBroadcast = false;
  HashPartitioner(KeyOf keyOf, int32_t channels, int32_t maxParallelism) : keyOf_(std::move(keyOf)), assigner_(channels, maxParallelism) {}
  template <class T>
  uint32_t select(const T& value) { return static_cast<uint32_t>(assigner_.subtaskOf(keyOf_(value))); }

 private:
  KeyOf keyOf_;
  KeyGroupAssigner assigner_;
};

/// By a user's function of key and number of channels. Flink: CustomPartitionerWrapper.
template <class KeyOf, class Choose>
class CustomPartitioner {
 public:
  static constexpr bool kIsBroadcast = false;
  CustomPartitioner(KeyOf keyOf, Choose choose, int32_t channels)
      : keyOf_(std::move(keyOf)), choose_(std::move(choose)), channels_(channels) {}
  template <class T>
  uint32_t select(const T& value) {
    const int32_t channel = choose_(keyOf_(value), channels_);
    if (channel < 0 || channel >= channels_) [[unlikely]] outOfRange(channel);
    return static_cast<uint32_t>(channel);
  }

 private:
  [[noreturn]] void outOfRange(int32_t channel) const {
    throw Throwable("java.lang.ArrayIndexOutOfBoundsException",
                    fmt::format("the partitioner chose channel {} of {}: return 0 to {}", channel, channels_, channels_ - 1));
  }
  KeyOf keyOf_;
  Choose choose_;
  int32_t channels_;
};

}  // namespace weir
