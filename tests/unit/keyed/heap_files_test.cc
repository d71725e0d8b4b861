#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/golden_checkpoints.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/real_file_system.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"
#include "weir/keyed/heap_keyed_state_backend.h"

// Heap keyed state files: those of a real Flink, and damaged ones.
namespace weir {
namespace {

using ::testing::HasSubstr;

using StringBackend = HeapKeyedStateBackend<std::string>;

class HeapFilesTest : public ::testing::Test {
 protected:
  HeapFilesTest() {
    real = FsCheckpointStorage::create(disk, JobID{}, {"/nowhere"}, Random(1)).value();
    memory = FsCheckpointStorage::create(files, JobID{}, {"/c", 0}, Random(1)).value();
    EXPECT_TRUE(memory->initializeCheckpoint(1).has_value());
  }
  static StringBackend backendOf(KeyGroupRange range) { return StringBackend({range, 128, Random(7)}); }
  /// The keyed handles of operator `uid`, by subtask.
  std::map<int32_t, KeyedHandle> golden(const std::string& scenario, const std::string& end, const std::string& uid) {
    const std::string folder = golden::checkpointFolder(scenario, end);
    const auto metadata = readMetadata(golden::readBytes(folder + "/_metadata"), golden::pathOf(folder), folder).value();
    std::map<int32_t, KeyedHandle> handles;
    for (const auto& op : metadata.operators) {
      if (op.uid != uid) continue;
      for (const auto& [index, state] : op.subtasks) handles[index] = state.managedKeyed.at(0);
    }
    EXPECT_EQ(handles.size(), 2u);
    return handles;
  }
  std::vector<std::byte> bytesOf(CheckpointWorkerStorage& storage, const KeyedHandle& handle) {
    return readAll(storage, std::get<KeyGroupsHandle>(handle).stream).value();
  }
  KeyedHandle write(StringBackend& backend) {
    return backend.prepareSnapshot(1, {})->write(*memory->resolveCheckpointLocation(1, {})).value().value();
  }

  RealFileSystem disk;
  MemoryFileSystem files;
  std::unique_ptr<FsCheckpointStorage> real, memory;
};

TEST_F(HeapFilesTest, EveryKindOfStateOfFlinkHasItsValues) {
  for (const char* scenario : {"aligned-heap", "aligned-heap-inline"}) {
    SCOPED_TRACE(scenario);
    size_t keys = 0;
    for (const auto& [index, handle] : golden(scenario, "chk-2", "keyed")) {
      auto backend = backendOf({index * 64, index * 64 + 63});
      const auto done = backend.restore({&handle, 1}, *real);
      ASSERT_TRUE(done.has_value()) << done.error().message;
      auto count = backend.state(ValueStateDescriptor<int64_t>{"count"}).value();
      auto seen = backend.state(ListStateDescriptor<std::string>{"seen"}).value();
      auto parity = backend.state(MapStateDescriptor<std::string, int64_t>{"by-parity"}).value();
      auto sum = backend.state(ReducingStateDescriptor<int64_t>{"sum", std::plus<int64_t>()}).value();
      for (const auto& key : backend.keys("count")) {
        ++keys;
        backend.setCurrentKey(key);
        ASSERT_TRUE(count.value() && seen.get() && sum.get());
        EXPECT_EQ(seen.get()->size(), static_cast<size_t>(*count.value()));
        int64_t total = 0;
        std::map<std::string, int64_t> last;  // what a map by parity keeps of these values
        for (const auto& text : *seen.get()) {
          const int64_t value = std::stoll(text.substr(1));
          total += value;
          last[value % 2 == 0 ? "even" : "odd"] = value;
        }
        EXPECT_EQ(*sum.get(), total) << key;
        EXPECT_EQ(parity.entries(), last) << key;
      }
    }
    EXPECT_EQ(keys, 10u);
  }
}

TEST_F(HeapFilesTest, WindowsOfFlinkHaveTheirAccumulators) {
  using CountAndSum = std::pair<int64_t, int64_t>;
  AggregatingStateDescriptor<int64_t, CountAndSum, int64_t> contents{"window-contents", {}, {}, {}, StateNamespace::kTimeWindow};
  size_t windows = 0;
  for (const auto& [index, handle] : golden("windows-heap", "chk-2", "window")) {
    auto backend = backendOf({index * 64, index * 64 + 63});
    ASSERT_TRUE(backend.restore({&handle, 1}, *real).has_value());
    auto state = backend.state(contents).value();
    for (const auto& [key, window] : backend.keysAndWindows("window-contents")) {
      ++windows;
      EXPECT_EQ(window.end - window.start, 7000);
      EXPECT_EQ(window.start % 7000, 0);
      backend.setCurrentKey(key);
      state.setCurrentNamespace(window);
      ASSERT_NE(state.accumulator(), nullptr);
      EXPECT_GT(state.accumulator()->first, 0);
    }
  }
  EXPECT_EQ(windows, 9u);
}

TEST_F(HeapFilesTest, ANativeSavepointIsReadLikeACheckpoint) {
  size_t keys = 0;
  for (const auto& [index, handle] : golden("savepoints-heap", "savepoint-000000-307cf562b157", "keyed")) {
    auto backend = backendOf({index * 64, index * 64 + 63});
    ASSERT_TRUE(backend.restore({&handle, 1}, *real).has_value());
    ASSERT_TRUE(backend.state(ValueStateDescriptor<int64_t>{"count"}).has_value());
    keys += backend.keys("count").size();
  }
  EXPECT_EQ(keys, 10u);
}

TEST_F(HeapFilesTest, StateOfOtherBackendsAndFormatsIsRefusedByName) {
  for (auto [scenario, end, why] : {std::tuple{"savepoints-heap", "savepoint-000000-2fa8190b721f", "canonical savepoint"},
                                    std::tuple{"rocksdb-full", "chk-2", "RocksDB"}}) {
    const auto handles = golden(scenario, end, "keyed");
    auto backend = backendOf({0, 63});
    const auto refused = backend.restore({&handles.at(0), 1}, *real);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(refused.error().message, HasSubstr(why));
  }
}

TEST_F(HeapFilesTest, UnregisteredStateOfFlinkIsWrittenBackAndMergedAcrossHandles) {
  for (auto [scenario, uid] :
       {std::pair{"aligned-heap", "keyed"}, std::pair{"windows-heap", "window"}, std::pair{"windows-heap", "timers"}}) {
    SCOPED_TRACE(uid);
    const auto handles = golden(scenario, "chk-2", uid);
    const std::vector<KeyedHandle> both{handles.at(0), handles.at(1)};
    auto merged = backendOf({0, 127});
    ASSERT_TRUE(merged.restore(both, *real).has_value());
    const int64_t all = merged.numEntries();
    const auto handle = write(merged);
    int64_t parts = 0;
    for (int32_t quarter = 0; quarter < 4; ++quarter) {
      auto part = backendOf({quarter * 32, quarter * 32 + 31});
      ASSERT_TRUE(part.restore({&handle, 1}, *memory).has_value());
      parts += part.numEntries();
    }
    EXPECT_GT(all, 0);
    EXPECT_EQ(parts, all);
  }
}

TEST_F(HeapFilesTest, AnotherTypeThanBeforeIsAnErrorThatSaysBoth) {
  const auto handles = golden("aligned-heap", "chk-2", "keyed");
  auto backend = backendOf({0, 63});
  ASSERT_TRUE(backend.restore({&handles.at(0), 1}, *real).has_value());
  const auto wrong = backend.state(ValueStateDescriptor<std::string>{"count"});
  ASSERT_TRUE(wrong.has_error());
  EXPECT_THAT(wrong.error().message,
              HasSubstr("its state \"count\" is VALUE of Long per VoidNamespace, the operator wants VALUE of String per VoidNamespace"));
  EXPECT_TRUE(backend.state(ListStateDescriptor<int64_t>{"count"}).has_error());
  EXPECT_TRUE(backend.state(ValueStateDescriptor<int64_t>{"count"}).has_value()) << "the right type still works";
  HeapKeyedStateBackend<int64_t> byNumber({{0, 63}, 128, Random(1)});
  EXPECT_THAT(byNumber.restore({&handles.at(0), 1}, *real).error().message, HasSubstr("it is keyed by String, the operator by Long"));
}

TEST_F(HeapFilesTest, AKeyInTheWrongKeyGroupIsFound) {
  auto handle = golden("aligned-heap-tiny", "chk-2", "tiny").at(0);
  auto bytes = bytesOf(*real, handle);
  // The key "user-0" of key group 8 becomes "user-9", which belongs elsewhere.
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bytes[text.find("user-0") + 5] = std::byte{'9'};
  std::get<KeyGroupsHandle>(handle).stream = InlineHandle{"f", std::make_shared<const std::vector<std::byte>>(bytes)};
  auto backend = backendOf({0, 63});
  ASSERT_TRUE(backend.restore({&handle, 1}, *real).has_value());
  const auto wrong = backend.state(ValueStateDescriptor<int64_t>{"count"});
  ASSERT_TRUE(wrong.has_error());
  EXPECT_EQ(wrong.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(wrong.error().message, HasSubstr("is in key group 8, but belongs to "));
}

/// Never a crash, and an error names the file. `damage` may do anything to the bytes.
TEST_F(HeapFilesTest, DamagedFilesAreErrorsThatNameTheFile) {
  for (auto [scenario, uid] : {std::pair{"aligned-heap", "keyed"}, std::pair{"windows-heap", "window"}}) {
    const auto handle = std::get<KeyGroupsHandle>(golden(scenario, "chk-2", uid).at(0));
    const auto bytes = bytesOf(*real, handle);
    Random random(11);
    int errors = 0;
    for (int round = 0; round < 1500; ++round) {
      auto damaged = bytes;
      for (uint64_t flips = random.between(1, 3); flips > 0; --flips) {
        damaged[random.below(damaged.size())] ^= static_cast<std::byte>(1 << random.below(8));
      }
      if (random.oneIn(4)) damaged.resize(random.below(damaged.size()));
      KeyGroupsHandle other = handle;
      if (random.oneIn(8)) other.offsets[random.below(other.offsets.size())] = static_cast<int64_t>(random.below(6000));
      other.stream = InlineHandle{"/x/file", std::make_shared<const std::vector<std::byte>>(damaged)};
      const KeyedHandle any = other;
      auto backend = backendOf({0, 63});
      const auto done = backend.restore({&any, 1}, *real);
      if (done.has_error()) {
        ++errors;
        EXPECT_THAT(done.error().message, HasSubstr("/x/file"));
        continue;
      }
      (void)backend.state(ValueStateDescriptor<int64_t>{"count"});
      (void)backend.state(ListStateDescriptor<std::string>{"seen"});
      (void)backend.state(MapStateDescriptor<std::string, int64_t>{"by-parity"});
      (void)write(backend);
    }
    EXPECT_GT(errors, 300);
  }
}

TEST_F(HeapFilesTest, EveryTruncationIsAnErrorThatNamesTheFile) {
  auto backend = backendOf({0, 127});
  auto names = backend.state(MapStateDescriptor<std::string, std::vector<int64_t>>{"m"}).value();
  for (int i = 0; i < 5; ++i) {
    backend.setCurrentKey("key" + std::to_string(i));
    names.put("x", {1, 2, 3});
  }
  auto handle = std::get<KeyGroupsHandle>(write(backend));
  const auto bytes = readAll(*memory, handle.stream).value();
  for (size_t length = 0; length < bytes.size(); ++length) {
    handle.stream = InlineHandle{
        "/x/file", std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length))};
    const KeyedHandle any = handle;
    auto again = backendOf({0, 127});
    const auto done = again.restore({&any, 1}, *memory);
    ASSERT_TRUE(done.has_error()) << length;
    EXPECT_THAT(done.error().message, HasSubstr("/x/file"));
  }
}

TEST_F(HeapFilesTest, TheSameHistoryGivesTheSameFile) {
  auto run = [&] {
    auto backend = backendOf({0, 127});
    auto count = backend.state(ValueStateDescriptor<int64_t>{"count"}).value();
    auto windowed = backend.state(ValueStateDescriptor<double>{"w", 0, StateNamespace::kTimeWindow}).value();
    Random random(4);
    for (int i = 0; i < 3000; ++i) {
      backend.setCurrentKey("k" + std::to_string(random.below(500)));
      windowed.setCurrentNamespace({static_cast<int64_t>(random.below(3)), 10});
      if (random.oneIn(3))
        count.clear(), windowed.clear();
      else
        count.slot() += i, windowed.slot() += 0.5;
    }
    const auto handle = write(backend);
    return std::pair(bytesOf(*memory, handle), std::get<KeyGroupsHandle>(handle).handleId);
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace weir
