#include "weir/metrics/barrier_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/base/log_sinks.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/faulty_file_system.h"
#include "weir/base/simulated_executor.h"
#include "weir/base/thread_executor.h"
#include "weir/metrics/trace_file.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void put(FileSystem& files, const std::string& path, std::string_view text) {
  auto file = files.create(path, FileSystem::Create::kTruncate);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE((*file)->append(std::as_bytes(std::span(text))).has_value());
  ASSERT_TRUE((*file)->close().has_value());
}

constexpr std::string_view kHeader = "{\"format\":\"weir barrier trace\",\"version\":1,\"start-epoch-ms\":1700000000000}\n";
constexpr std::string_view kTrack = "{\"track\":0,\"process\":\"tm1\",\"name\":\"map (1/2)#0\"}\n";

std::string problemOf(std::string_view text) {
  MemoryFileSystem files;
  put(files, "/trace", text);
  const auto trace = readBarrierTrace(files, "/trace");
  return trace.has_value() ? "" : trace.error().message;
}

TEST(BarrierTrace, DrainsWhatEveryTrackRecordedInItsOrder) {
  const auto trace = std::make_shared<BarrierTrace>(SystemClock::instance());
  const auto first = trace->tracer("tm1", "map (1/2)#0");
  const auto second = trace->tracer("tm2", "map (2/2)#0");
  first->record(BarrierStep::kReceived, 1, {.gate = 0, .channel = 3});
  second->record(BarrierStep::kReceived, 1);
  first->record(BarrierStep::kEmitted, 1);
  first->recordElsewhere(BarrierStep::kSnapshotAsync, 1, {.bytes = 17});

  std::vector<BarrierTraceEvent> events;
  trace->drain(events);
  std::vector<BarrierStep> ofFirst;
  for (const auto& event : events)
    if (event.track == 0 && event.step != BarrierStep::kSnapshotAsync) ofFirst.push_back(event.step);
  EXPECT_EQ(events.size(), 4u);
  EXPECT_THAT(ofFirst, ElementsAre(BarrierStep::kReceived, BarrierStep::kEmitted));
  events.clear();
  trace->drain(events);
  EXPECT_TRUE(events.empty());
}

TEST(BarrierTrace, WhatAnotherTellsOfATaskNamesItsNewestTrack) {
  const auto trace = std::make_shared<BarrierTrace>(SystemClock::instance());
  const auto coordinator = trace->tracer("jobmanager", "coordinator");
  trace->tracer("tm1", "map (1/2)#0");
  trace->tracer("tm2", "map (1/2)#0");
  coordinator->recordOf("map (1/2)#0", BarrierStep::kAcknowledged, 1, {.bytes = 5});
  coordinator->recordOf("unheard of", BarrierStep::kAcknowledged, 1);
  std::vector<BarrierTraceEvent> events;
  trace->drain(events);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].track, 0u);
  EXPECT_EQ(events[0].details, (BarrierDetails{.bytes = 5, .of = 2}));
  EXPECT_EQ(events[1].details.of, -1);
}

TEST(BarrierTrace, EveryStepHasANameOfItsOwn) {
  for (int i = 0; i < kBarrierSteps; ++i) {
    const auto step = static_cast<BarrierStep>(i);
    EXPECT_EQ(barrierStepOf(barrierStepName(step)), step);
  }
  EXPECT_EQ(barrierStepOf("lost"), std::nullopt);
}

TEST(BarrierTraceFile, ReadsBackWhatAJobOfManyActorsWrote) {
  ThreadExecutor executor;
  MemoryFileSystem files;
  NullLogSink log;
  World world{executor, files, log};
  constexpr int kActors = 4, kEvents = 5'000;
  executor.run("test", [&](ExecutionContext& context) {
    const auto trace = std::make_shared<BarrierTrace>(executor.clock());
    auto writer = BarrierTraceWriter::start(world, "/trace", trace);
    ASSERT_TRUE(writer.has_value()) << writer.error().message;
    std::vector<std::shared_ptr<Actor>> actors;
    for (int a = 0; a < kActors; ++a)
      actors.push_back(executor.spawn({.name = "task " + std::to_string(a)}, [&, a](ExecutionContext&) {
        const auto tracer = trace->tracer("tm" + std::to_string(a % 2), "task \"" + std::to_string(a) + "\"");
        for (int i = 0; i < kEvents; ++i)
          tracer->record(BarrierStep::kEnqueued, i, {.gate = 0, .channel = a, .count = i, .bytes = 7, .durationNanos = 9, .of = 0});
      }));
    for (auto& actor : actors) context.wait(WaitReason::kInputOrMail, {&actor->done()});
    (*writer)->stop(context);
  });
  const auto read = readBarrierTrace(files, "/trace");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->tracks.size(), static_cast<size_t>(kActors));
  ASSERT_EQ(read->events.size(), static_cast<size_t>(kActors * kEvents));
  std::vector<int64_t> next(kActors, 0);
  for (const auto& event : read->events) {
    const auto& name = read->tracks[event.track].name;
    const int32_t channel = event.details.channel;
    EXPECT_EQ(name, "task \"" + std::to_string(channel) + "\"");
    const BarrierDetails expected{
        .gate = 0, .channel = channel, .count = next[static_cast<size_t>(channel)]++, .bytes = 7, .durationNanos = 9, .of = 0};
    ASSERT_EQ(event.details, expected);
  }
}

TEST(BarrierTraceFile, IsTheSameForTheSameSeed) {
  const auto write = [](uint64_t seed) {
    SimulatedExecutor executor({.seed = seed});
    MemoryFileSystem files;
    NullLogSink log;
    World world{executor, files, log};
    executor.run("test", [&](ExecutionContext& context) {
      const auto trace = std::make_shared<BarrierTrace>(executor.clock());
      auto writer = BarrierTraceWriter::start(world, "/trace", trace);
      std::vector<std::shared_ptr<Actor>> actors;
      for (int a = 0; a < 3; ++a)
        actors.push_back(executor.spawn({.name = "task " + std::to_string(a)}, [&, a](ExecutionContext& task) {
          const auto tracer = trace->tracer("tm1", "task " + std::to_string(a));
          for (int i = 1; i < 20; ++i) {
            task.wait(WaitReason::kInputOrMail, {}, Deadline::work(task.clock().monotonic() + Millis(10)));
            tracer->record(BarrierStep::kReceived, i);
          }
        }));
      for (auto& actor : actors) context.wait(WaitReason::kInputOrMail, {&actor->done()});
      (*writer)->stop(context);
    });
    return *files.readAll("/trace");
  };
  EXPECT_EQ(write(5), write(5));
  EXPECT_NE(write(5), write(6));
}

TEST(BarrierTraceFile, EndsWithAWarningWhereTheDiskIsFull) {
  ThreadExecutor executor;
  MemoryFileSystem memory;
  FileFaults faults;
  FaultyFileSystem files(memory, faults);
  MemoryLogSink log(executor.clock());
  World world{executor, files, log};
  executor.run("test", [&](ExecutionContext& context) {
    const auto trace = std::make_shared<BarrierTrace>(executor.clock());
    auto writer = BarrierTraceWriter::start(world, "/trace", trace);
    ASSERT_TRUE(writer.has_value());
    faults.add({.effect = FileFault::Effect::kFullDisk, .path = "/trace", .afterBytes = 200});
    const auto tracer = trace->tracer("tm1", "task");
    for (int i = 0; i < 100; ++i) tracer->record(BarrierStep::kReceived, i);
    (*writer)->stop(context);
  });
  EXPECT_THAT(log.text(), HasSubstr("The barrier trace ends here: "));
}

TEST(BarrierTraceFile, LeavesOutALineThatTheEndOfTheProcessCutOff) {
  MemoryFileSystem files;
  put(files, "/trace",
      std::string(kHeader) + std::string(kTrack) + "{\"ns\":5,\"track\":0,\"checkpoint\":1,\"step\":\"received\"}\n{\"ns\":7,\"tra");
  const auto trace = readBarrierTrace(files, "/trace");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->events.size(), 1u);
  EXPECT_EQ(trace->startEpochMs, 1700000000000);
}

TEST(BarrierTraceFile, AMistakeIsToldWithItsLineAndKey) {
  const std::string begin = std::string(kHeader) + std::string(kTrack);
  EXPECT_EQ(problemOf(""), "/trace: the file is empty, a barrier trace is expected");
  EXPECT_EQ(problemOf("carrier,delay\n"), "/trace:1: this is no barrier trace");
  EXPECT_EQ(problemOf("{\"format\":\"other\"}\n"), "/trace:1: this is no barrier trace; -D weir.trace.path=FILE writes one");
  EXPECT_EQ(problemOf("{\"format\":\"weir barrier trace\",\"version\":2,\"start-epoch-ms\":1}\n"),
            "/trace:1: the trace was written by a newer version of weir");
  EXPECT_EQ(problemOf(begin + "{]\n"), "/trace:3: this is no JSON");
  EXPECT_EQ(problemOf(begin + "[1]\n"), "/trace:3: an object is expected");
  EXPECT_EQ(problemOf(begin + "{\"ns\":1,\"track\":1,\"checkpoint\":1,\"step\":\"received\"}\n"), "/trace:3: \"track\": out of range");
  EXPECT_EQ(problemOf(begin + "{\"ns\":1,\"track\":0,\"checkpoint\":1,\"step\":\"lost\"}\n"), "/trace:3: \"step\": there is no such step");
  EXPECT_EQ(problemOf(begin + "{\"ns\":\"x\",\"track\":0,\"checkpoint\":1,\"step\":\"received\"}\n"),
            "/trace:3: \"ns\": a number is expected");
  EXPECT_EQ(problemOf(begin + "{\"track\":5,\"process\":\"tm1\",\"name\":\"x\"}\n"),
            "/trace:3: \"track\": tracks count from 0 without a gap");
  EXPECT_THAT(problemOf(begin + "{\"ns\":1,\"track\":0,\"checkpoint\":1,\"step\":\"received\",\"channel\":-2}\n"), HasSubstr("/trace:3"));
}

}  // namespace
}  // namespace weir
