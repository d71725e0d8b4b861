#include "weir/channel/channel_state_dispatcher.h"

#include "channel_fixture.h"

// The state table of the writer (Flink: ChannelStateWriteRequestDispatcherImpl), a row or two each.
namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = ChannelStateRequest::Kind;
using Result_ = std::shared_ptr<ChannelStateWriteResult>;

class ChannelStateDispatcherTest : public ::testing::Test, protected StorageFixture {
 protected:
  ChannelStateDispatcherTest() { use(ChannelStateAcks::kTogether); }
  void use(ChannelStateAcks acks, int subtasks = 2) {
    dispatcher = std::make_unique<ChannelStateDispatcher>(*storage, acks);
    for (int32_t s = 0; s < subtasks; ++s) {
      ChannelStateRequest request = make(Kind::kRegister, s, 0);
      request.subtask = s;
      dispatcher->dispatch(std::move(request));
    }
  }
  ChannelStateRequest make(Kind kind, int32_t writer, int64_t id) {
    ChannelStateRequest request;
    request.kind = kind;
    request.writer = writer;
    request.checkpointId = id;
    return request;
  }
  Result_ start(int32_t writer, int64_t id) {
    auto result = std::make_shared<ChannelStateWriteResult>(id);
    ChannelStateRequest request = make(Kind::kStart, writer, id);
    request.result = result;
    dispatcher->dispatch(std::move(request));
    return result;
  }
  void send(Kind kind, int32_t writer, int64_t id) { dispatcher->dispatch(make(kind, writer, id)); }
  void data(Kind kind, int32_t writer, int64_t id, int32_t channel, std::initializer_list<std::string> texts) {
    ChannelStateRequest request = make(kind, writer, id);
    request.channelOrSubpartition = channel;
    request.data = buffers(texts);
    dispatcher->dispatch(std::move(request));
  }
  void abort(int32_t writer, int64_t id, Result_ unasked = nullptr) {
    ChannelStateRequest request = make(Kind::kAbort, writer, id);
    request.cause = aborted();
    request.result = std::move(unasked);
    dispatcher->dispatch(std::move(request));
  }
  void finish(int32_t writer, int64_t id) {
    send(Kind::kFinishInput, writer, id);
    send(Kind::kFinishOutput, writer, id);
  }
  std::vector<std::string> read(ChannelStateKind kind, const std::vector<Result_>& results) {
    std::vector<ChannelStateHandle> handles;
    for (const auto& result : results) {
      const auto& own = kind == ChannelStateKind::kInput ? result->written().inputs : result->written().outputs;
      handles.insert(handles.end(), own.begin(), own.end());
    }
    return readBack(*storage, kind, handles);
  }

  std::unique_ptr<ChannelStateDispatcher> dispatcher;
};

TEST_F(ChannelStateDispatcherTest, OffsetsPointAtLengthsAndSizesIncludeThem) {
  const auto a = start(0, 1), b = start(1, 1);
  data(Kind::kWriteInput, 0, 1, 1, {"12345", "67"});
  data(Kind::kWriteOutput, 1, 1, 3, {"abc"});
  data(Kind::kWriteInput, 0, 1, 0, {"x"});
  data(Kind::kWriteInput, 0, 1, 1, {"8"});
  finish(0, 1);
  finish(1, 1);
  ASSERT_THAT(a->written().inputs, SizeIs(1));
  const ChannelStateHandle& input = a->written().inputs[0];
  ASSERT_THAT(input.channels, SizeIs(2));
  EXPECT_EQ(input.channels[0].channelOrSubpartition, 0);
  EXPECT_THAT(input.channels[0].offsets, ElementsAre(26));
  EXPECT_EQ(input.channels[0].size, 5);
  EXPECT_EQ(input.channels[1].channelOrSubpartition, 1);
  EXPECT_THAT(input.channels[1].offsets, ElementsAre(4, 13, 31));
  EXPECT_EQ(input.channels[1].size, 9 + 6 + 5);
  EXPECT_EQ(input.size, 25);
  EXPECT_EQ(b->written().outputs[0].subtask, 1);
  EXPECT_THAT(read(ChannelStateKind::kInput, {a, b}),
              ElementsAre("0: 0.1@4: 12345", "0: 0.1@13: 67", "0: 0.0@26: x", "0: 0.1@31: 8"));
  EXPECT_THAT(read(ChannelStateKind::kOutput, {a, b}), ElementsAre("1: 0.3@19: abc"));
}

TEST_F(ChannelStateDispatcherTest, AFileIsCompleteWhenEverySubtaskHasFinishedInputsAndOutputs) {
  const auto a = start(0, 1);
  data(Kind::kWriteInput, 0, 1, 0, {"a"});
  finish(0, 1);
  EXPECT_EQ(outcome(*a), "open") << "the other has not even started";
  const auto b = start(1, 1);
  send(Kind::kFinishInput, 1, 1);
  EXPECT_EQ(outcome(*a), "open");
  send(Kind::kFinishOutput, 1, 1);
  EXPECT_EQ(outcome(*a), "written");
  EXPECT_EQ(outcome(*b), "written");
  EXPECT_TRUE(b->written().empty());
  EXPECT_THAT(files(1), SizeIs(1));
}

TEST_F(ChannelStateDispatcherTest, NothingToWriteMakesNoFile) {
  const auto a = start(0, 1), b = start(1, 1);
  finish(0, 1);
  finish(1, 1);
  EXPECT_TRUE(a->written().empty());
  EXPECT_THAT(files(1), IsEmpty());
}

TEST_F(ChannelStateDispatcherTest, ASmallFileIsCutIntoBlobsInsideTheMetadata) {
  storage = FsCheckpointStorage::create(faulty, JobID::of(1, 2), {"/checkpoints", 100}, Random(3)).value();
  use(ChannelStateAcks::kTogether);
  const auto a = start(0, 1), b = start(1, 1);
  data(Kind::kWriteInput, 0, 1, 0, {"one"});
  data(Kind::kWriteOutput, 1, 1, 0, {"two"});
  data(Kind::kWriteInput, 0, 1, 1, {"three"});
  finish(0, 1);
  finish(1, 1);
  EXPECT_THAT(files(1), IsEmpty());
  const auto& blob = std::get<InlineHandle>(a->written().inputs[0].stream);
  EXPECT_THAT(*blob.bytes, SizeIs(4 + 7 + 9));
  EXPECT_NE(blob.name, std::get<InlineHandle>(b->written().outputs[0].stream).name);
  EXPECT_THAT(read(ChannelStateKind::kInput, {a}), ElementsAre("0: 0.0@4: one", "0: 0.1@11: three"));
  EXPECT_THAT(read(ChannelStateKind::kOutput, {b}), ElementsAre("1: 0.0@4: two"));
}

TEST_F(ChannelStateDispatcherTest, ANewerCheckpointSubsumesTheOngoingOne) {
  const auto first = start(0, 1);
  data(Kind::kWriteInput, 0, 1, 0, {"lost"});
  const auto second = start(1, 2);
  EXPECT_EQ(outcome(*first), subsumedFailure());
  EXPECT_THAT(files(1), IsEmpty()) << "its file goes with it";
  data(Kind::kWriteInput, 0, 1, 0, {"late"});
  finish(0, 1);
  const auto own = start(0, 2);
  finish(0, 2);
  finish(1, 2);
  EXPECT_EQ(outcome(*second), "written");
  EXPECT_EQ(outcome(*own), "written");
}

TEST_F(ChannelStateDispatcherTest, AStartBelowTheOngoingOneIsCancelled) {
  start(0, 5);
  EXPECT_EQ(outcome(*start(1, 4)), subsumedFailure());
}

TEST_F(ChannelStateDispatcherTest, AnAbortFailsItsOwnResultWithItsCauseAndTheOthersAsShared) {
  const auto a = start(0, 1), b = start(1, 1);
  data(Kind::kWriteInput, 0, 1, 0, {"lost"});
  abort(0, 1);
  EXPECT_EQ(outcome(*a), "aborted by a test");
  EXPECT_EQ(outcome(*b), sharedFailure());
  EXPECT_THAT(files(1), IsEmpty());
  data(Kind::kWriteInput, 1, 1, 0, {"dropped"});
  finish(1, 1);
  EXPECT_EQ(outcome(*start(0, 2)), "open") << "the next one is not concerned";
}

TEST_F(ChannelStateDispatcherTest, AStartAfterItsAbortIsCancelled) {
  abort(0, 3);
  EXPECT_EQ(outcome(*start(0, 3)), "aborted by a test");
  EXPECT_EQ(outcome(*start(1, 3)), sharedFailure());
  EXPECT_EQ(outcome(*start(1, 2)), subsumedFailure());
  EXPECT_EQ(outcome(*start(1, 4)), "open");
}

TEST_F(ChannelStateDispatcherTest, AnAbortOfANewerCheckpointSubsumesTheOngoingOne) {
  const auto a = start(0, 1);
  abort(1, 2);
  EXPECT_EQ(outcome(*a), subsumedFailure());
}

TEST_F(ChannelStateDispatcherTest, AnAbortOfAnOlderCheckpointLeavesTheOngoingOneAlone) {
  const auto a = start(0, 2);
  abort(1, 1);
  EXPECT_EQ(outcome(*a), "open");
}

TEST_F(ChannelStateDispatcherTest, WhatWasWrittenForAResultThatNobodyAsksForIsRemoved) {
  const auto a = start(0, 1), b = start(1, 1);
  data(Kind::kWriteInput, 0, 1, 0, {"written"});
  finish(0, 1);
  finish(1, 1);
  ASSERT_THAT(files(1), SizeIs(1));
  abort(0, 1, a);
  EXPECT_THAT(files(1), IsEmpty());
}

TEST_F(ChannelStateDispatcherTest, OutputsAreFinishedWhenWhatTheyExpectHasCome) {
  use(ChannelStateAcks::kTogether, 1);
  const auto a = start(0, 1);
  send(Kind::kExpectOutput, 0, 1);
  finish(0, 1);
  EXPECT_EQ(outcome(*a), "open");
  data(Kind::kCompleteOutput, 0, 1, 0, {"late"});
  EXPECT_EQ(outcome(*a), "written");
  EXPECT_THAT(read(ChannelStateKind::kOutput, {a}), ElementsAre("0: 0.0@4: late"));
}

TEST_F(ChannelStateDispatcherTest, ABarrierThatLeftInOrderEndsTheExpectationWithNothing) {
  use(ChannelStateAcks::kTogether, 1);
  const auto a = start(0, 1);
  send(Kind::kExpectOutput, 0, 1);
  finish(0, 1);
  send(Kind::kCompleteOutput, 0, 1);
  EXPECT_EQ(outcome(*a), "written");
  EXPECT_TRUE(a->written().empty());
}

TEST_F(ChannelStateDispatcherTest, OutputThatFailsFailsAllThatShareTheFile) {
  const auto a = start(0, 1), b = start(1, 1);
  send(Kind::kExpectOutput, 0, 1);
  ChannelStateRequest request = make(Kind::kFailOutput, 0, 1);
  request.cause = aborted("released");
  dispatcher->dispatch(std::move(request));
  EXPECT_EQ(outcome(*a), "released");
  EXPECT_EQ(outcome(*b), sharedFailure());
  finish(1, 1);
}

TEST_F(ChannelStateDispatcherTest, ASubtaskThatEndsIsNotWaitedForAnyMore) {
  const auto a = start(0, 1);
  data(Kind::kWriteInput, 0, 1, 0, {"a"});
  finish(0, 1);
  send(Kind::kRelease, 1, 0);
  EXPECT_EQ(outcome(*a), "written");
  const auto next = start(0, 2);
  finish(0, 2);
  EXPECT_EQ(outcome(*next), "written");
}

TEST_F(ChannelStateDispatcherTest, ASubtaskThatEndsInTheMiddleFailsAlone) {
  const auto a = start(0, 1), b = start(1, 1);
  data(Kind::kWriteInput, 1, 1, 0, {"half"});
  finish(0, 1);
  send(Kind::kRelease, 1, 0);
  EXPECT_THAT(outcome(*b), HasSubstr("ended before"));
  EXPECT_EQ(outcome(*a), "written");
}

TEST_F(ChannelStateDispatcherTest, WhenAllHaveEndedNoFileIsLeft) {
  start(0, 1), start(1, 1);
  data(Kind::kWriteInput, 1, 1, 0, {"half"});
  send(Kind::kRelease, 1, 0);
  send(Kind::kRelease, 0, 0);
  EXPECT_THAT(files(1), IsEmpty());
  EXPECT_FALSE(dispatcher->hasSubtasks());
}

TEST_F(ChannelStateDispatcherTest, AFailingDiskFailsAllAndTheNextCheckpointTriesAgain) {
  const auto a = start(0, 1), b = start(1, 1);
  failAppends();
  data(Kind::kWriteInput, 0, 1, 0, {std::string(100'000, 'x')});
  EXPECT_THAT(outcome(*a), HasSubstr("append"));
  EXPECT_EQ(a->failure()->className(), "java.io.IOException");
  EXPECT_THAT(outcome(*b), HasSubstr("append"));
  finish(0, 1);
  faults.clear();
  const auto next = start(0, 2), other = start(1, 2);
  data(Kind::kWriteInput, 0, 2, 0, {"fine"});
  finish(0, 2);
  finish(1, 2);
  EXPECT_EQ(outcome(*next), "written");
  EXPECT_EQ(outcome(*other), "written");
}

TEST_F(ChannelStateDispatcherTest, DataOfACheckpointThatWasNeverStartedBreaksTheWriter) {
  const auto a = start(0, 1);
  data(Kind::kWriteInput, 0, 2, 0, {"?"});
  EXPECT_THAT(outcome(*a), HasSubstr("writer not found"));
  EXPECT_THAT(outcome(*start(0, 3)), HasSubstr("writer not found"));
}

TEST_F(ChannelStateDispatcherTest, DataAfterItsSideWasFinishedBreaksTheWriter) {
  start(0, 1);
  const auto b = start(1, 1);
  send(Kind::kFinishInput, 0, 1);
  data(Kind::kWriteOutput, 0, 1, 0, {"outputs are still open"});
  EXPECT_EQ(outcome(*b), "open");
  data(Kind::kWriteInput, 0, 1, 0, {"?"});
  EXPECT_THAT(outcome(*b), HasSubstr("finished before"));
}

// --- weir.channel-state.independent-acks ---

/// What the subtasks with these results send to the coordinator.
std::vector<std::shared_ptr<const TaskStateSnapshot>> acknowledged(const std::vector<std::shared_ptr<ChannelStateWriteResult>>& results) {
  std::vector<std::shared_ptr<const TaskStateSnapshot>> all;
  for (const auto& result : results) {
    auto snapshot = std::make_shared<TaskStateSnapshot>();
    snapshot->operators[OperatorID{}].inputChannels = result->written().inputs;
    all.push_back(std::move(snapshot));
  }
  return all;
}

TEST_F(ChannelStateDispatcherTest, IndependentlyEachSubtaskIsDoneWhenItHasFinishedItself) {
  use(ChannelStateAcks::kIndependent, 3);
  const auto a = start(0, 1), b = start(1, 1);
  data(Kind::kWriteInput, 0, 1, 0, {"a1"});
  data(Kind::kWriteInput, 1, 1, 0, {"b1"});
  finish(0, 1);
  EXPECT_EQ(outcome(*a), "written");
  EXPECT_EQ(outcome(*b), "open");
  EXPECT_THAT(read(ChannelStateKind::kInput, {a}), ElementsAre("0: 0.0@4: a1")) << "what it acknowledges can be read at once";
  data(Kind::kWriteInput, 1, 1, 0, {"b2"});
  finish(1, 1);
  const auto c = start(2, 1);
  finish(2, 1);
  EXPECT_EQ(outcome(*c), "written");
  EXPECT_THAT(files(1), SizeIs(1));

  std::vector<OperatorState> operators(1);
  operators[0].subtasks[0].inputChannels = a->written().inputs;
  operators[0].subtasks[1].inputChannels = b->written().inputs;
  EXPECT_TRUE(checkChannelState(*storage, operators).has_error()) << "the first was written when the file was shorter";
  settleFileSizes(acknowledged({a, b}), operators);
  EXPECT_FALSE(checkChannelState(*storage, operators).has_error());
}

TEST_F(ChannelStateDispatcherTest, IndependentlyAPartThatTheCheckpointLeavesOutCountsForTheLengthOfTheFile) {
  use(ChannelStateAcks::kIndependent, 2);
  const auto a = start(0, 1), b = start(1, 1);
  data(Kind::kWriteInput, 0, 1, 0, {"a1"});
  finish(0, 1);
  data(Kind::kWriteInput, 1, 1, 0, {"the end of event time, of a source that had finished"});
  finish(1, 1);
  std::vector<OperatorState> operators(1);
  operators[0].subtasks[0].inputChannels = a->written().inputs;
  settleFileSizes(acknowledged({a, b}), operators);
  EXPECT_FALSE(checkChannelState(*storage, operators).has_error());
}

TEST_F(ChannelStateDispatcherTest, IndependentlyAnAbortConcernsItsOwnSubtaskAlone) {
  use(ChannelStateAcks::kIndependent);
  const auto a = start(0, 1), b = start(1, 1);
  abort(0, 1);
  EXPECT_EQ(outcome(*a), "aborted by a test");
  EXPECT_EQ(outcome(*b), "open");
  data(Kind::kWriteInput, 0, 1, 0, {"dropped"});
  data(Kind::kWriteInput, 1, 1, 0, {"kept"});
  finish(1, 1);
  EXPECT_EQ(outcome(*b), "written");
  EXPECT_EQ(outcome(*start(0, 1)), "aborted by a test");
}

TEST_F(ChannelStateDispatcherTest, IndependentlyAllAbortedLeaveNoFile) {
  use(ChannelStateAcks::kIndependent);
  start(0, 1), start(1, 1);
  data(Kind::kWriteInput, 1, 1, 0, {"half"});
  abort(0, 1);
  abort(1, 1);
  EXPECT_THAT(files(1), IsEmpty());
}

}  // namespace
}  // namespace weir
