#include <gtest/gtest.h>

#include "weir/base/memory_file_system.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"
#include "weir/keyed/heap_keyed_state_backend.h"

namespace weir {
namespace {

class HandClock final : public Clock {
 public:
  int64_t epochMillis() const override { return now; }
  Nanos monotonic() const override { return Millis(now); }
  int64_t now = 0;
};

using Ttl = StateTtlConfig;

struct StateTtl : ::testing::Test {
  HandClock clock;
  HeapKeyedStateBackend<std::string> backend{parameters()};

  KeyedStateBackendParameters parameters() {
    KeyedStateBackendParameters p{{0, 127}, 128, Random(1)};
    p.clock = &clock;
    return p;
  }
  void SetUp() override { backend.setCurrentKey("a"); }
  static Ttl config(Ttl::UpdateType update = Ttl::UpdateType::kOnCreateAndWrite,
                    Ttl::StateVisibility visibility = Ttl::StateVisibility::kNeverReturnExpired) {
    return {100, update, visibility};
  }
};

TEST_F(StateTtl, AValueExpiresWhenItsTimeHasPassedSinceTheLastWrite) {
  auto state = backend.state(ValueStateDescriptor<int64_t>{.name = "v", .ttl = config()}).value();
  state.update(1);
  clock.now = 99;
  ASSERT_TRUE(state.value());
  state.update(2);
  clock.now = 198;
  ASSERT_TRUE(state.value());
  EXPECT_EQ(*state.value(), 2);
  clock.now = 199;
  EXPECT_FALSE(state.value());
  EXPECT_EQ(backend.numEntries(), 0) << "found expired, it is removed";
}

TEST_F(StateTtl, AReadProlongsLifeOnlyWhereTheConfigSaysSo) {
  auto state = backend.state(ValueStateDescriptor<int64_t>{.name = "v", .ttl = config(Ttl::UpdateType::kOnReadAndWrite)}).value();
  state.update(1);
  clock.now = 60;
  ASSERT_TRUE(state.value());
  clock.now = 159;
  ASSERT_TRUE(state.value());
  clock.now = 259;
  EXPECT_FALSE(state.value());
}

TEST_F(StateTtl, AnExpiredValueIsGivenOnceWhereItMayBeSeen) {
  const Ttl seen = config(Ttl::UpdateType::kOnCreateAndWrite, Ttl::StateVisibility::kReturnExpiredIfNotCleanedUp);
  auto value = backend.state(ValueStateDescriptor<std::string>{.name = "v", .ttl = seen}).value();
  auto list = backend.state(ListStateDescriptor<int64_t>{.name = "l", .ttl = seen}).value();
  auto map = backend.state(MapStateDescriptor<int64_t, int64_t>{.name = "m", .ttl = seen}).value();
  value.update("a text that is too long for the small string optimisation");
  list.add(7);
  map.put(1, 2);
  clock.now = 100;
  const std::string* text = value.value();
  ASSERT_TRUE(text);
  EXPECT_EQ(text->substr(0, 6), "a text");
  EXPECT_FALSE(value.value());
  ASSERT_TRUE(list.get());
  EXPECT_FALSE(list.get());
  ASSERT_TRUE(map.get(1));
  EXPECT_FALSE(map.get(1));
}

TEST_F(StateTtl, ElementsAndEntriesHaveAnAgeOfTheirOwn) {
  auto list = backend.state(ListStateDescriptor<int64_t>{.name = "l", .ttl = config()}).value();
  auto map = backend.state(MapStateDescriptor<int64_t, int64_t>{.name = "m", .ttl = config()}).value();
  list.add(1), map.put(1, 10);
  clock.now = 50;
  list.add(2), map.put(2, 20);
  clock.now = 120;
  EXPECT_EQ(*list.get(), std::vector<int64_t>{2});
  EXPECT_EQ(map.entries(), (std::map<int64_t, int64_t>{{2, 20}}));
  EXPECT_FALSE(map.contains(1));
  clock.now = 150;
  EXPECT_FALSE(list.get());
  EXPECT_TRUE(map.entries().empty());
  EXPECT_TRUE(map.isEmpty());
}

TEST_F(StateTtl, AnExpiredReductionStartsAnew) {
  auto sum = backend.state(ReducingStateDescriptor<int64_t>{.name = "r", .reduce = [](auto& a, auto& b) { return a + b; }, .ttl = config()})
                 .value();
  sum.add(5);
  clock.now = 99;
  sum.add(6);
  EXPECT_EQ(*sum.get(), 11);
  clock.now = 199;
  sum.add(1);
  EXPECT_EQ(*sum.get(), 1);
}

TEST_F(StateTtl, WhatNobodyReadsAnyMoreIsRemovedByAccessesToOtherKeys) {
  auto state = backend.state(ValueStateDescriptor<int64_t>{.name = "v", .ttl = config()}).value();
  for (int i = 0; i < 1000; ++i) {
    backend.setCurrentKey("key-" + std::to_string(i));
    state.update(i);
  }
  clock.now = 1000;
  backend.setCurrentKey("a");
  for (int i = 0; i < 128 * 128 / 5; ++i) state.update(i);
  EXPECT_EQ(backend.numEntries(), 1);
}

TEST_F(StateTtl, AgeSurvivesARestore) {
  MemoryFileSystem files;
  auto storage = FsCheckpointStorage::create(files, JobID{}, {"/c", 0}, Random(1)).value();
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  const ValueStateDescriptor<std::string> descriptor{.name = "v", .ttl = config()};
  backend.state(descriptor).value().update("x");
  clock.now = 40;
  const auto handle = backend.prepareSnapshot(1, {})->write(*storage->resolveCheckpointLocation(1, {})).value();

  HeapKeyedStateBackend<std::string> again(parameters());
  ASSERT_TRUE(again.restore({&*handle, 1}, *storage).has_value());
  auto state = again.state(descriptor).value();
  again.setCurrentKey("a");
  clock.now = 99;
  ASSERT_TRUE(state.value());
  EXPECT_EQ(*state.value(), "x");
  clock.now = 100;
  EXPECT_FALSE(state.value());
}

TEST_F(StateTtl, AStateWrittenWithoutTimeToLiveIsNotTakenForOneWithIt) {
  ASSERT_TRUE(backend.state(ValueStateDescriptor<int64_t>{.name = "v"}).has_value());
  EXPECT_TRUE(backend.state(ValueStateDescriptor<int64_t>{.name = "v", .ttl = config()}).has_error());
}

}  // namespace
}  // namespace weir
