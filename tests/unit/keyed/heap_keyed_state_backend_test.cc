#include "weir/keyed/heap_keyed_state_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/golden_checkpoints.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/real_file_system.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr KeyGroupRange kAll{0, 127};
const ValueStateDescriptor<int64_t> kCount{"count"};

class HeapBackendTest : public ::testing::Test {
 protected:
  HeapBackendTest() {
    storage = FsCheckpointStorage::create(files, JobID::of(1, 2), {"/checkpoints", 1000}, Random(3)).value();
    EXPECT_TRUE(storage->initializeBaseLocations().has_value());
    EXPECT_TRUE(storage->initializeCheckpoint(1).has_value());
  }
  template <class K>
  static std::unique_ptr<HeapKeyedStateBackend<K>> backendOf(KeyGroupRange range = kAll) {
    return std::make_unique<HeapKeyedStateBackend<K>>(KeyedStateBackendParameters{range, 128, Random(7)});
  }
  KeyedHandle write(KeyedSnapshotJob& job) { return job.write(*storage->resolveCheckpointLocation(1, {})).value().value(); }
  template <class K>
  KeyedHandle snapshot(HeapKeyedStateBackend<K>& backend) {
    return write(*backend.prepareSnapshot(1, {}));
  }
  template <class K>
  std::unique_ptr<HeapKeyedStateBackend<K>> restored(const KeyedHandle& handle, KeyGroupRange range = kAll) {
    auto backend = backendOf<K>(range);
    auto done = backend->restore(std::span(&handle, 1), *storage);
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return backend;
  }

  MemoryFileSystem files;
  std::unique_ptr<FsCheckpointStorage> storage;
};

/// All values of a state, by key.
template <class K>
std::map<K, int64_t> contents(HeapKeyedStateBackend<K>& backend, const ValueStateDescriptor<int64_t>& d = kCount) {
  auto state = backend.state(d).value();
  std::map<K, int64_t> all;
  for (const K& key : backend.keys(d.name)) {
    backend.setCurrentKey(key);
    all[key] = *state.value();
  }
  return all;
}

TEST_F(HeapBackendTest, AValueIsThereAfterItsFirstUpdateAndGoneAfterClear) {
  auto backend = backendOf<std::string>();
  auto count = backend->state(kCount).value();
  backend->setCurrentKey("a");
  EXPECT_EQ(count.value(), nullptr);
  count.update(3);
  backend->setCurrentKey("b");
  EXPECT_EQ(count.value(), nullptr);
  backend->setCurrentKey("a");
  ASSERT_NE(count.value(), nullptr);
  EXPECT_EQ(*count.value(), 3);
  count.slot() += 1;
  EXPECT_EQ(*count.value(), 4);
  count.clear();
  EXPECT_EQ(count.value(), nullptr);
  EXPECT_EQ(backend->numEntries(), 0);
  count.clear();
  count.slot() += 1;
  EXPECT_EQ(*count.value(), 1);
}

TEST_F(HeapBackendTest, AListAMapAReductionAndAnAggregateLiveSideBySide) {
  auto backend = backendOf<int64_t>();
  auto list = backend->state(ListStateDescriptor<std::string>{"list"}).value();
  auto map = backend->state(MapStateDescriptor<std::string, int64_t>{"map"}).value();
  auto sum = backend->state(ReducingStateDescriptor<int64_t>{"sum", [](int64_t a, int64_t b) { return a + b; }}).value();
  using Mean = std::pair<int64_t, int64_t>;
  AggregatingStateDescriptor<int64_t, Mean, double> mean{"mean",
                                                         {},
                                                         [](Mean& m, int64_t v) {
                                                           m = {m.first + 1, m.second + v};
                                                         },
                                                         [](const Mean& m) { return static_cast<double>(m.second) / m.first; }};
  auto average = backend->state(mean).value();
  for (int64_t key : {1, 2}) {
    backend->setCurrentKey(key);
    EXPECT_EQ(sum.get(), nullptr);
    EXPECT_FALSE(average.get().has_value());
    for (int64_t i = 1; i <= 3; ++i) {
      list.add(std::to_string(key * i));
      map.put(std::to_string(i), i);
      sum.add(key * i);
      average.add(key * i);
    }
  }
  backend->setCurrentKey(2);
  EXPECT_THAT(*list.get(), ElementsAre("2", "4", "6"));
  EXPECT_EQ(*map.get("3"), 3);
  EXPECT_EQ(map.get("4"), nullptr);
  EXPECT_EQ(*sum.get(), 12);
  EXPECT_EQ(*average.get(), 4.0);
  map.remove("1");
  map.remove("2");
  EXPECT_EQ(backend->numEntries(), 8);
  map.remove("3");
  EXPECT_EQ(backend->numEntries(), 7) << "an empty map is no map";
  list.update({});
  EXPECT_EQ(list.get(), nullptr);
}

TEST_F(HeapBackendTest, WindowsOfAKeyAreApart) {
  auto backend = backendOf<std::string>();
  auto count = backend->state(ValueStateDescriptor<int64_t>{"count", 0, StateNamespace::kTimeWindow}).value();
  backend->setCurrentKey("a");
  for (int64_t start : {0, 10, 20}) {
    count.setCurrentNamespace({start, start + 10});
    count.update(start);
  }
  count.setCurrentNamespace({10, 20});
  EXPECT_EQ(*count.value(), 10);
  count.clear();
  EXPECT_EQ(count.value(), nullptr);
  EXPECT_THAT(backend->keysAndWindows("count"),
              ElementsAre(std::pair(std::string("a"), TimeWindow{0, 10}), std::pair(std::string("a"), TimeWindow{20, 30})));
}

TEST_F(HeapBackendTest, ABatchFindsAndMakesValuesOnce) {
  auto backend = backendOf<std::string>();
  auto slots = backend->valueSlots(kCount).value();
  const std::vector<std::string> words{"a", "b", "a", "c", "b", "a"};
  std::vector<const std::string*> keys;
  for (const auto& word : words) keys.push_back(&word);
  int64_t* out[64];
  bool created[64];
  slots.get(keys, out, created);
  EXPECT_THAT(std::vector<bool>(created, created + 6), ElementsAre(true, true, false, true, false, false));
  EXPECT_EQ(out[0], out[2]);
  EXPECT_EQ(out[0], out[5]);
  for (size_t i = 0; i < keys.size(); ++i) ++*out[i];
  EXPECT_EQ(contents(*backend), (std::map<std::string, int64_t>{{"a", 3}, {"b", 2}, {"c", 1}}));
}

TEST_F(HeapBackendTest, AskingTwiceGivesTheSameStateAndAnotherTypeIsAnError) {
  auto backend = backendOf<std::string>();
  backend->setCurrentKey("a");
  backend->state(kCount).value().update(5);
  EXPECT_EQ(*backend->state(kCount).value().value(), 5);
  EXPECT_THAT(backend->state(ValueStateDescriptor<std::string>{"count"}).error().message, HasSubstr("already used with another type"));
  EXPECT_TRUE(backend->state(ListStateDescriptor<int64_t>{"count"}).has_error());
  EXPECT_TRUE((backend->state(ValueStateDescriptor<int64_t>{"count", 0, StateNamespace::kTimeWindow}).has_error()));
}

TEST_F(HeapBackendTest, AKeyOfAnotherSubtaskIsRefused) {
  auto backend = backendOf<std::string>({0, 0});
  auto count = backend->state(kCount).value();
  std::string foreign = "x";
  while (assignToKeyGroup(foreign, 128) == 0) foreign += "x";
  backend->setCurrentKey(foreign);
  EXPECT_EQ(count.value(), nullptr);
  try {
    count.update(1);
    FAIL() << "a key outside the range was stored";
  } catch (const Throwable& t) {
    EXPECT_THAT(t.message(), HasSubstr("is not in KeyGroupRange{startKeyGroup=0, endKeyGroup=0}"));
  }
  EXPECT_EQ(backend->numEntries(), 0);
}

TEST_F(HeapBackendTest, KeysThatJavaTellsApartAreApart) {
  auto backend = backendOf<double>();
  auto count = backend->state(kCount).value();
  for (double key : {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()}) {
    backend->setCurrentKey(key);
    count.slot() += 1;
  }
  EXPECT_EQ(backend->numEntries(), 3);
}

TEST_F(HeapBackendTest, ASnapshotIsWhatWasThereWhenItWasPrepared) {
  auto backend = backendOf<std::string>();
  auto count = backend->state(kCount).value();
  auto names = backend->state(ValueStateDescriptor<std::string>{"name"}).value();
  auto list = backend->state(ListStateDescriptor<int64_t>{"list"}).value();
  std::map<std::string, int64_t> expected;
  for (int64_t i = 0; i < 1000; ++i) {
    const std::string key = "key-" + std::to_string(i);
    backend->setCurrentKey(key);
    count.update(i);
    names.update(key + " with a text that does not fit into a small string");
    list.add(i);
    expected[key] = i;
  }
  auto job = backend->prepareSnapshot(1, {});
  for (int64_t i = 0; i < 1500; ++i) {
    backend->setCurrentKey("key-" + std::to_string(i));
    if (i % 3 == 0) {
      count.clear();
      names.clear();
      list.clear();
    } else {
      count.update(-1);
      names.update("other");
      list.add(-1);
    }
  }
  const auto handle = write(*job);
  auto again = restored<std::string>(handle);
  EXPECT_EQ(contents(*again), expected);
  auto names2 = again->state(ValueStateDescriptor<std::string>{"name"}).value();
  auto list2 = again->state(ListStateDescriptor<int64_t>{"list"}).value();
  for (const auto& [key, i] : expected) {
    again->setCurrentKey(key);
    EXPECT_EQ(*names2.value(), key + " with a text that does not fit into a small string");
    EXPECT_THAT(*list2.get(), ElementsAre(i));
  }
}

TEST_F(HeapBackendTest, ASnapshotMayOutliveItsBackend) {
  auto backend = backendOf<std::string>();
  auto names = backend->state(ValueStateDescriptor<std::string>{"name"}).value();
  backend->setCurrentKey("a");
  names.update("a text that does not fit into a small string");
  auto job = backend->prepareSnapshot(1, {});
  names.update("b");
  backend.reset();
  const auto handle = write(*job);
  job.reset();
  auto again = restored<std::string>(handle);
  auto names2 = again->state(ValueStateDescriptor<std::string>{"name"}).value();
  again->setCurrentKey("a");
  EXPECT_EQ(*names2.value(), "a text that does not fit into a small string");
}

/// Random operations against a model, with up to three snapshots running at once that are written later and compared with the model of
/// their time. Prepared, written and dropped in any order.
TEST_F(HeapBackendTest, RandomHistoriesWithOverlappingSnapshotsAgreeWithAModel) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    auto backend = backendOf<std::string>();
    auto count = backend->state(kCount).value();
    auto slots = backend->valueSlots(kCount).value();
    std::map<std::string, int64_t> model;
    struct Pending {
      std::unique_ptr<KeyedSnapshotJob> job;
      std::map<std::string, int64_t> expected;
    };
    std::vector<Pending> pending;
    for (int step = 0; step < 6000; ++step) {
      const std::string key = "k" + std::to_string(random.below(700));
      backend->setCurrentKey(key);
      switch (random.below(20)) {
        case 0: {
          if (pending.size() < 3 && random.oneIn(20)) pending.push_back({backend->prepareSnapshot(1, {}), model});
          break;
        }
        case 1: {
          if (pending.empty() || !random.oneIn(20)) break;
          const size_t which = random.below(pending.size());
          if (random.oneIn(2)) {
            auto again = restored<std::string>(write(*pending[which].job));
            EXPECT_EQ(contents(*again), pending[which].expected);
          }
          pending.erase(pending.begin() + static_cast<ptrdiff_t>(which));
          break;
        }
        case 2:
        case 3:
        case 4:
        case 5:
        case 6:
          count.clear();
          model.erase(key);
          break;
        case 7: {
          std::vector<std::string> words(random.between(1, 64));
          std::vector<const std::string*> keys;
          for (auto& word : words) {
            word = "k" + std::to_string(random.below(700));
            keys.push_back(&word);
          }
          int64_t* out[64];
          slots.get(keys, out);
          for (size_t i = 0; i < keys.size(); ++i) *out[i] += static_cast<int64_t>(i), model[words[i]] += static_cast<int64_t>(i);
          break;
        }
        default:
          count.slot() += step;
          model[key] += step;
      }
      ASSERT_EQ(count.value() ? *count.value() : -1, model.contains(key) ? model[key] : -1);
    }
    EXPECT_EQ(contents(*backend), model);
  }
}

TEST_F(HeapBackendTest, FlinksOwnFileIsReadAndWhatIsNotAskedForStays) {
  RealFileSystem disk;
  auto loaded = loadCheckpoint(disk, golden::pathOf(golden::checkpointFolder("aligned-heap-tiny", "chk-2"))).value();
  auto real = FsCheckpointStorage::create(disk, JobID{}, {"/nowhere"}, Random(1)).value();
  std::map<std::string, int64_t> all;
  for (int32_t subtask : {0, 1}) {
    const auto& keyed = loaded.metadata.operators[0].subtasks.at(subtask).managedKeyed;
    auto backend = backendOf<std::string>({subtask * 64, subtask * 64 + 63});
    ASSERT_TRUE(backend->restore(keyed, *real).has_value());
    for (const auto& [key, value] : contents(*backend)) all[key] = value;
    // Written again: the timers that nobody registered are still in the file.
    const auto handle = std::get<KeyGroupsHandle>(snapshot(*backend));
    const auto& original = std::get<KeyGroupsHandle>(keyed[0]);
    EXPECT_EQ(readAll(*storage, handle.stream).value(), readAll(*real, original.stream).value());
    EXPECT_EQ(handle.offsets, original.offsets);
  }
  EXPECT_EQ(all, (std::map<std::string, int64_t>{{"user-0", 2}, {"user-1", 2}, {"user-2", 2}}));
}

}  // namespace
}  // namespace weir
