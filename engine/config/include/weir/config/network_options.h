#pragma once

#include "weir/config/config_option.h"

// Options of buffers and of the data wire. Flink: NettyShuffleEnvironmentOptions, TaskManagerOptions (network memory).
namespace weir {

inline constexpr ConfigOption<MemorySize> kMemorySegmentSize{
    "taskmanager.memory.segment-size", MemorySize::ofKibiBytes(32), [](const MemorySize& value) {
      const bool powerOfTwo = (value.bytes & (value.bytes - 1)) == 0;
      return value.bytes >= 4096 && value.bytes <= (int64_t{1} << 30) && powerOfTwo ? nullptr : "a power of two from 4 kb to 1 gb";
    }};
inline constexpr ConfigOption<MemorySize> kMinMemorySegmentSize{"taskmanager.memory.min-segment-size", MemorySize{256}};
/// Where debloating starts.
inline constexpr ConfigOption<MemorySize> kStartingMemorySegmentSize{"taskmanager.memory.starting-segment-size", MemorySize{1024}};
inline constexpr ConfigOption<float> kNetworkMemoryFraction{"taskmanager.memory.network.fraction", 0.1f, complainOutsideUnit};
inline constexpr ConfigOption<MemorySize> kNetworkMemoryMin{"taskmanager.memory.network.min", MemorySize::ofMebiBytes(64)};
inline constexpr ConfigOption<MemorySize> kNetworkMemoryMax{"taskmanager.memory.network.max", MemorySize{INT64_MAX}};

/// Options of Flink 1.x, fixed at these values in 2.x.
inline constexpr ConfigOption<int32_t> kBuffersPerChannel{"taskmanager.network.memory.buffers-per-channel", 2, complainBelow<0>};
inline constexpr ConfigOption<int32_t> kFloatingBuffersPerGate{"taskmanager.network.memory.floating-buffers-per-gate", 8, complainBelow<0>};
inline constexpr ConfigOption<int32_t> kMaxBuffersPerChannel{"taskmanager.network.memory.max-buffers-per-channel", 10, complainBelow<1>};
inline constexpr ConfigOption<int32_t> kMaxOverdraftBuffersPerGate{"taskmanager.network.memory.max-overdraft-buffers-per-gate", 20,
                                                                   complainBelow<0>};

/// Unset: no limit for streaming.
inline constexpr ConfigOption<int32_t> kMaxRequiredBuffersPerGate{
    "taskmanager.network.memory.read-buffer.required-per-gate.max", {}, complainBelow<0>};
inline constexpr ConfigOption<Duration> kBuffersRequestTimeout{"taskmanager.network.memory.buffers-request-timeout",
                                                               Duration(std::chrono::seconds(30))};
inline constexpr ConfigOption<bool> kBufferDebloatEnabled{"taskmanager.network.memory.buffer-debloat.enabled", false};
inline constexpr ConfigOption<Duration> kBufferDebloatPeriod{"taskmanager.network.memory.buffer-debloat.period", Duration(Millis(200)),
                                                             complainZero};
inline constexpr ConfigOption<int32_t> kBufferDebloatSamples{"taskmanager.network.memory.buffer-debloat.samples", 20, complainBelow<1>};
inline constexpr ConfigOption<Duration> kBufferDebloatTarget{"taskmanager.network.memory.buffer-debloat.target",
                                                             Duration(std::chrono::seconds(1)), complainZero};
inline constexpr ConfigOption<int32_t> kBufferDebloatThresholdPercentages{
    "taskmanager.network.memory.buffer-debloat.threshold-percentages", 25,
    [](const int32_t& value) { return value >= 0 && value <= 100 ? nullptr : "a percentage from 0 to 100"; }};
inline constexpr ConfigOption<bool> kNetworkDetailedMetrics{"taskmanager.network.detailed-metrics", false};
inline constexpr ConfigOption<int32_t> kNetworkRetries{"taskmanager.network.retries", 0, complainBelow<0>};
inline constexpr ConfigOption<int32_t> kConnectTimeoutSeconds{"taskmanager.network.netty.client.connectTimeoutSec", 120, complainBelow<1>};
/// Unset: the system's choice, of the three.
inline constexpr ConfigOption<int32_t> kKeepIdleSeconds{"taskmanager.network.netty.client.tcp.keepIdleSec", {}, complainBelow<1>};
inline constexpr ConfigOption<int32_t> kKeepIntervalSeconds{"taskmanager.network.netty.client.tcp.keepIntervalSec", {}, complainBelow<1>};
inline constexpr ConfigOption<int32_t> kKeepCount{"taskmanager.network.netty.client.tcp.keepCount", {}, complainBelow<1>};
/// 0: the system's choice, of the two.
inline constexpr ConfigOption<int32_t> kSendReceiveBufferSize{"taskmanager.network.netty.sendReceiveBufferSize", 0, complainBelow<0>};
inline constexpr ConfigOption<int32_t> kServerBacklog{"taskmanager.network.netty.server.backlog", 0, complainBelow<0>};
/// Milliseconds.
inline constexpr ConfigOption<int32_t> kRequestBackoffInitial{"taskmanager.network.request-backoff.initial", 100, complainBelow<0>};
inline constexpr ConfigOption<int32_t> kRequestBackoffMax{"taskmanager.network.request-backoff.max", 10000, complainBelow<0>};
inline constexpr ConfigOption<Duration> kPartitionRequestTimeout{"taskmanager.network.partition-request-timeout",
                                                                 Duration(std::chrono::seconds(10))};

}  // namespace weir
