#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "weir/base/memory_file_system.h"
#include "weir/base/thread_executor.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"
#include "weir/keyed/heap_keyed_state_backend.h"

namespace weir {
namespace {

// A task that never stops writing while workers write its snapshots: meant for the thread sanitizer, and right without it.
TEST(ConcurrentSnapshot, AWorkerWritesWhatWasThereWhileTheTaskGoesOn) {
  MemoryFileSystem files;
  auto storage = FsCheckpointStorage::create(files, JobID{}, {"/c", 0}, Random(1)).value();
  ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
  ThreadExecutor executor;
  executor.run("task", [&](ExecutionContext& context) {
    HeapKeyedStateBackend<std::string> backend({{0, 127}, 128, Random(1)});
    auto count = backend.state(ValueStateDescriptor<int64_t>{"count"}).value();
    auto names = backend.state(ValueStateDescriptor<std::string>{"name"}).value();
    auto lists = backend.state(ListStateDescriptor<int64_t>{"list"}).value();
    Random random(3);
    int64_t round = 0;
    auto touch = [&] {
      const std::string key = "key-" + std::to_string(random.below(1500));
      backend.setCurrentKey(key);
      if (random.oneIn(5)) {
        count.clear(), names.clear(), lists.clear();
        return;
      }
      count.update(round);
      names.update("a name that is longer than a small string: " + std::to_string(round));
      lists.add(round);
    };
    for (round = 1; round <= 20; ++round) {
      for (int i = 0; i < 300; ++i) touch();
      std::map<std::string, int64_t> expected;
      for (const auto& key : backend.keys("count")) {
        backend.setCurrentKey(key);
        expected[key] = *count.value();
      }
      std::shared_ptr<KeyedSnapshotJob> job = backend.prepareSnapshot(round, {});
      std::atomic<bool> written{false};
      std::optional<KeyedHandle> handle;
      auto worker = executor.spawn({"worker-" + std::to_string(round)}, [&, job = std::move(job)](ExecutionContext&) mutable {
        handle = job->write(*storage->resolveCheckpointLocation(1, {})).value();
        job.reset();
        written.store(true);
      });
      while (!written.load()) touch();
      context.wait(WaitReason::kFile, {&worker->done()});
      HeapKeyedStateBackend<std::string> again({{0, 127}, 128, Random(1)});
      ASSERT_TRUE(again.restore({&*handle, 1}, *storage).has_value());
      auto restored = again.state(ValueStateDescriptor<int64_t>{"count"}).value();
      std::map<std::string, int64_t> found;
      for (const auto& key : again.keys("count")) {
        again.setCurrentKey(key);
        found[key] = *restored.value();
      }
      ASSERT_EQ(found, expected);
    }
  });
}

}  // namespace
}  // namespace weir
