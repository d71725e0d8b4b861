#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "weir/exchange/key_groups.h"
#include "weir/rescale/state_assignment.h"
#include "weir/rescale/subtask_state_mapper.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using enum SubtaskStateMapper;

std::vector<std::vector<int32_t>> mapAll(SubtaskStateMapper mapper, int32_t from, int32_t to) {
  std::vector<std::vector<int32_t>> all;
  for (int32_t i = 0; i < to; ++i) all.push_back(oldSubtasksOf(mapper, i, from, to).value());
  return all;
}

TEST(SubtaskStateMapper, ExamplesOfFlink) {
  EXPECT_THAT(mapAll(kRange, 4, 2), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(mapAll(kRange, 2, 3), ElementsAre(ElementsAre(0), ElementsAre(0, 1), ElementsAre(1)));
  EXPECT_THAT(mapAll(kRange, 3, 2), ElementsAre(ElementsAre(0, 1), ElementsAre(1, 2)));
  EXPECT_THAT(mapAll(kRoundRobin, 5, 2), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3)));
  EXPECT_THAT(mapAll(kArbitrary, 2, 3), ElementsAre(ElementsAre(0), ElementsAre(1), IsEmpty()));
  EXPECT_THAT(mapAll(kFirst, 3, 2), ElementsAre(ElementsAre(0, 1, 2), IsEmpty()));
  EXPECT_THAT(mapAll(kFull, 2, 2), ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1)));
}

TEST(SubtaskStateMapper, APointwisePartitionerIsRefused) {
  EXPECT_THAT(oldSubtasksOf(kUnsupported, 0, 2, 3).error().message, HasSubstr("Cannot rescale the given pointwise partitioner."));
}

TEST(SubtaskStateMapper, ARangeCoversTheOwnersOfAllItsKeyGroupsAtAnyMaxParallelism) {
  for (const int32_t maxParallelism : {12, 128, 130, 1000, 32768}) {
    for (int32_t from = 1; from <= 9; ++from) {
      for (int32_t to = 1; to <= 9; ++to) {
        const auto old = mapAll(kRange, from, to);
        for (int32_t group = 0; group < maxParallelism; ++group) {
          const int32_t before = operatorIndexForKeyGroup(group, from, maxParallelism);
          const auto& mine = old[static_cast<size_t>(operatorIndexForKeyGroup(group, to, maxParallelism))];
          if (std::find(mine.begin(), mine.end(), before) == mine.end())
            ADD_FAILURE() << from << " to " << to << ", group " << group << " of " << maxParallelism;
        }
      }
    }
  }
}

/// A vertex `a` that sends to `b`; every pair of their subtasks has a byte in flight at both ends.
struct Exchange {
  int32_t oldSenders, senders, oldReceivers, receivers;
  PartitionerKind kind = PartitionerKind::kHash;

  static OperatorID sender() { return OperatorID::of(0, 1); }
  static OperatorID receiver() { return OperatorID::of(0, 2); }
  static StreamHandle file(const std::string& name) { return RelativeFileHandle{name, 1000, "/chk-1/" + name}; }

  std::vector<OperatorState> states() const {
    std::vector<OperatorState> all(2);
    all[0].id = sender(), all[0].parallelism = oldSenders;
    all[1].id = receiver(), all[1].parallelism = oldReceivers;
    for (int32_t s = 0; s < oldSenders; ++s) {
      ChannelStateHandle handle{s, 5 * oldReceivers, file(fmt::format("out-{}", s)), {}};
      for (int32_t c = 0; c < oldReceivers; ++c) handle.channels.push_back({0, c, 5, {4 + 5 * c}});
      all[0].subtasks[s].outputChannels = {handle};
    }
    for (int32_t r = 0; r < oldReceivers; ++r) {
      ChannelStateHandle handle{r, 5 * oldSenders, file(fmt::format("in-{}", r)), {}};
      for (int32_t c = 0; c < oldSenders; ++c) handle.channels.push_back({0, c, 5, {4 + 5 * c}});
      all[1].subtasks[r].inputChannels = {handle};
    }
    return all;
  }
  std::vector<RestoreTarget> targets() const {
    return {{"a", senders, 128, true, {sender()}, {}}, {"b", receivers, 128, true, {receiver()}, {{0, 0, kind}}}};
  }
  Result<std::vector<RestoreAssignment>> assign() const { return assignStates(states(), targets(), false, "chk-1"); }
};

/// Sender and receiver of before.
using LogicalChannel = std::pair<int32_t, int32_t>;
/// Sender and receiver of now.
using Ends = std::pair<int32_t, int32_t>;

/// Where each logical channel's input bytes are read, by the rules of the task.
std::multimap<LogicalChannel, Ends> inputPlaces(const RestoreAssignment& receivers) {
  std::multimap<LogicalChannel, Ends> places;
  for (size_t i = 0; i < receivers.subtasks.size(); ++i) {
    const auto& subtask = receivers.subtasks[i];
    const auto& rescaling = subtask.inputRescaling.at(0);
    for (const auto& handle : subtask.operators.at(Exchange::receiver()).inputChannels) {
      EXPECT_THAT(rescaling.oldSubtasks, ::testing::Contains(handle.subtask));
      for (const auto& channel : handle.channels) {
        for (size_t c = 0; c < rescaling.oldChannels.size(); ++c)
          for (const int32_t old : rescaling.oldChannels[c])
            if (old == channel.channelOrSubpartition) places.insert({{old, handle.subtask}, {c, i}});
      }
    }
  }
  return places;
}
std::multimap<LogicalChannel, Ends> outputPlaces(const RestoreAssignment& senders) {
  std::multimap<LogicalChannel, Ends> places;
  for (size_t i = 0; i < senders.subtasks.size(); ++i) {
    const auto& subtask = senders.subtasks[i];
    const auto& rescaling = subtask.outputRescaling.at(0);
    for (const auto& handle : subtask.operators.at(Exchange::sender()).outputChannels) {
      for (const auto& channel : handle.channels) {
        for (size_t n = 0; n < rescaling.oldChannels.size(); ++n)
          for (const int32_t old : rescaling.oldChannels[n])
            if (old == channel.channelOrSubpartition) places.insert({{handle.subtask, old}, {i, n}});
      }
    }
  }
  return places;
}

TEST(InFlightAssignment, InputAndOutputOfALogicalChannelMeetOnTheSameChannelAndNothingIsLost) {
  for (const PartitionerKind kind : {PartitionerKind::kHash, PartitionerKind::kRebalance, PartitionerKind::kShuffle,
                                     PartitionerKind::kGlobal, PartitionerKind::kCustom}) {
    for (int32_t n = 0; n < 625; ++n) {
      const Exchange exchange{1 + n % 5, 1 + n / 5 % 5, 1 + n / 25 % 5, 1 + n / 125, kind};
      if (exchange.oldSenders == exchange.senders && exchange.oldReceivers == exchange.receivers) continue;
      const auto assigned = exchange.assign().value();
      const auto inputs = inputPlaces(assigned[1]), outputs = outputPlaces(assigned[0]);
      std::map<LogicalChannel, std::set<Ends>> in, out;
      for (const auto& [channel, ends] : inputs) EXPECT_TRUE(in[channel].insert(ends).second) << "read twice by the same subtask";
      for (const auto& [channel, ends] : outputs) EXPECT_TRUE(out[channel].insert(ends).second);
      EXPECT_EQ(in, out);
      EXPECT_EQ(in.size(), static_cast<size_t>(exchange.oldSenders * exchange.oldReceivers));
      for (const auto& [channel, ends] : in) {
        std::set<int32_t> channels;
        for (const auto& [sender, receiver] : ends) {
          channels.insert(sender);
          const auto& ambiguous = assigned[1].subtasks[static_cast<size_t>(receiver)].inputRescaling[0].ambiguous;
          EXPECT_EQ(ambiguous.contains(channel.second), ends.size() > 1) << "filtered exactly where several get it";
        }
        EXPECT_THAT(channels, SizeIs(1)) << "one sender of now has it";
      }
    }
  }
}

TEST(InFlightAssignment, WithTheSameParallelismEveryoneKeepsHisOwnAndNothingIsDemultiplexed) {
  const auto assigned = Exchange{2, 2, 3, 3, PartitionerKind::kForward}.assign().value();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(assigned[1].subtasks[i].inputRescaling, IsEmpty());
    EXPECT_EQ(assigned[1].subtasks[i].operators.at(Exchange::receiver()).inputChannels.at(0).subtask, static_cast<int32_t>(i));
  }
  EXPECT_THAT(assigned[0].subtasks[0].outputRescaling, IsEmpty());
}

TEST(InFlightAssignment, APointwiseEdgeThatHoldsDataIsRefusedWithBothTasksNamed) {
  for (const PartitionerKind kind : {PartitionerKind::kForward, PartitionerKind::kRescale, PartitionerKind::kBroadcast}) {
    const auto refused = Exchange{2, 3, 2, 2, kind}.assign();
    ASSERT_TRUE(refused.has_error());
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("Cannot rescale the given pointwise partitioner."),
                                               HasSubstr("add an explicit shuffle()"), HasSubstr("from task a to task b")));
  }
}

TEST(InFlightAssignment, APointwiseEdgeWithoutDataIsNotAsked) {
  Exchange exchange{2, 3, 2, 3, PartitionerKind::kForward};
  auto states = exchange.states();
  for (auto& [i, subtask] : states[0].subtasks) subtask.outputChannels.clear();
  for (auto& [i, subtask] : states[1].subtasks) subtask.inputChannels.clear();
  EXPECT_TRUE(assignStates(states, exchange.targets(), false, "chk-1").has_value());
}

TEST(InFlightAssignment, EachGateAndPartitionGoesItsOwnWay) {
  // b reads a twice: by key, and in turns; a third output of a is a forward without data.
  Exchange exchange{2, 2, 2, 3};
  auto states = exchange.states();
  for (auto& [i, subtask] : states[1].subtasks) subtask.inputChannels[0].channels.push_back({1, 0, 9, {100}});
  for (auto& [i, subtask] : states[0].subtasks) subtask.outputChannels[0].channels.push_back({1, 1, 9, {100}});
  auto targets = exchange.targets();
  targets[1].inputs.push_back({0, 1, PartitionerKind::kRebalance});
  targets[1].inputs.push_back({0, 2, PartitionerKind::kForward});
  const auto assigned = assignStates(states, targets, false, "chk-1").value();
  const auto& second = assigned[1].subtasks[1];
  EXPECT_THAT(second.inputRescaling.at(0).oldSubtasks, ElementsAre(0, 1));
  EXPECT_THAT(second.inputRescaling.at(0).ambiguous, ElementsAre(0, 1));
  EXPECT_THAT(second.inputRescaling.at(1).oldSubtasks, ElementsAre(1));
  EXPECT_THAT(second.inputRescaling.at(1).ambiguous, IsEmpty());
  const auto& handles = second.operators.at(Exchange::receiver()).inputChannels;
  ASSERT_THAT(handles, SizeIs(2));
  EXPECT_THAT(handles[0].channels, SizeIs(2)) << "of subtask 0 the keyed gate alone";
  EXPECT_THAT(handles[1].channels, SizeIs(3)) << "of subtask 1 both gates";
  EXPECT_EQ(handles[1].size, 5 + 5 + 9);
  EXPECT_THAT(assigned[1].subtasks[2].operators.at(Exchange::receiver()).inputChannels, SizeIs(1));
}

TEST(InFlightAssignment, DataOfAnExchangeThatIsNowInsideAChainIsRefused) {
  Exchange exchange{2, 2, 2, 2};
  const std::vector<RestoreTarget> chained{{"a -> b", 2, 128, true, {Exchange::sender(), Exchange::receiver()}, {}}};
  EXPECT_THAT(assignStates(exchange.states(), chained, false, "chk-1").error().message,
              HasSubstr("Cannot recover from unaligned checkpoint when topology changes"));
}

TEST(InFlightAssignment, DataOfAGateThatIsGoneIsRefusedAtAnotherParallelism) {
  Exchange exchange{2, 2, 2, 3};
  auto targets = exchange.targets();
  targets[1].inputs.clear();
  EXPECT_THAT(assignStates(exchange.states(), targets, false, "chk-1").error().message, HasSubstr("task b"));
}

TEST(FailureMode, ForwardMappedToFirst) {
  // The live forward partitioner always says channel 0. Taken literally, all data would go to the first subtask: it is refused where there
  // is some; a rebalanced edge keeps its old owners and spreads those that are gone.
  const auto up = Exchange{2, 2, 2, 3, PartitionerKind::kRebalance}.assign().value();
  EXPECT_THAT(up[1].subtasks[0].inputRescaling[0].oldSubtasks, ElementsAre(0));
  EXPECT_THAT(up[1].subtasks[1].inputRescaling[0].oldSubtasks, ElementsAre(1));
  EXPECT_THAT(up[1].subtasks[2].inputRescaling[0].oldSubtasks, IsEmpty());
  const auto down = Exchange{3, 3, 5, 2, PartitionerKind::kRebalance}.assign().value();
  EXPECT_THAT(down[1].subtasks[0].inputRescaling[0].oldSubtasks, SizeIs(3));
  EXPECT_THAT(down[1].subtasks[1].inputRescaling[0].oldSubtasks, SizeIs(2));
}

}  // namespace
}  // namespace weir
