#include "weir/channel/channel_state_writer_factory.h"

#include <set>

#include "weir/base/simulated_executor.h"
#include "writer_run.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
void simulated(WriterRun& run) {
  SimulatedExecutor executor;
  run.on(executor);
}

TEST(ChannelStateWriter, SubtasksShareAFileInTheOrderInWhichTheyAsk) {
  WriterRun run;
  run.body = [&](ExecutionContext& context, const auto& create) {
    std::vector<Writer> writers;
    for (int32_t s = 0; s < 5; ++s) writers.push_back(create(s));
    for (const auto& w : writers) w->start(1, kUnaligned);
    for (const auto& w : writers) w->addInputData(1, {0, 0}, buffers({"data"}));
    for (const auto& w : writers) w->finishInput(1), w->finishOutput(1);
    for (const auto& w : writers) EXPECT_EQ(await(context, w->getAndRemoveWriteResult(1)), "written");
    EXPECT_THAT(run.files(1), SizeIs(3)) << "2 + 2 + 1";
  };
  simulated(run);
}

TEST(ChannelStateWriter, AGroupTakesNoMoreOnceItHasStartedACheckpoint) {
  WriterRun run;
  run.body = [](ExecutionContext& context, const auto& create) {
    const Writer first = create(0);
    first->start(1, kUnaligned);
    const Writer second = create(1);
    EXPECT_EQ(finishAndAwait(context, first, 1), "written") << "it does not wait for the second, which came too late";
    second->start(2, kUnaligned);
    EXPECT_EQ(finishAndAwait(context, second, 2), "written");
  };
  simulated(run);
}

TEST(ChannelStateWriter, AGroupTakesNoMoreOnceAMemberHasEnded) {
  WriterRun run;
  run.maxSubtasksPerFile = 3;
  run.body = [](ExecutionContext& context, const auto& create) {
    const Writer first = create(0);
    create(1)->close();
    const Writer third = create(2);
    first->start(1, kUnaligned);
    EXPECT_EQ(finishAndAwait(context, first, 1), "written");
    third->start(1, kUnaligned);
    EXPECT_EQ(finishAndAwait(context, third, 1), "written");
  };
  simulated(run);
}

TEST(ChannelStateWriter, BuffersStayHeldUntilASlowDiskHasTakenThem) {
  WriterRun run;
  FileFault slow{FileFault::Effect::kDelay};
  slow.operations = {FileOperation::kAppend};
  slow.latency = std::chrono::seconds(1);
  run.faults.add(slow);
  run.maxSubtasksPerFile = 1;
  run.body = [](ExecutionContext& context, const auto& create) {
    const Writer writer = create(0);
    const Buffer held = dataBuffer(std::string(100'000, 'x'));
    writer->start(1, kUnaligned);
    const Nanos before = context.clock().monotonic();
    writer->addInputData(1, {0, 0}, {held});
    writer->addOutputData(1, {0, 0}, {held});
    EXPECT_LT(context.clock().monotonic() - before, std::chrono::milliseconds(10)) << "the task does not wait";
    EXPECT_EQ(held.segment()->references(), 3u) << "by reference, no copy";
    EXPECT_EQ(finishAndAwait(context, writer, 1), "written");
    EXPECT_GE(context.clock().monotonic() - before, std::chrono::seconds(2));
    EXPECT_EQ(held.segment()->references(), 1u);
  };
  simulated(run);
}

TEST(ChannelStateWriter, AnAbortOvertakesWhatASlowDiskHasNotTakenYet) {
  WriterRun run;
  FileFault slow{FileFault::Effect::kDelay};
  slow.operations = {FileOperation::kAppend};
  slow.latency = std::chrono::seconds(10);
  run.faults.add(slow);
  run.maxSubtasksPerFile = 1;
  run.body = [&](ExecutionContext& context, const auto& create) {
    const Writer writer = create(0);
    writer->start(1, kUnaligned);
    for (int i = 0; i < 100; ++i) writer->addInputData(1, {0, i}, {dataBuffer(std::string(100'000, 'x'))});
    context.wait(WaitReason::kFile, {}, Deadline::work(context.clock().monotonic() + std::chrono::seconds(1)));
    const auto result = writer->getAndRemoveWriteResult(1);
    writer->abort(1, aborted(), false);
    EXPECT_EQ(await(context, result), "aborted by a test");
    EXPECT_LT(context.clock().monotonic(), std::chrono::seconds(60)) << "of 1000 s of writing";
    EXPECT_THAT(run.files(1), SizeIs(0));
  };
  simulated(run);
}

TEST(ChannelStateWriter, AnAbortThatComesBeforeTheStartCancelsIt) {
  WriterRun run;
  run.maxSubtasksPerFile = 1;
  run.body = [](ExecutionContext& context, const auto& create) {
    const Writer writer = create(0);
    writer->abort(4, aborted(), false);
    writer->start(4, kUnaligned);
    EXPECT_EQ(await(context, writer->getAndRemoveWriteResult(4)), "aborted by a test");
  };
  simulated(run);
}

TEST(ChannelStateWriter, AResultIsGivenOnceAndNotAfterACleanUp) {
  WriterRun run;
  run.body = [](ExecutionContext&, const auto& create) {
    const Writer writer = create(0);
    writer->start(1, kUnaligned);
    EXPECT_NE(writer->getAndRemoveWriteResult(1), nullptr);
    EXPECT_EQ(writer->getAndRemoveWriteResult(1), nullptr);
    writer->start(2, kUnaligned);
    writer->abort(2, aborted(), true);
    EXPECT_EQ(writer->getAndRemoveWriteResult(2), nullptr);
    EXPECT_EQ(writer->getAndRemoveWriteResult(3), nullptr) << "never started";
  };
  simulated(run);
}

TEST(ChannelStateWriter, UnaskedResultsAreLimited) {
  WriterRun run;
  run.body = [](ExecutionContext&, const auto& create) {
    const Writer writer = create(0);
    for (int64_t id = 0; id < 1000; ++id) writer->start(id, kUnaligned);
    EXPECT_THROW(writer->start(1000, kUnaligned), Throwable);
  };
  simulated(run);
}

TEST(ChannelStateWriter, ClosingFailsWhatHasNotEndedAndDropsWhatComesLater) {
  WriterRun run;
  run.maxSubtasksPerFile = 1;
  run.body = [](ExecutionContext& context, const auto& create) {
    const Writer writer = create(0);
    writer->start(1, kUnaligned);
    const auto result = writer->getAndRemoveWriteResult(1);
    writer->close();
    EXPECT_THAT(await(context, result), HasSubstr("ended"));
    const Buffer late = dataBuffer("late");
    writer->completeOutputData(1, {0, 0}, {late});
    writer->abort(1, aborted(), true);
    EXPECT_EQ(late.segment()->references(), 1u);
    writer->close();
  };
  simulated(run);
}

TEST(FailureMode, PersisterRaces) {
  int written = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SimulatedExecutor executor({.seed = seed});
    written += persisterRaces(executor, seed);
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(written, 1000);
}

TEST(FailureMode, LateAsyncTriggerAfterNewerSync) {
  // The start of 1 was posted, but barrier 2 came first: it is reported as subsumed, once, without an exception.
  WriterRun run;
  run.maxSubtasksPerFile = 1;
  run.body = [](ExecutionContext& context, const auto& create) {
    const Writer writer = create(0);
    writer->start(2, kUnaligned);
    writer->start(1, kUnaligned);
    writer->addInputData(1, {0, 0}, buffers({"late"}));
    EXPECT_EQ(await(context, writer->getAndRemoveWriteResult(1)), subsumedFailure());
    EXPECT_EQ(finishAndAwait(context, writer, 2), "written");
  };
  simulated(run);
}

TEST(FailureMode, ChannelStateSmallFiles) {
  // 64 subtasks of one process: as many files as groups, with the same content.
  for (const int perFile : {1, 5, 64}) {
    WriterRun run;
    run.maxSubtasksPerFile = perFile;
    run.body = [&](ExecutionContext& context, const auto& create) {
      std::vector<Writer> writers;
      for (int32_t s = 0; s < 64; ++s) writers.push_back(create(s));
      std::vector<ChannelStateHandle> handles;
      for (const auto& w : writers) {
        w->start(1, kUnaligned);
        w->addInputData(1, {0, 0}, buffers({"of one subtask"}));
        w->finishInput(1), w->finishOutput(1);
      }
      for (const auto& w : writers) {
        const auto result = w->getAndRemoveWriteResult(1);
        EXPECT_EQ(await(context, result), "written");
        handles.push_back(result->written().inputs.at(0));
      }
      EXPECT_THAT(run.files(1), SizeIs((64 + perFile - 1) / perFile));
      const auto lines = readBack(*run.storage, ChannelStateKind::kInput, handles);
      std::set<std::string> subtasks;
      for (const auto& line : lines) {
        subtasks.insert(line.substr(0, line.find(':')));
        EXPECT_THAT(line, HasSubstr("of one subtask"));
      }
      EXPECT_THAT(subtasks, SizeIs(64));
    };
    simulated(run);
  }
}

}  // namespace
}  // namespace weir
