#pragma once

#include <functional>
#include <set>

#include "channel_fixture.h"
#include "weir/base/executor.h"
#include "weir/base/log_sinks.h"
#include "weir/channel/channel_state_writer_factory.h"

namespace weir {

using Writer = std::shared_ptr<ChannelStateWriter>;

inline const CheckpointOptions kUnaligned = CheckpointOptions().toUnaligned();

/// Runs a body as an actor with writers of one TaskManager; `body` gets what makes writers.
struct WriterRun : StorageFixture {
  std::function<void(ExecutionContext&, const std::function<Writer(int32_t)>&)> body;
  int maxSubtasksPerFile = 2;
  ChannelStateAcks acks = ChannelStateAcks::kTogether;

  void on(Executor& executor) {
    MemoryLogSink log(executor.clock(), LogLevel::kDebug);
    ChannelStateWriterFactory factory(executor, log, {storage, maxSubtasksPerFile, acks, {.name = "channel state"}});
    executor.run("test", [&](ExecutionContext& context) {
      body(context, [&](int32_t subtask) { return factory.create(fmt::format("task {}", subtask), subtask); });
    });
  }
};

/// Waits for a result as an asynchronous part does: told of its end, it looks.
inline std::string await(ExecutionContext& context, const std::shared_ptr<ChannelStateWriteResult>& result) {
  auto done = std::make_shared<Signal>("test");
  if (result->notifyWhenDone([done] { done->set(); })) context.wait(WaitReason::kFile, {done.get()});
  return outcome(*result);
}
inline std::string finishAndAwait(ExecutionContext& context, const Writer& writer, int64_t id) {
  writer->finishInput(id);
  writer->finishOutput(id);
  return await(context, writer->getAndRemoveWriteResult(id));
}

/// Failure mode persister-races: data comes from many actors while checkpoints start, finish and abort. Everything that a written
/// checkpoint was given between its start and its end is in its file, once, and nothing else. How many were written.
inline int persisterRaces(Executor& executor, uint64_t seed) {
  WriterRun run;
  int written = 0;
  run.maxSubtasksPerFile = 3;
  run.body = [&](ExecutionContext& context, const auto& create) {
    constexpr int kTasks = 4;
    constexpr int64_t kCheckpoints = 12;
    struct Outcome {
      std::shared_ptr<ChannelStateWriteResult> result;
      std::multiset<std::string> given;
    };
    std::array<std::map<int64_t, Outcome>, kTasks> outcomes;
    std::vector<Writer> writers;
    for (int32_t s = 0; s < kTasks; ++s) writers.push_back(create(s));
    std::vector<std::shared_ptr<Actor>> actors;
    for (int s = 0; s < kTasks; ++s) {
      actors.push_back(executor.spawn({.name = fmt::format("task {}", s)}, [&, s](ExecutionContext& own) {
        const Writer& writer = writers[static_cast<size_t>(s)];
        Random& random = own.random();
        for (int64_t id = 1; id <= kCheckpoints; ++id) {
          Outcome& o = outcomes[static_cast<size_t>(s)][id];
          writer->start(id, kUnaligned);
          for (uint64_t i = 0, n = random.below(6); i < n; ++i) {
            const std::string text = fmt::format("{}/{}/{}", s, id, i);
            if (random.below(2)) writer->addInputData(id, {0, static_cast<int32_t>(i % 2)}, buffers({text}));
            else writer->addOutputData(id, {0, static_cast<int32_t>(i % 2)}, buffers({text}));
            o.given.insert(text);
            own.interleave("between two buffers");
          }
          if (random.below(20) == 0) writer->abort(id, aborted(), false);
          o.result = writer->getAndRemoveWriteResult(id);
          writer->finishInput(id);
          own.interleave("between inputs and outputs");
          writer->finishOutput(id);
          own.bill(1);
          if (random.below(12)) await(own, o.result);
        }
        writer->close();
      }));
    }
    for (const auto& actor : actors) {
      if (!actor->isDone()) context.wait(WaitReason::kInputOrMail, {&actor->done()});
    }
    std::set<int64_t> failed;  // such a checkpoint leaves no file behind, also of those who have written
    for (auto& task : outcomes)
      for (auto& [id, o] : task)
        if (await(context, o.result) != "written") failed.insert(id);
    for (auto& task : outcomes) {
      for (auto& [id, o] : task) {
        if (failed.contains(id)) continue;
        ++written;
        std::multiset<std::string> found;
        for (const ChannelStateKind kind : {ChannelStateKind::kInput, ChannelStateKind::kOutput}) {
          const auto& handles = kind == ChannelStateKind::kInput ? o.result->written().inputs : o.result->written().outputs;
          for (const auto& line : readBack(*run.storage, kind, handles)) found.insert(line.substr(line.rfind(' ') + 1));
        }
        EXPECT_EQ(found, o.given) << "seed " << seed << ", checkpoint " << id;
      }
    }
  };
  run.on(executor);
  return written;
}

}  // namespace weir
