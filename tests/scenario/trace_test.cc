#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/in_flight.h"

// What the trace of barriers tells of a whole job.
namespace weir {
namespace {

struct Traced : InFlightJob {
  Traced() : trace(std::make_shared<BarrierTrace>(runner.executor().clock())) { runner.cluster.trace = trace; }
  /// The events of one checkpoint and the names of all tracks.
  std::vector<BarrierTraceEvent> eventsOf(int64_t checkpointId) {
    trace->drain(events);
    tracks = trace->tracksFrom(0);
    std::vector<BarrierTraceEvent> found;
    for (const auto& event : events)
      if (event.checkpointId == checkpointId) found.push_back(event);
    return found;
  }
  std::shared_ptr<BarrierTrace> trace;
  std::vector<BarrierTraceEvent> events;
  std::vector<BarrierTrace::Track> tracks;
};

TEST(Trace, EveryAcknowledgementNamesItsSubtask) {
  Traced s;
  const std::string folder = s.cancelWithDataInFlight();
  const auto events = s.eventsOf(std::stoll(folder.substr(folder.rfind('-') + 1)));
  std::vector<std::string> emitted, acknowledged;
  for (const auto& event : events) {
    if (event.step == BarrierStep::kEmitted) emitted.push_back(s.tracks[event.track].name);
    if (event.step != BarrierStep::kAcknowledged) continue;
    ASSERT_GE(event.details.of, 0);
    acknowledged.push_back(s.tracks[static_cast<size_t>(event.details.of)].name);
  }
  EXPECT_GT(acknowledged.size(), 8u);
  EXPECT_THAT(acknowledged, ::testing::UnorderedElementsAreArray(emitted));
}

TEST(Trace, WhatBarriersOvertookInOutputsIsWhatTheCheckpointStoredOfThem) {
  Traced s;
  const std::string folder = s.cancelWithDataInFlight();
  int64_t overtaken = 0, stored = 0;
  for (const auto& event : s.eventsOf(std::stoll(folder.substr(folder.rfind('-') + 1))))
    if (event.step == BarrierStep::kOvertook) overtaken += event.details.bytes;
  for (const OperatorState& op : s.operatorsOf(folder))
    for (const auto& [index, subtask] : op.subtasks)
      for (const auto& handle : subtask.outputChannels)
        for (const auto& channel : handle.channels) stored += channel.size - 4 * static_cast<int64_t>(channel.offsets.size());
  EXPECT_GT(stored, 1000);
  EXPECT_EQ(overtaken, stored);
}

}  // namespace
}  // namespace weir
