#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "support/golden_checkpoints.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/real_file_system.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"
#include "weir/keyed/heap_keyed_state_backend.h"

// Timers in a heap backend: their order, their snapshots, and those of a real Flink.
namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Backend = HeapKeyedStateBackend<std::string>;
using Timer = std::tuple<int64_t, std::string>;
constexpr VoidNamespace kVoid{};

class HeapTimerQueueTest : public ::testing::Test {
 protected:
  HeapTimerQueueTest() {
    real = FsCheckpointStorage::create(disk, JobID{}, {"/nowhere"}, Random(1)).value();
    memory = FsCheckpointStorage::create(files, JobID{}, {"/c", 0}, Random(1)).value();
    EXPECT_TRUE(memory->initializeCheckpoint(1).has_value());
  }
  static Backend backendOf(KeyGroupRange range = {0, 127}) { return Backend({range, 128, Random(7)}); }
  template <class N = VoidNamespace>
  static TimerQueue<std::string, N>& queue(Backend& backend, const std::string& name = "timers") {
    return *backend.timerQueue<N>(name).value();
  }
  std::map<int32_t, KeyedHandle> golden(const std::string& uid) {
    const std::string folder = golden::checkpointFolder("windows-heap", "chk-2");
    const auto metadata = readMetadata(golden::readBytes(folder + "/_metadata"), golden::pathOf(folder), folder).value();
    std::map<int32_t, KeyedHandle> handles;
    for (const auto& op : metadata.operators)
      if (op.uid == uid)
        for (const auto& [index, state] : op.subtasks) handles[index] = state.managedKeyed.at(0);
    return handles;
  }
  KeyedHandle write(KeyedSnapshotJob& job) { return job.write(*memory->resolveCheckpointLocation(1, {})).value().value(); }
  KeyedHandle write(Backend& backend) { return write(*backend.prepareSnapshot(1, {})); }
  template <class N>
  static std::vector<Timer> drain(TimerQueue<std::string, N>& queue) {
    std::vector<Timer> all;
    InternalTimer<std::string, N> timer;
    while (queue.pollUntil(std::numeric_limits<int64_t>::max(), timer)) all.emplace_back(timer.timestamp, timer.key);
    return all;
  }

  RealFileSystem disk;
  MemoryFileSystem files;
  std::unique_ptr<FsCheckpointStorage> real, memory;
};

TEST_F(HeapTimerQueueTest, ItIsASetOrderedByTimeUnderAnyHistory) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    auto backend = backendOf();
    auto& timers = queue(backend);
    std::set<Timer> model;
    InternalTimer<std::string, VoidNamespace> polled;
    for (int i = 0; i < 3000; ++i) {
      const Timer timer{static_cast<int64_t>(random.below(200)) - 100, "k" + std::to_string(random.below(20))};
      const auto& [time, key] = timer;
      if (random.oneIn(3)) {
        ASSERT_EQ(timers.remove(time, key, kVoid), model.erase(timer) == 1);
      } else if (random.oneIn(4)) {
        const bool due = !model.empty() && std::get<0>(*model.begin()) <= time;
        ASSERT_EQ(timers.pollUntil(time, polled), due);
        if (!due) continue;
        ASSERT_EQ(polled.timestamp, std::get<0>(*model.begin()));
        ASSERT_EQ(model.erase({polled.timestamp, polled.key}), 1u);
      } else {
        ASSERT_EQ(timers.add(time, key, kVoid), model.insert(timer).second);
      }
      ASSERT_EQ(timers.size(), static_cast<int64_t>(model.size()));
      if (!model.empty()) {
        ASSERT_EQ(timers.headTimestamp(), std::get<0>(*model.begin()));
      }
    }
  }
}

TEST_F(HeapTimerQueueTest, ASnapshotHoldsTheTimersOfItsMomentWhateverFiresMeanwhile) {
  auto backend = backendOf();
  auto& timers = queue(backend);
  for (int i = 0; i < 1000; ++i) timers.add(i, "k" + std::to_string(i), kVoid);
  auto job = backend.prepareSnapshot(1, {});
  InternalTimer<std::string, VoidNamespace> fired;
  while (timers.pollUntil(499, fired)) timers.add(fired.timestamp + 5000, fired.key, kVoid);
  const auto handle = write(*job);
  auto restored = backendOf();
  ASSERT_TRUE(restored.restore({&handle, 1}, *memory).has_value());
  const auto all = drain(queue(restored));
  ASSERT_EQ(all.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], Timer(i, "k" + std::to_string(i)));
}

TEST_F(HeapTimerQueueTest, TimersAreDealtOutByKeyGroupWhenTheParallelismChanges) {
  std::vector<KeyedHandle> handles;
  std::set<Timer> expected;
  for (const KeyGroupRange range : {KeyGroupRange{0, 63}, KeyGroupRange{64, 127}}) {
    auto backend = backendOf(range);
    for (int i = 0; i < 300; ++i) {
      const std::string key = "k" + std::to_string(i);
      if (!range.contains(assignToKeyGroup(key, 128))) continue;
      queue<TimeWindow>(backend).add(i, key, {0, i + 1});
      expected.insert({i, key});
    }
    handles.push_back(write(backend));
  }
  std::set<Timer> found;
  for (int32_t third = 0; third < 3; ++third) {
    const KeyGroupRange range = keyGroupRangeForOperatorIndex(third, 3, 128);
    auto backend = backendOf(range);
    ASSERT_TRUE(backend.restore(handles, *memory).has_value());
    for (const Timer& timer : drain(queue<TimeWindow>(backend))) {
      EXPECT_TRUE(range.contains(assignToKeyGroup(std::get<1>(timer), 128)));
      EXPECT_TRUE(found.insert(timer).second) << "twice";
    }
  }
  EXPECT_EQ(found, expected);
}

TEST_F(HeapTimerQueueTest, TimersOfFlinkAreRead) {
  std::multiset<int64_t> eventTime, windows;
  int processingTime = 0;
  for (const auto& [index, handle] : golden("timers")) {
    auto backend = backendOf({index * 64, index * 64 + 63});
    ASSERT_TRUE(backend.restore({&handle, 1}, *real).has_value());
    for (const auto& [time, key] : drain(queue(backend, "_timer_state/processing_user-timers"))) {
      EXPECT_EQ(time, 4102444800000);
      ++processingTime;
    }
    for (const auto& [time, key] : drain(queue(backend, "_timer_state/event_user-timers"))) {
      EXPECT_EQ(time / 1000 % 10, key.back() - '0') << "this job set a timer of each user at its own second";
      eventTime.insert(time);
    }
  }
  EXPECT_EQ(processingTime, 10);
  EXPECT_EQ(eventTime.size(), 23u);
  EXPECT_EQ(*eventTime.begin(), 1'000'000);
  EXPECT_EQ(*eventTime.rbegin(), 1'022'000);
  for (const auto& [index, handle] : golden("window")) {
    auto backend = backendOf({index * 64, index * 64 + 63});
    ASSERT_TRUE(backend.restore({&handle, 1}, *real).has_value());
    queue<TimeWindow>(backend, "_timer_state/event_window-timers").visit([&](const InternalTimer<std::string, TimeWindow>& timer) {
      EXPECT_EQ(timer.timestamp, timer.nameSpace.maxTimestamp());
      EXPECT_EQ(timer.nameSpace.end - timer.nameSpace.start, 7000);
      windows.insert(timer.timestamp);
    });
    EXPECT_TRUE(queue<TimeWindow>(backend, "_timer_state/processing_window-timers").isEmpty());
  }
  EXPECT_EQ(windows.size(), 9u);
}

TEST_F(HeapTimerQueueTest, TheirBytesAreThoseOfFlink) {
  // Each key group of Flink's file, with its states in our order, is what we write for it. Entries of one key group have no order.
  for (const auto& [index, handle] : golden("timers")) {
    const KeyGroupRange range{index * 64, index * 64 + 63};
    auto backend = backendOf(range);
    ASSERT_TRUE(backend.restore({&handle, 1}, *real).has_value());
    queue(backend, "_timer_state/processing_user-timers");
    queue(backend, "_timer_state/event_user-timers");
    const auto ours = write(backend);
    const auto key = Serializer<std::string>::snapshot();
    auto theirStates = readKeyedState({&handle, 1}, range, key, *real).value();
    auto ourStates = readKeyedState({&ours, 1}, range, key, *memory).value();
    ASSERT_EQ(theirStates.size(), ourStates.size());
    for (const auto& their : theirStates) {
      const auto our = std::find_if(ourStates.begin(), ourStates.end(), [&](const auto& s) { return s->meta.name == their->meta.name; });
      ASSERT_NE(our, ourStates.end());
      EXPECT_EQ((*our)->meta, their->meta) << "name, kind, options and serializers";
      const auto entriesOf = [](const RestoredState& state) {
        std::multiset<std::pair<int32_t, std::vector<uint8_t>>> entries;
        for (const auto& entry : state.entries) entries.insert({entry.keyGroup, {entry.bytes.begin(), entry.bytes.end()}});
        return entries;
      };
      EXPECT_EQ(entriesOf(**our), entriesOf(*their)) << their->meta.name;
    }
  }
}

TEST_F(HeapTimerQueueTest, ANameIsUsedWithOneKindOfNamespace) {
  auto backend = backendOf();
  ASSERT_TRUE(backend.timerQueue<TimeWindow>("x").has_value());
  EXPECT_THAT(backend.timerQueue<VoidNamespace>("x").error().message, HasSubstr("another kind of namespace"));
  auto handles = golden("window");
  auto restored = backendOf({0, 63});
  ASSERT_TRUE(restored.restore({&handles.at(0), 1}, *real).has_value());
  EXPECT_THAT(restored.timerQueue<VoidNamespace>("_timer_state/event_window-timers").error().message, HasSubstr("a queue of timers by"));
}

TEST_F(HeapTimerQueueTest, AKeyOfAnotherSubtaskIsRefused) {
  auto backend = backendOf({0, 0});
  EXPECT_THROW(
      {
        for (int i = 0; i < 10; ++i) queue(backend).add(1, "k" + std::to_string(i), kVoid);
      },
      Throwable);
}

}  // namespace
}  // namespace weir
