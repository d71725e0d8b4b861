#pragma once

#include "weir/config/config_option.h"

// Options of a job as a whole. Flink: PipelineOptions, ExecutionOptions, CoreOptions.
namespace weir {

/// Only STREAMING can be run. Flink: RuntimeExecutionMode.
enum class RuntimeExecutionMode { kStreaming, kBatch, kAutomatic };
template <>
struct EnumNames<RuntimeExecutionMode> {
  static constexpr std::string_view className = "org.apache.flink.api.common.RuntimeExecutionMode";
  static constexpr std::array<std::pair<std::string_view, RuntimeExecutionMode>, 3> names{
      {{"STREAMING", RuntimeExecutionMode::kStreaming},
       {"BATCH", RuntimeExecutionMode::kBatch},
       {"AUTOMATIC", RuntimeExecutionMode::kAutomatic}}};
};

inline constexpr ConfigOption<RuntimeExecutionMode> kRuntimeMode{
    "execution.runtime-mode", RuntimeExecutionMode::kStreaming, [](const RuntimeExecutionMode& mode) {
      return mode == RuntimeExecutionMode::kBatch ? "STREAMING (Weir runs no batch jobs)" : nullptr;
    }};
inline constexpr ConfigOption<bool> kBufferTimeoutEnabled{"execution.buffer-timeout.enabled", true};
/// Zero: flushed after every record.
inline constexpr ConfigOption<Duration> kBufferTimeout{"execution.buffer-timeout.interval", Duration(Millis(100))};
inline constexpr ConfigOption<int32_t> kDefaultParallelism{"parallelism.default", 1, complainBelow<1>};
/// -1: derived from the parallelism.
inline constexpr ConfigOption<int32_t> kMaxParallelism{
    "pipeline.max-parallelism", -1,
    [](const int32_t& value) { return value == -1 || (value >= 1 && value <= 32768) ? nullptr : "-1, or 1 to 32768"; }};
inline constexpr ConfigOption<bool> kOperatorChaining{"pipeline.operator-chaining.enabled", true};
inline constexpr ConfigOption<bool> kObjectReuse{"pipeline.object-reuse", false};
inline constexpr ConfigOption<std::string> kPipelineName{"pipeline.name"};
inline constexpr ConfigOption<Duration> kAutoWatermarkInterval{"pipeline.auto-watermark-interval", Duration(Millis(200))};
inline constexpr ConfigOption<bool> kAutoGenerateUids{"pipeline.auto-generate-uids", true};
inline const ConfigOption<ConfigMap> kGlobalJobParameters{"pipeline.global-job-parameters"};

}  // namespace weir
