#include "network_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir {
namespace {

using Gates = std::shared_ptr<const std::vector<GateMetricSource>>;
using Partitions = std::shared_ptr<const std::vector<std::shared_ptr<ResultPartition>>>;

constexpr const char* kInput = "Shuffle.Netty.Input.";
constexpr const char* kOutput = "Shuffle.Netty.Output.";

/// Buffers in use, of how many.
struct Usage {
  int64_t used = 0, total = 0;
  Usage operator+(const Usage& other) const { return {used + other.used, total + other.total}; }
  MetricValue ratio() const { return total == 0 ? 0.0 : static_cast<double>(used) / static_cast<double>(total); }
};

/// Floating buffers that hold data, or wait to be read: not those that a channel has in hand for what is to come.
Usage floatingUsage(const GateMetricSource& gate) {
  int64_t inHand = 0;
  for (const RemoteInputChannel* channel : gate.remote) inHand += channel->receiver()->buffers().availableFloating();
  return {std::max<int64_t>(0, gate.floating->used() - inHand), gate.floating->size()};
}

Usage exclusiveUsage(const GateMetricSource& gate) {
  Usage usage;
  for (const RemoteInputChannel* channel : gate.remote) {
    const BufferManager& buffers = channel->receiver()->buffers();
    usage.used += std::max(0, buffers.initialCredit() - buffers.availableExclusive());
    usage.total += buffers.initialCredit();
  }
  return usage;
}

template <class Sources, class F>
auto sumOf(const Sources& sources, F of) {
  decltype(of(sources.front())) sum{};
  for (const auto& source : sources) sum = sum + of(source);
  return sum;
}

/// total, min, max and average of the lengths that `lengths` appends.
template <class Lengths>
void registerQueueLengths(MetricGroup& group, const std::string& prefix, Lengths lengths) {
  const auto over = [lengths](auto compute) {
    return [lengths, compute]() -> MetricValue {
      std::vector<int64_t> all;
      lengths(all);
      return compute(all);
    };
  };
  const auto total = [](const std::vector<int64_t>& all) { return sumOf(all, [](int64_t length) { return length; }); };
  group.gauge(prefix + "totalQueueLen", over([total](const auto& all) -> MetricValue { return all.empty() ? int64_t{0} : total(all); }));
  group.gauge(prefix + "minQueueLen", over([](const auto& all) -> MetricValue {
                return all.empty() ? int64_t{0} : *std::min_element(all.begin(), all.end());
              }));
  group.gauge(prefix + "maxQueueLen", over([](const auto& all) -> MetricValue {
                return all.empty() ? int64_t{0} : *std::max_element(all.begin(), all.end());
              }));
  group.gauge(prefix + "avgQueueLen", over([total](const auto& all) -> MetricValue {
                return all.empty() ? 0.0 : static_cast<double>(total(all)) / static_cast<double>(all.size());
              }));
}

/// What came in over channels of one kind, under both names that Flink has for it.
void registerChannelCounts(MetricGroup& group, const Gates& gates, bool local) {
  const auto count = [gates, local](int64_t (InputChannel::*what)() const) {
    return [gates, local, what] {
      int64_t sum = 0;
      for (const GateMetricSource& source : *gates)
        for (int32_t i = 0; i < source.gate->numberOfChannels(); ++i)
          if (const InputChannel& channel = source.gate->channel(i); channel.isLocal() == local) sum += (channel.*what)();
      return sum;
    };
  };
  const std::string kind = local ? "Local" : "Remote";
  for (const std::string& prefix : {std::string(kInput), std::string()}) {
    group.counterAndRate(prefix + "numBytesIn" + kind, count(&InputChannel::numBytesIn));
    group.counterAndRate(prefix + "numBuffersIn" + kind, count(&InputChannel::numBuffersIn));
  }
}

void registerTotals(MetricGroup& group, const Gates& gates) {
  const auto count = [gates](int64_t (InputChannel::*what)() const) {
    return [gates, what] {
      int64_t sum = 0;
      for (const GateMetricSource& source : *gates)
        for (int32_t i = 0; i < source.gate->numberOfChannels(); ++i) sum += (source.gate->channel(i).*what)();
      return sum;
    };
  };
  group.counterAndRate("numBytesIn", count(&InputChannel::numBytesIn));
  group.counterAndRate("numBuffersIn", count(&InputChannel::numBuffersIn));
}

void registerDebloating(MetricGroup& group, const Gates& gates) {
  const auto most = [gates](auto of) {
    return [gates, of]() -> MetricValue {
      int64_t most = 0;
      for (const GateMetricSource& source : *gates) most = std::max(most, of(*source.gate));
      return most;
    };
  };
  group.gauge("estimatedTimeToConsumeBuffersMs",
              most([](const SingleInputGate& gate) { return int64_t{gate.estimatedTimeToConsumeBuffers().count()}; }));
  group.gauge("debloatedBufferSize", most([](const SingleInputGate& gate) { return int64_t{gate.debloatedBufferSize()}; }));
}

}  // namespace

void registerInputMetrics(MetricGroup& group, std::vector<GateMetricSource> sources, bool detailed) {
  const auto gates = std::make_shared<const std::vector<GateMetricSource>>(std::move(sources));
  // Also where there is no input, as for a source: then they are zero.
  const auto over = [gates](auto of) { return [gates, of]() -> MetricValue { return gates->empty() ? int64_t{0} : sumOf(*gates, of); }; };
  const auto usage = [gates](auto of) {
    return [gates, of]() -> MetricValue { return (gates->empty() ? Usage{} : sumOf(*gates, of)).ratio(); };
  };
  for (const std::string& prefix : {std::string(kInput) + "Buffers.", std::string("buffers.")}) {
    group.gauge(prefix + "inputQueueLength", over([](const GateMetricSource& s) { return int64_t{s.gate->queueLength()}; }));
    group.gauge(prefix + "inPoolUsage", usage([](const GateMetricSource& s) { return floatingUsage(s) + exclusiveUsage(s); }));
    group.gauge(prefix + "inputFloatingBuffersUsage", usage(floatingUsage));
    group.gauge(prefix + "inputExclusiveBuffersUsage", usage(exclusiveUsage));
  }
  group.gauge(std::string(kInput) + "Buffers.inputQueueSize", over([](const GateMetricSource& s) { return s.gate->queuedBytes(); }));
  registerChannelCounts(group, gates, true);
  registerChannelCounts(group, gates, false);
  registerTotals(group, gates);
  if (std::any_of(gates->begin(), gates->end(), [](const GateMetricSource& s) { return s.debloated; })) registerDebloating(group, gates);
  if (!detailed) return;
  for (size_t i = 0; i < gates->size(); ++i) {
    const auto lengths = [gates, i](std::vector<int64_t>& all) {
      for (const RemoteInputChannel* channel : (*gates)[i].remote) all.push_back(channel->queueLength());
    };
    for (const char* prefix : {kInput, "Network.Input."}) registerQueueLengths(group, fmt::format("{}{}.", prefix, i), lengths);
  }
}

void registerOutputMetrics(MetricGroup& group, std::vector<std::shared_ptr<ResultPartition>> sources, bool detailed) {
  const Partitions partitions = std::make_shared<const std::vector<std::shared_ptr<ResultPartition>>>(std::move(sources));
  const auto over = [partitions](auto of) {
    return [partitions, of] { return partitions->empty() ? int64_t{0} : sumOf(*partitions, of); };
  };
  using Partition = std::shared_ptr<ResultPartition>;
  const auto queued = over([](const Partition& p) { return int64_t{p->queuedBuffers()}; });
  const auto usage = [partitions]() -> MetricValue {
    Usage usage;
    for (const Partition& p : *partitions) usage = usage + Usage{p->pool().used(), p->pool().size()};
    return usage.ratio();
  };
  for (const std::string& prefix : {std::string(kOutput) + "Buffers.", std::string("buffers.")}) {
    group.gauge(prefix + "outputQueueLength", [queued] { return MetricValue(queued()); });
    group.gauge(prefix + "outPoolUsage", usage);
  }
  const auto bytes = over([](const Partition& p) { return p->queuedBytes(); });
  group.gauge(std::string(kOutput) + "Buffers.outputQueueSize", [bytes] { return MetricValue(bytes()); });
  group.counterAndRate("numBytesOut", over([](const Partition& p) { return p->numBytesOut(); }));
  group.counterAndRate("numBuffersOut", over([](const Partition& p) { return p->numBuffersOut(); }));
  if (!detailed) return;
  for (size_t i = 0; i < partitions->size(); ++i) {
    const auto lengths = [partitions, i](std::vector<int64_t>& all) {
      ResultPartition& partition = *(*partitions)[i];
      for (int32_t n = 0; n < partition.subpartitionCount(); ++n)
        all.push_back(partition.subpartition(static_cast<uint32_t>(n)).queueLength());
    };
    for (const char* prefix : {kOutput, "Network.Output."}) registerQueueLengths(group, fmt::format("{}{}.", prefix, i), lengths);
  }
}

void registerShuffleMetrics(MetricGroup& group, const std::shared_ptr<NetworkBufferPool>& buffers) {
  const auto total = [buffers] { return int64_t{buffers->totalSegments()}; };
  const auto used = [buffers] { return int64_t{buffers->usedSegments()}; };
  const auto available = [total, used] { return total() - used(); };
  const int64_t size = buffers->segmentSize();
  const std::string prefix = "Status.Shuffle.Netty.";
  group.gauge(prefix + "TotalMemorySegments", [total] { return MetricValue(total()); });
  group.gauge(prefix + "UsedMemorySegments", [used] { return MetricValue(used()); });
  group.gauge(prefix + "AvailableMemorySegments", [available] { return MetricValue(available()); });
  group.gauge(prefix + "TotalMemory", [total, size] { return MetricValue(total() * size); });
  group.gauge(prefix + "UsedMemory", [used, size] { return MetricValue(used() * size); });
  group.gauge(prefix + "AvailableMemory", [available, size] { return MetricValue(available() * size); });
  group.gauge("Status.Network.TotalMemorySegments", [total] { return MetricValue(total()); });
  group.gauge("Status.Network.AvailableMemorySegments", [available] { return MetricValue(available()); });
}

}  // namespace weir
