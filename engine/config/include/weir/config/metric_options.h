#pragma once

#include "weir/config/config_option.h"

// Options of metrics. Flink: MetricOptions. Keys of one reporter (metrics.reporter.NAME.*) have no constants: their names are free.
namespace weir {

/// What a latency histogram is kept per. Flink: LatencyStats.Granularity.
enum class LatencyGranularity { kSingle, kOperator, kSubtask };
template <>
struct EnumNames<LatencyGranularity> {
  static constexpr std::string_view className = "org.apache.flink.streaming.util.LatencyStats$Granularity";
  static constexpr std::array<std::pair<std::string_view, LatencyGranularity>, 3> names{
      {{"single", LatencyGranularity::kSingle}, {"operator", LatencyGranularity::kOperator}, {"subtask", LatencyGranularity::kSubtask}}};
};

inline constexpr ConfigOption<std::string> kMetricReporters{"metrics.reporters"};
inline const ConfigOption<std::string> kMetricScopeDelimiter{"metrics.scope.delimiter", "."};
inline const ConfigOption<std::string> kMetricScopeJobManager{"metrics.scope.jm", "<host>.jobmanager"};
inline const ConfigOption<std::string> kMetricScopeJobManagerJob{"metrics.scope.jm-job", "<host>.jobmanager.<job_name>"};
inline const ConfigOption<std::string> kMetricScopeJobManagerOperator{"metrics.scope.jm-operator",
                                                                      "<host>.jobmanager.<job_name>.<operator_name>"};
inline const ConfigOption<std::string> kMetricScopeTaskManager{"metrics.scope.tm", "<host>.taskmanager.<tm_id>"};
inline const ConfigOption<std::string> kMetricScopeTaskManagerJob{"metrics.scope.tm-job", "<host>.taskmanager.<tm_id>.<job_name>"};
inline const ConfigOption<std::string> kMetricScopeTask{"metrics.scope.task",
                                                        "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>"};
inline const ConfigOption<std::string> kMetricScopeOperator{"metrics.scope.operator",
                                                            "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>"};
/// Zero: no latency markers.
inline constexpr ConfigOption<Duration> kLatencyInterval{"metrics.latency.interval", Duration()};
inline constexpr ConfigOption<LatencyGranularity> kLatencyGranularity{"metrics.latency.granularity", LatencyGranularity::kOperator};
inline constexpr ConfigOption<int32_t> kLatencyHistorySize{"metrics.latency.history-size", 128, complainBelow<1>};
inline constexpr ConfigOption<Duration> kMetricFetcherUpdateInterval{"metrics.fetcher.update-interval", Duration(std::chrono::seconds(10))};

}  // namespace weir
