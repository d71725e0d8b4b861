#pragma once

#include <memory>
#include <vector>

#include "weir/exchange/result_partition.h"
#include "weir/exchange/single_input_gate.h"
#include "weir/metrics/metric_group.h"
#include "weir/transport/remote_input_channel.h"

namespace weir {

/// What one gate is measured by.
struct GateMetricSource {
  SingleInputGate* gate = nullptr;
  std::shared_ptr<LocalBufferPool> floating;
  std::vector<const RemoteInputChannel*> remote;
  bool debloated = false;
};

/// Registers what a task tells of its inputs and outputs, by Flink's names; those that Flink still registers twice, twice. What it looks
/// at must live until the group is closed. `detailed`: taskmanager.network.detailed-metrics.
///
/// Flink: NettyShuffleMetricFactory, InputChannelMetrics, TaskIOMetricGroup. Differs: meters and their counters come from the counts that
/// channels and partitions keep anyway.
void registerInputMetrics(MetricGroup& group, std::vector<GateMetricSource> gates, bool detailed);
void registerOutputMetrics(MetricGroup& group, std::vector<std::shared_ptr<ResultPartition>> partitions, bool detailed);
/// Of a TaskManager.
void registerShuffleMetrics(MetricGroup& group, const std::shared_ptr<NetworkBufferPool>& buffers);

}  // namespace weir
