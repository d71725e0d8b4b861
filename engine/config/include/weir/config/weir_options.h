#pragma once

#include "weir/config/config_option.h"

// Options that Flink does not have.
namespace weir {

enum class ExecutorKind { kThreads, kPool, kSimulated };
template <>
struct EnumNames<ExecutorKind> {
  static constexpr std::string_view className = "weir.executor";
  static constexpr std::array<std::pair<std::string_view, ExecutorKind>, 3> names{
      {{"threads", ExecutorKind::kThreads}, {"pool", ExecutorKind::kPool}, {"simulated", ExecutorKind::kSimulated}}};
};

/// The data wire: Flink since 1.5, or before it.
enum class FlowControl { kCredit, kTcp };
template <>
struct EnumNames<FlowControl> {
  static constexpr std::string_view className = "weir.network.flow-control";
  static constexpr std::array<std::pair<std::string_view, FlowControl>, 2> names{
      {{"credit", FlowControl::kCredit}, {"tcp", FlowControl::kTcp}}};
};

inline constexpr ConfigOption<ExecutorKind> kExecutor{"weir.executor", ExecutorKind::kThreads};
/// Unset: one per core.
inline constexpr ConfigOption<int32_t> kPoolWorkers{"weir.pool.workers", {}, complainOutside1To1024};
/// Unset: one per subtask.
inline constexpr ConfigOption<int32_t> kSimulationCores{"weir.simulation.cores", {}, complainBelow<1>};
inline constexpr ConfigOption<bool> kCheckpointSync{"weir.checkpoint.sync", true};
inline constexpr ConfigOption<bool> kRecoveryFallBack{"weir.recovery.fall-back", false};
inline constexpr ConfigOption<std::string> kTracePath{"weir.trace.path"};
inline constexpr ConfigOption<bool> kIndependentChannelStateAcks{"weir.channel-state.independent-acks", false};
inline constexpr ConfigOption<FlowControl> kFlowControl{"weir.network.flow-control", FlowControl::kCredit};

}  // namespace weir
