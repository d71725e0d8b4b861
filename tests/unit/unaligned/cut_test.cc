#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "support/seeds.h"
#include "unit/unaligned/cut_job.h"

// Every checkpoint of a job taken apart, channel by channel; each test is a mistake that was made once.
namespace weir::cut {
namespace {

using ::testing::IsEmpty;
using std::chrono::microseconds;

/// A source, a relay and a slow sink: what is in flight piles up in front of the sink.
Job backPressured(uint64_t seed) {
  Job job;
  job.seed = seed;
  job.vertices = {{.name = "source", .records = 2000, .largest = 30}, {.name = "relay", .largest = 100},
                  {.name = "sink", .cost = microseconds(50)}};
  job.links = {{0, 1, PartitionerKind::kRebalance}, {1, 2, PartitionerKind::kHash}};
  return job;
}

void expectSound(const Outcome& outcome, const Job& job) {
  EXPECT_EQ(outcome.status, JobStatus::kFinished) << "seed " << job.seed;
  ASSERT_THAT(outcome.problems, IsEmpty()) << "seed " << job.seed << "\n" << outcome.log;
}

/// Bytes that all checkpoints have stored of a link.
size_t storedOn(const Outcome& outcome, int32_t link) {
  size_t sum = 0;
  for (const auto& [id, channels] : outcome.checkpoints)
    for (const Channel& channel : channels)
      if (channel.link == link) sum += channel.inputBytes + channel.outputBytes;
  return sum;
}

TEST(Cut, OneUnalignedBarrierCarriesWhatItOvertakes) {
  const Job job = backPressured(1);
  const Outcome outcome = simulate(job);
  expectSound(outcome, job);
  EXPECT_GE(outcome.checkpoints.size(), 3u);
  EXPECT_GT(outcome.storedBytes(), 1000u);
}

TEST(Cut, HoldsInAnyOrderOfEvents) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Job job = backPressured(seed);
    expectSound(simulate(job), job);
  }
}

TEST(Cut, HoldsWhereBarriersTurnUnaligned) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Job job = backPressured(seed);
    job.alignedTimeout = Millis(1 + seed % 5);
    expectSound(simulate(job), job);
  }
}

/// Operators that take batches: behind the barrier nothing more of the batch may be read.
TEST(Cut, ConsumePastBarrierBeforeSnapshot) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Job job = backPressured(seed);
    for (Vertex& vertex : job.vertices) vertex.batches = true;
    job.segmentSize = 1024;
    expectSound(simulate(job), job);
  }
}

/// One gate with one channel, one with four, and what is in flight is in the second.
TEST(Cut, MultiGateIndex) {
  size_t stored = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Job job;
    job.seed = seed;
    job.vertices = {{.name = "few", .parallelism = 1, .records = 20, .perSecond = 100},
                    {.name = "many", .parallelism = 4, .records = 3000},
                    {.name = "join", .parallelism = 2, .cost = microseconds(50)}};
    job.links = {{0, 2, PartitionerKind::kHash}, {1, 2, PartitionerKind::kHash}};
    const Outcome outcome = simulate(job);
    expectSound(outcome, job);
    stored += storedOn(outcome, 1);
  }
  EXPECT_GT(stored, 0u);
}

/// Records of many buffers: what the deserializer has collected comes first, also when it is only a part of the length.
TEST(Cut, PartialLargeRecord) {
  size_t inputs = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Job job = backPressured(seed);
    job.vertices[0].largest = 1000;
    job.vertices[1].largest = 3000;
    job.segmentSize = 64 + 13 * (seed % 5);
    job.interval = Millis(10);
    const Outcome outcome = simulate(job);
    expectSound(outcome, job);
    for (const auto& [id, channels] : outcome.checkpoints)
      for (const Channel& channel : channels) inputs += channel.inputBytes;
  }
  EXPECT_GT(inputs, 0u);
}

/// Producer and consumer in one process, and sources that end during checkpoints.
TEST(Cut, LocalChannelNotCaptured) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Job job = backPressured(seed);
    job.vertices[0].records = 100 + 37 * static_cast<int64_t>(seed);
    job.vertices[0].parallelism = 3;
    job.interval = Millis(10);
    job.alignedTimeout = Millis(seed % 3);
    expectSound(simulate(job), job);
  }
}

/// The copies of a broadcast are read at different speeds, and only one of them would be stored.
TEST(Cut, BroadcastEdgeInconsistent) {
  for (const Millis timeout : {Millis(0), Millis(2)}) {
    Job job;
    job.alignedTimeout = timeout;
    job.vertices = {{.name = "rules", .parallelism = 1, .records = 300, .perSecond = 5000},
                    {.name = "data", .records = 2000},
                    {.name = "apply", .cost = microseconds(30)},
                    {.name = "sink", .cost = microseconds(60)}};
    job.links = {{0, 2, PartitionerKind::kBroadcast}, {1, 2, PartitionerKind::kHash}, {2, 3, PartitionerKind::kHash}};
    const Outcome outcome = simulate(job);
    expectSound(outcome, job);
    EXPECT_GT(outcome.checkpoints.size(), 3u);
    EXPECT_EQ(storedOn(outcome, 0), 0u);
    EXPECT_EQ(storedOn(outcome, 1), 0u) << "one operator, one rule for all its edges, as in Flink";
    EXPECT_GT(storedOn(outcome, 2), 0u);
  }
}

/// Forward stays aligned; the hash edges before and behind it do not care.
TEST(Cut, UnalignedDisabledEverywhereByOneEdge) {
  Job job;
  job.vertices = {{.name = "source", .records = 3000}, {.name = "first", .fanOut = 2}, {.name = "second"},
                  {.name = "sink", .cost = microseconds(40)}};
  job.links = {{0, 1, PartitionerKind::kHash}, {1, 2, PartitionerKind::kForward}, {2, 3, PartitionerKind::kHash}};
  const Outcome outcome = simulate(job);
  expectSound(outcome, job);
  EXPECT_GT(storedOn(outcome, 0), 0u);
  EXPECT_EQ(storedOn(outcome, 1), 0u);
  EXPECT_GT(storedOn(outcome, 2), 0u);
}

/// A barrier with a timeout is forced as well: it must not turn unaligned on an edge that cannot.
TEST(Cut, ForcedAlignedVsTimeoutable) {
  for (const PartitionerKind kind : {PartitionerKind::kForward, PartitionerKind::kRescale, PartitionerKind::kBroadcast}) {
    Job job;
    job.alignedTimeout = Millis(1);
    job.vertices = {{.name = "source", .records = 1500}, {.name = "sink", .cost = microseconds(100)}};
    job.links = {{0, 1, kind}};
    const Outcome outcome = simulate(job);
    expectSound(outcome, job);
    EXPECT_GT(outcome.checkpoints.size(), 1u);
    EXPECT_EQ(outcome.storedBytes(), 0u);
  }
}

/// Checkpoints that expire while they are under way, again and again: barriers, markers and notices of several ids at once.
TEST(Cut, UnusualBarrierFlowMissesBuffers) {
  size_t whole = 0, aborted = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Job job = backPressured(seed);
    job.vertices[0].records = 600;
    job.vertices[2].cost = microseconds(400);
    job.segmentSize = 512;
    job.spareSegments = 30;
    job.timeout = Millis(10);
    job.interval = Millis(10);
    job.alignedTimeout = std::array{Millis(0), Millis(9), Millis(12), Millis(25)}[seed % 4];
    const Outcome outcome = simulate(job);
    expectSound(outcome, job);
    whole += outcome.checkpoints.size();
    aborted += outcome.log.find("expired before completing") != std::string::npos;
  }
  EXPECT_GT(whole, 40u);
  EXPECT_GT(aborted, 10u);
}

/// The same on threads: what a channel hands out is stored in the order in which it is read.
TEST(CutOnThreads, CaptureOrderTwoThreads) {
  for (const Millis timeout : {Millis(0), Millis(3)}) {
    ThreadExecutor executor(ThreadExecutorOptions{.seed = 5});
    Job job = backPressured(5);
    job.vertices[0].records = 3000;
    job.alignedTimeout = timeout;
    const Outcome outcome = run(job, executor);
    expectSound(outcome, job);
    EXPECT_GT(outcome.checkpoints.size(), 1u);
  }
}

/// Draws everything.
Job randomJob(uint64_t seed) {
  Random random(seed, "cut");
  const auto pick = [&](std::initializer_list<int64_t> of) { return *(of.begin() + random.below(of.size())); };
  Job job;
  job.seed = seed;
  job.segmentSize = static_cast<uint32_t>(pick({64, 64, 100, 256, 1024}));
  job.spareSegments = static_cast<int32_t>(random.below(12));
  job.overdraft = static_cast<int32_t>(pick({0, 1, 20}));
  job.interval = Millis(pick({10, 10, 15, 40}));
  job.alignedTimeout = Millis(pick({0, 0, 1, 2, 5, 30}));
  job.timeout = Millis(pick({10, 20, 600'000, 600'000}));
  job.taskManagers = static_cast<int32_t>(pick({1, 1, 2}));
  const auto vertex = [&](const std::string& name) {
    Vertex v{.name = name, .parallelism = static_cast<int32_t>(pick({1, 2, 3}))};
    v.fanOut = static_cast<int32_t>(pick({1, 1, 1, 2, 5}));
    v.largest = static_cast<int32_t>(pick({0, 20, 100, 600}));
    v.batches = random.below(2) == 0;
    return v;
  };
  const auto sources = static_cast<int32_t>(pick({1, 1, 2})), relays = static_cast<int32_t>(pick({0, 1, 1, 2}));
  for (int32_t i = 0; i < sources; ++i) {
    Vertex source = vertex("source" + std::to_string(i));
    source.fanOut = 1;
    source.records = pick({10, 200, 800});
    if (random.below(3) == 0) source.perSecond = static_cast<double>(pick({2000, 20'000}));
    job.vertices.push_back(source);
  }
  for (int32_t i = 0; i < relays; ++i) job.vertices.push_back(vertex("relay" + std::to_string(i)));
  Vertex sink = vertex("sink");
  sink.fanOut = 1;
  job.vertices.push_back(sink);
  for (size_t v = static_cast<size_t>(sources); v < job.vertices.size(); ++v)
    if (random.below(2) == 0) {
      job.vertices[v].cost = microseconds(pick({20, 50, 200}));
      job.vertices[v].batches = false;
    }
  const auto unalignedKind = [&] { return random.below(2) == 0 ? PartitionerKind::kRebalance : PartitionerKind::kHash; };
  const auto kind = [&](int32_t from, int32_t to) {
    const bool same = job.vertices[static_cast<size_t>(from)].parallelism == job.vertices[static_cast<size_t>(to)].parallelism;
    using enum PartitionerKind;
    const PartitionerKind kinds[] = {kRebalance, kHash, kHash, kShuffle, kGlobal, kBroadcast, kForward};
    return kinds[random.below(same ? 7 : 6)];
  };
  const auto last = static_cast<int32_t>(job.vertices.size()) - 1;
  for (int32_t i = 0; i < sources; ++i) job.links.push_back({i, sources, kind(i, sources)});
  for (int32_t v = sources; v < last; ++v) job.links.push_back({v, v + 1, kind(v, v + 1)});
  if (relays > 0 && sources > 1 && random.below(2) == 0) {
    // Not an edge that is forced to align: a sink that waits for its barrier holds up the other way from the same source, and a source that
    // blocks in the middle of a record can then not send it. So it is in Flink.
    job.links.back().kind = unalignedKind();
    job.links.push_back({0, last, unalignedKind()});
  }
  return job;
}

TEST(Cut, HoldsForAnyJob) {
  const char* base = std::getenv("WEIR_SEED_BASE");
  const uint64_t first = base ? std::strtoull(base, nullptr, 10) : 1;
  const uint64_t count = testing::seedsWanted(200);
  size_t whole = 0, stored = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Job job = randomJob(seed);
    Outcome outcome;
    ASSERT_NO_THROW(outcome = simulate(job)) << "seed " << seed;
    expectSound(outcome, job);
    if (HasFatalFailure()) return;
    whole += outcome.checkpoints.size();
    stored += outcome.storedBytes() > 0;
  }
  EXPECT_GT(whole, count);
  EXPECT_GT(stored, count / 4);
}

}  // namespace
}  // namespace weir::cut
