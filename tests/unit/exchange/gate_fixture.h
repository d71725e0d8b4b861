#pragma once

#include <gtest/gtest.h>

#include "unit/exchange/exchange_fixture.h"

namespace weir::testing {

/// One gate that reads subpartition 0 of each of several partitions, as an all-to-all edge does.
struct Gate {
  explicit Gate(int32_t channels, ChannelStateWriter* writer = nullptr) {
    std::vector<std::pair<int32_t, uint32_t>> sources;
    for (int32_t i = 0; i < channels; ++i) {
      partitions.push_back(exchange.partition(1));
      writers.push_back(std::make_unique<RecordWriter>(partitions.back()));
      sources.push_back({i, 0});
    }
    gate = exchange.gate(sources, 0, writer);
    EXPECT_FALSE(gate->requestPartitions());
  }
  /// A buffer of its own with this text, length included in what is read.
  void send(int32_t channel, std::string_view text) {
    emitText(*writers[channel], 0, text);
    partitions[channel]->flushAll();
  }
  void sendEvent(int32_t channel, const RuntimeEvent& event, bool priority = false) {
    partitions[channel]->broadcastEvent(event, priority);
  }
  /// "channel:text" or "channel:TYPE" of what comes next.
  std::string next(bool priority = false) {
    const auto got = priority ? gate->pollPriority() : gate->pollNext();
    return got ? describe(*got) : "nothing";
  }
  static std::string describe(const BufferOrEvent& got) {
    return std::to_string(got.channelIndex) + ":" + (got.isBuffer() ? asText(got.buffer).substr(4) : std::string(toString(got.dataType())));
  }

  Exchange exchange;
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  std::vector<std::unique_ptr<RecordWriter>> writers;
  std::unique_ptr<SingleInputGate> gate;
};

}  // namespace weir::testing
