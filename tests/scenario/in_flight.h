#pragma once

#include <gtest/gtest.h>

#include "scenario/scenario.h"
#include "weir/checkpoint/checkpoint_files.h"

namespace weir {

/// How the rows get from the source to the work.
enum class Edge { kHash, kRebalance, kShuffle, kGlobal, kCustom, kUnion, kHashAndForward };
struct Parallelism {
  int32_t source, work;
};

/// Reads any number of splits in turn.
class SplitsReader {
 public:
  using Element = Row;
  static constexpr int32_t kSplits = 4;
  SplitsReader(int32_t firstProducer, int64_t rowsPerSplit, size_t padding)
      : firstProducer_(firstProducer), rowsPerSplit_(rowsPerSplit), padding_(padding, 'x') {}
  int32_t numberOfSplits(int32_t) const { return kSplits; }
  void open(SourceReaderContext, std::vector<SourceSplit>& splits) { splits_ = &splits; }
  size_t poll(std::span<StreamRecord<Row>> into, bool& end) {
    end = true;
    for (size_t tried = 0; tried < splits_->size(); ++tried) {
      SourceSplit& split = (*splits_)[next_++ % splits_->size()];
      if (split.position == rowsPerSplit_) continue;
      end = false;
      into[0] = StreamRecord<Row>(Row{split.position++, firstProducer_ + split.id, padding_});
      return 1;
    }
    return 0;
  }

 private:
  int32_t firstProducer_;
  int64_t rowsPerSplit_;
  std::string padding_;
  std::vector<SourceSplit>* splits_ = nullptr;
  size_t next_ = 0;
};

/// source -> `edge` -> work (1 ms a row or more, without state) -> rebalance -> rows
///                        \-> hash -> count per key -> counts
/// in unaligned mode, so slow that all queues are full. Each run writes into a store of its own.
struct InFlightJob : Scenario {
  using Store = TransactionalCollectResult<Row>;
  struct Run {
    std::shared_ptr<Store> rows = std::make_shared<Store>(), counts = std::make_shared<Store>();
    /// Per attempt and subtask of the work the last row of each producer; and whether they came in order.
    std::shared_ptr<std::map<std::tuple<int32_t, int32_t, int32_t>, int64_t>> lastOf =
        std::make_shared<std::map<std::tuple<int32_t, int32_t, int32_t>, int64_t>>();
    std::shared_ptr<bool> inOrder = std::make_shared<bool>(true);
    std::shared_ptr<std::set<std::pair<int32_t, int64_t>>> seenBy = std::make_shared<std::set<std::pair<int32_t, int64_t>>>();
  };
  std::vector<Run> runs;
  size_t completedBefore = 0;
  int64_t rowsPerSplit = 300;
  static constexpr int64_t kKeys = 10;

  explicit InFlightJob(Edge edge = Edge::kHash, Parallelism parallelism = {2, 3}, size_t padding = 20, uint64_t seed = 1,
                       Nanos cost = kMillisecond)
      : Scenario(seed), edge_(edge), padding_(padding), cost_(cost) {
    runner.cluster.segmentSize = 256;
    runner.cluster.networkSegments = 4096;
    if (edge == Edge::kUnion) rowsPerSplit /= 2;
    program(parallelism);
  }

  void program(Parallelism parallelism) {
    newProgram();
    const Run& run = runs.emplace_back();
    env.configure("restart-strategy.type", "fixed-delay")
        .configure("restart-strategy.fixed-delay.attempts", "10")
        .configure("restart-strategy.fixed-delay.delay", "1 ms")
        .configure("execution.checkpointing.unaligned.enabled", "true")
        .configure("execution.checkpointing.unaligned.forced", "true")
        .configure("execution.checkpointing.num-retained", "2")
        .configure("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION")
        .configure("execution.checkpointing.tolerable-failed-checkpoints", "1000000")
        .setMaxParallelism(128);
    auto hooks = std::make_shared<ProbeHooks>();
    hooks->onRow = [run](ProbeContext& context, const Row& row) {
      run.seenBy->insert({context.subtask, row.number});
      const auto [last, isFirst] = run.lastOf->try_emplace({context.attempt, context.subtask, row.producer}, row.number);
      if (!isFirst && std::exchange(last->second, row.number) >= row.number) *run.inOrder = false;
    };
    auto work = input(parallelism.source).map(Probe(hooks)).name("work").uid("work").setParallelism(parallelism.work).cost(cost_);
    work.rebalance()
        .sinkTo("rows", Batching::kBatches, TransactionalCollectSink<Row>(run.rows).ignoreEarlierRuns())
        .uid("rows")
        .setParallelism(2);
    work.map([](const Row& row) { return Row{row.number % kKeys, 1, ""}; })
        .uid("ones")
        .setParallelism(parallelism.work)
        .keyBy(&Row::number)
        .reduce([](Row& all, const Row& one) { all.producer += one.producer; })
        .uid("count")
        .name("count")
        .setParallelism(parallelism.work)
        .sinkTo("counts", Batching::kBatches, TransactionalCollectSink<Row>(run.counts).ignoreEarlierRuns())
        .uid("counts")
        .setParallelism(parallelism.work);
  }
  void restoreFrom(const std::string& folder, Parallelism parallelism = {2, 3}) {
    program(parallelism);
    completedBefore = log().count("Completed checkpoint");
    env.configure("execution.state-recovery.path", folder)
        .configure("execution.checkpointing.dir", "/restored-" + std::to_string(runs.size()));
  }

  /// Runs until the queues are full, takes a checkpoint, and cancels. Its folder.
  std::string cancelWithDataInFlight() {
    std::string folder;
    run([&] {
      for (int tries = 0; tries < 100 && folder.empty(); ++tries) {
        ASSERT_TRUE(waitUntil([&] { return allRunning(); }));
        sleep(60 * kMillisecond);
        const int64_t id = triggerCheckpoint();
        ASSERT_TRUE(waitUntil([&] { return checkpoint(id)->status != CheckpointStatus::kInProgress; }));
        if (checkpoint(id)->status == CheckpointStatus::kCompleted) folder = checkpointFolder(id);  // else it was declined: not ready
      }
      sleep(5 * kMillisecond);
    });
    EXPECT_EQ(result.status, JobStatus::kCanceled) << failure();
    EXPECT_TRUE(runner.files().exists(folder + "/_metadata")) << folder;
    return folder;
  }

  std::vector<OperatorState> operatorsOf(const std::string& folder) {
    return loadCheckpoint(runner.files(), folder).value().metadata.operators;
  }
  /// In-flight bytes, of all operators or of those with this name.
  int64_t capturedBytes(const std::string& folder, const std::string& name = "", bool inputsOnly = false) {
    int64_t bytes = 0;
    for (const OperatorState& op : operatorsOf(folder)) {
      if (op.name.find(name) == std::string::npos) continue;
      for (const auto& [index, subtask] : op.subtasks)
        for (const auto* handles : {&subtask.inputChannels, &subtask.outputChannels})
          for (const auto& handle : *handles) bytes += inputsOnly && handles == &subtask.outputChannels ? 0 : handle.size;
    }
    return bytes;
  }
  /// How long so many subtasks take at least for the work that was in front of them.
  Nanos serviceTimeOfCaptured(const std::string& folder, int64_t subtasks) {
    const int64_t bytesPerRow = static_cast<int64_t>(padding_) + 20;
    return (capturedBytes(folder, "source") + capturedBytes(folder, "work", true)) / bytesPerRow / subtasks * cost_;
  }
  struct Damage {
    std::string path;
    int64_t offset = 0;
  };
  /// Makes one length of the work's recovered input one larger.
  Damage damageALength(const std::string& folder) {
    for (const OperatorState& op : operatorsOf(folder)) {
      for (const auto& [index, subtask] : op.subtasks) {
        for (const auto& handle : subtask.inputChannels) {
          Damage damage{std::get<RelativeFileHandle>(handle.stream).path, handle.channels.at(0).offsets.at(0)};
          auto bytes = runner.files().readAll(damage.path).value();
          bytes[static_cast<size_t>(damage.offset) + 3] ^= std::byte{1};
          auto file = runner.files().create(damage.path, FileSystem::Create::kTruncate).value();
          EXPECT_TRUE(file->append(bytes).has_value() && file->close().has_value());
          return damage;
        }
      }
    }
    ADD_FAILURE() << "no in-flight data in " << folder;
    return {};
  }
  bool anyIn(const std::string& vertex, ExecutionState state) {
    const JobSnapshot job = snapshot();
    return std::any_of(job.tasks.begin(), job.tasks.end(), [&](const ExecutionVertex& task) {
      return task.name.find(vertex) != std::string::npos && task.current.state == state;
    });
  }

  /// All runs together have written each row once, and each count of each key once.
  void expectExactlyOnce() {
    std::map<std::pair<int32_t, int64_t>, int> rows, counts;
    for (const Run& run : runs) {
      for (const Row& row : run.rows->values()) ++rows[{row.producer, row.number}];
      for (const Row& row : run.counts->values()) ++counts[{row.producer, row.number}];
    }
    EXPECT_EQ(rows.size(), static_cast<size_t>(totalRows())) << "lost " << totalRows() - static_cast<int64_t>(rows.size());
    for (const auto& [row, times] : rows) ASSERT_EQ(times, 1) << "row " << row.second << " of " << row.first;
    EXPECT_EQ(counts.size(), static_cast<size_t>(totalRows()));
    for (const auto& [count, times] : counts) ASSERT_EQ(times, 1) << "count " << count.first << " of key " << count.second;
  }
  /// Rows are missing, but none came twice.
  void expectLost() {
    std::map<std::pair<int32_t, int64_t>, int> rows;
    for (const Run& run : runs)
      for (const Row& row : run.rows->values()) ++rows[{row.producer, row.number}];
    EXPECT_LT(rows.size(), static_cast<size_t>(totalRows()));
    for (const auto& [row, times] : rows) ASSERT_EQ(times, 1);
  }
  void expectAtTheirSubtask(int32_t parallelism, const std::function<int32_t(const Row&, int32_t)>& subtaskOf) {
    for (const auto& [subtask, number] : *runs.back().seenBy)
      ASSERT_EQ(subtask, subtaskOf(Row{number, 0, ""}, parallelism)) << "row " << number;
  }
  int64_t totalRows() const { return rowsPerSplit * SplitsReader::kSplits * (edge_ == Edge::kUnion ? 2 : 1); }

 private:
  DataStream<Row> source(int32_t parallelism, int32_t index) {
    const std::string name = "source-" + std::to_string(index);
    return env.fromSource(SplitsReader(100 * index, rowsPerSplit, padding_), name).uid(name).setParallelism(parallelism);
  }
  DataStream<Row> input(int32_t parallelism) {
    auto stream = source(parallelism, 1);
    switch (edge_) {
      case Edge::kHash: return hashed(stream);
      case Edge::kRebalance: return stream.rebalance();
      case Edge::kShuffle: return stream.shuffle();
      case Edge::kGlobal: return stream.global();
      case Edge::kCustom:
        return stream.partitionCustom([](int64_t key, int32_t channels) { return static_cast<int32_t>(key % channels); }, &Row::number);
      case Edge::kUnion: return hashed(stream).unionWith(source(parallelism, 2).rebalance());
      case Edge::kHashAndForward:
        stream.forward()
            .map([](const Row& row) { return row; })
            .uid("side")
            .setParallelism(parallelism)
            .disableChaining()
            .addSink([](const Row&) {});
        return hashed(stream);
    }
    return stream;
  }
  std::string checkpointFolder(int64_t id) {
    return runs.size() == 1 ? folderOf(id)
                            : "/restored-" + std::to_string(runs.size()) + folderOf(id).substr(std::string("/checkpoints").size());
  }

  Edge edge_;
  size_t padding_;
  Nanos cost_;
};

}  // namespace weir
