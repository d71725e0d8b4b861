#include "weir/rescale/state_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <set>

#include "weir/base/memory_file_system.h"
#include "weir/checkpoint/default_operator_state_backend.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"
#include "weir/keyed/heap_keyed_state_backend.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr OperatorStateMode kSplit = OperatorStateMode::kSplit;
constexpr OperatorStateMode kUnion = OperatorStateMode::kUnion;
constexpr OperatorStateMode kBroadcast = OperatorStateMode::kBroadcast;

OperatorState operatorOf(int32_t parallelism, int32_t maxParallelism = 128) {
  OperatorState state;
  state.name = "op";
  state.id = OperatorID::of(1, 2);
  state.parallelism = parallelism;
  state.maxParallelism = maxParallelism;
  for (int32_t i = 0; i < parallelism; ++i) state.subtasks[i];
  return state;
}

StreamHandle fileOf(int32_t subtask) { return RelativeFileHandle{"f" + std::to_string(subtask), 1000, ""}; }

/// Elements as (file of the old subtask, offset), in the order in which the new subtask reads them.
using Elements = std::vector<std::pair<std::string, int64_t>>;
Elements elementsOf(const OperatorSubtaskState& subtask, const std::string& name) {
  Elements elements;
  for (const auto& handle : subtask.managedOperator)
    for (const auto& state : handle.states)
      if (state.name == name)
        for (int64_t offset : state.offsets) elements.emplace_back(std::get<RelativeFileHandle>(handle.stream).name, offset);
  return elements;
}

/// Each old subtask i has `sizes[i]` elements of one list.
OperatorState listOf(const std::vector<int>& sizes, OperatorStateMode mode, const std::string& name = "list") {
  OperatorState state = operatorOf(static_cast<int32_t>(sizes.size()));
  for (int32_t i = 0; i < state.parallelism; ++i) {
    OperatorStateHandle handle{{{name, mode, {}}}, fileOf(i)};
    for (int64_t e = 0; e < sizes[static_cast<size_t>(i)]; ++e) handle.states[0].offsets.push_back(e);
    state.subtasks[i].managedOperator = {handle};
  }
  return state;
}

void forEachPair(const std::function<void(int p, int q)>& visit) {
  for (int p = 1; p <= 8; ++p)
    for (int q = 1; q <= 8; ++q) {
      SCOPED_TRACE(fmt::format("from {} to {}", p, q));
      visit(p, q);
    }
}

TEST(StateAssignment, AListIsCutIntoContiguousRunsOfEqualSize) {
  forEachPair([](int p, int q) {
    for (int seed = 0; seed < 20; ++seed) {
      Random random(static_cast<uint64_t>(seed));
      std::vector<int> sizes;
      for (int i = 0; i < p; ++i) sizes.push_back(static_cast<int>(random.below(7)));
      const OperatorState state = listOf(sizes, kSplit);
      Elements before;
      for (const auto& [i, subtask] : state.subtasks) {
        const auto own = elementsOf(subtask, "list");
        before.insert(before.end(), own.begin(), own.end());
      }
      const auto after = redistribute(state, q);
      ASSERT_EQ(after.size(), static_cast<size_t>(q));
      if (p == q) {
        for (int i = 0; i < q; ++i) EXPECT_EQ(elementsOf(after[i], "list"), elementsOf(state.subtasks.at(i), "list"));
        continue;
      }
      Elements joined;
      for (int i = 0; i < q; ++i) {
        const auto own = elementsOf(after[i], "list");
        EXPECT_EQ(static_cast<int>(own.size()), static_cast<int>(before.size()) / q + (i < static_cast<int>(before.size()) % q ? 1 : 0));
        joined.insert(joined.end(), own.begin(), own.end());
      }
      EXPECT_EQ(joined, before);
    }
  });
}

TEST(StateAssignment, TheOddElementsOfTheNextListGoToTheNextSubtasks) {
  // Two lists of 4 elements over 3 subtasks. "a" comes before "b" in a Java HashMap: 2 1 1, then the second list starts at subtask 1.
  OperatorState state = operatorOf(2);
  for (int32_t i = 0; i < 2; ++i) state.subtasks[i].managedOperator = {{{{"a", kSplit, {0, 1}}, {"b", kSplit, {10, 11}}}, fileOf(i)}};
  const auto after = redistribute(state, 3);
  std::vector<size_t> a, b;
  for (const auto& subtask : after) {
    a.push_back(elementsOf(subtask, "a").size());
    b.push_back(elementsOf(subtask, "b").size());
  }
  EXPECT_THAT(a, ElementsAre(2, 1, 1));
  EXPECT_THAT(b, ElementsAre(1, 2, 1));
  EXPECT_THAT(elementsOf(after[1], "b"), ElementsAre(std::pair(std::string("f0"), 10), std::pair(std::string("f0"), 11)));
}

TEST(StateAssignment, TheOrderOfListsIsThatOfAJavaHashMapNotOfTheFile) {
  // Hash codes 122 and 97: buckets 10 and 1, so "a" is first although the file names "z" first.
  OperatorState state = operatorOf(1);
  state.subtasks[0].managedOperator = {{{{"z", kSplit, {10}}, {"a", kSplit, {0}}}, fileOf(0)}};
  const auto after = redistribute(state, 2);
  EXPECT_EQ(elementsOf(after[0], "a").size(), 1u);
  EXPECT_EQ(elementsOf(after[1], "z").size(), 1u);
}

TEST(StateAssignment, AUnionListGoesWhollyToEverybody) {
  forEachPair([](int p, int q) {
    std::vector<int> sizes;
    for (int i = 0; i < p; ++i) sizes.push_back(i % 3);
    const auto state = listOf(sizes, kUnion);
    Elements all;
    for (const auto& [i, subtask] : state.subtasks) {
      const auto own = elementsOf(subtask, "list");
      all.insert(all.end(), own.begin(), own.end());
    }
    for (const auto& subtask : redistribute(state, q)) EXPECT_EQ(elementsOf(subtask, "list"), all);
  });
}

TEST(StateAssignment, ABroadcastStateIsOneCopyForEverybody) {
  forEachPair([](int p, int q) {
    const auto after = redistribute(listOf(std::vector<int>(static_cast<size_t>(p), 1), kBroadcast), q);
    for (int i = 0; i < q; ++i) EXPECT_THAT(elementsOf(after[i], "list"), ElementsAre(std::pair("f" + std::to_string(i % p), int64_t{0})));
  });
}

TEST(StateAssignment, ABroadcastCopyThatAFinishedSubtaskDidNotLeaveIsRefilled) {
  auto state = listOf({1, 1, 1}, kBroadcast);
  state.subtasks.erase(1);
  state.finishedSubtasks = {1};
  const auto after = redistribute(state, 3);
  EXPECT_THAT(elementsOf(after[0], "list"), ElementsAre(std::pair(std::string("f0"), 0)));
  EXPECT_EQ(elementsOf(after[1], "list").size(), 1u);
  EXPECT_THAT(elementsOf(after[2], "list"), ElementsAre(std::pair(std::string("f2"), 0)));
}

/// Invariant G4: the ranges of the new subtasks partition the key groups, and each offset stays with its key group and file.
TEST(StateAssignment, EveryKeyGroupGoesToExactlyOneSubtaskWithItsOffset) {
  for (int32_t max : {8, 13, 128}) {
    forEachPair([&](int p, int q) {
      OperatorState state = operatorOf(p, max);
      const auto oldRanges = keyGroupRanges(p, max);
      std::map<int32_t, std::pair<std::string, int64_t>> expected;
      for (int32_t i = 0; i < p; ++i) {
        KeyGroupsHandle handle{KeyGroupsHandle::Format::kHeapCheckpoint, oldRanges[i], {}, fileOf(i), "id"};
        for (int32_t g = oldRanges[i].first; g <= oldRanges[i].last; ++g) {
          handle.offsets.push_back(g * 10);
          expected[g] = {"f" + std::to_string(i), g * 10};
        }
        state.subtasks[i].managedKeyed = {handle};
      }
      std::map<int32_t, std::pair<std::string, int64_t>> found;
      const auto after = redistribute(state, q);
      const auto newRanges = keyGroupRanges(q, max);
      for (int i = 0; i < q; ++i) {
        for (const auto& any : after[i].managedKeyed) {
          const auto& handle = std::get<KeyGroupsHandle>(any);
          ASSERT_EQ(handle.offsets.size(), static_cast<size_t>(handle.range.size()));
          for (int32_t g = handle.range.first; g <= handle.range.last; ++g) {
            EXPECT_TRUE(newRanges[i].contains(g));
            const auto at =
                std::pair(std::get<RelativeFileHandle>(handle.stream).name, handle.offsets[static_cast<size_t>(g - handle.range.first)]);
            EXPECT_TRUE(found.emplace(g, at).second) << "key group " << g << " twice";
          }
        }
      }
      EXPECT_EQ(found, expected);
    });
  }
}

/// Invariants G4 and G6 through real backends and files: what p subtasks stored is what q subtasks find.
TEST(StateAssignment, StateOfRealBackendsSurvivesEveryChangeOfParallelism) {
  constexpr int32_t kMax = 16;
  forEachPair([](int p, int q) {
    MemoryFileSystem files;
    auto storage = FsCheckpointStorage::create(files, JobID::of(1, 1), {"/c", 200}, Random(1)).value();
    ASSERT_TRUE(storage->initializeCheckpoint(1).has_value());
    auto factory = storage->resolveCheckpointLocation(1, {});
    OperatorState state = operatorOf(p, kMax);
    std::map<std::string, int64_t> keyed;
    std::multiset<int64_t> list;
    for (int32_t i = 0; i < p; ++i) {
      HeapKeyedStateBackend<std::string> backend({keyGroupRanges(p, kMax)[i], kMax, Random(1)});
      auto count = backend.state(ValueStateDescriptor<int64_t>{"count"}).value();
      for (int64_t k = 0; k < 100; ++k) {
        const std::string key = "key-" + std::to_string(k);
        if (assignKeyToParallelOperator(key, p, kMax) != i) continue;
        backend.setCurrentKey(key);
        count.update(k);
        keyed[key] = k;
      }
      state.subtasks[i].managedKeyed = {backend.prepareSnapshot(1, {})->write(*factory).value().value()};
      DefaultOperatorStateBackend operators;
      auto& elements = operators.listState<int64_t>("list").value()->elements();
      for (int64_t e = 0; e <= i; ++e) elements.push_back(100 * i + e), list.insert(100 * i + e);
      state.subtasks[i].managedOperator = {operators.prepareSnapshot(1)->write(*factory).value().value()};
    }
    const auto after = redistribute(state, q);
    std::map<std::string, int64_t> keyedAfter;
    std::multiset<int64_t> listAfter;
    for (int32_t i = 0; i < q; ++i) {
      HeapKeyedStateBackend<std::string> backend({keyGroupRanges(q, kMax)[i], kMax, Random(1)});
      ASSERT_TRUE(backend.restore(after[i].managedKeyed, *storage).has_value());
      auto count = backend.state(ValueStateDescriptor<int64_t>{"count"}).value();
      for (const auto& key : backend.keys("count")) {
        EXPECT_EQ(assignKeyToParallelOperator(key, q, kMax), i);
        backend.setCurrentKey(key);
        EXPECT_TRUE(keyedAfter.emplace(key, *count.value()).second);
      }
      DefaultOperatorStateBackend operators;
      ASSERT_TRUE(operators.restore(after[i].managedOperator, *storage).has_value());
      for (int64_t e : operators.listState<int64_t>("list").value()->elements()) listAfter.insert(e);
    }
    EXPECT_EQ(keyedAfter, keyed);
    EXPECT_EQ(listAfter, list);
  });
}

RestoreTarget targetOf(int32_t parallelism, int32_t maxParallelism, bool configured) {
  return {"map (1/2)", parallelism, maxParallelism, configured, {OperatorID::of(1, 2)}};
}

TEST(StateAssignment, AnotherMaxParallelismIsRefusedIfTheUserAskedForIt) {
  const auto state = listOf({1, 1}, kSplit);
  const auto refused = assignStates({state}, {targetOf(2, 256, true)}, false, "/c/chk-1");
  ASSERT_TRUE(refused.has_error());
  EXPECT_THAT(refused.error().message,
              HasSubstr("The maximum parallelism (128) with which the latest checkpoint of the execution job vertex "
                        "map (1/2) has been taken and the current maximum parallelism (256) changed."));
  const auto derived = assignStates({state}, {targetOf(2, 256, false)}, false, "/c/chk-1");
  EXPECT_EQ(derived.value().at(0).maxParallelism, 128);
}

TEST(StateAssignment, MoreSubtasksThanKeyGroupsAreRefused) {
  const auto refused = assignStates({listOf({1}, kSplit)}, {targetOf(129, 129, false)}, false, "/c/chk-1");
  EXPECT_THAT(refused.error().message,
              HasSubstr("The maximum parallelism (128) of the restored state is lower than the configured parallelism (129)"));
}

TEST(StateAssignment, StateWithoutAnOperatorIsRefusedUnlessAllowedOrEmpty) {
  const auto state = listOf({1}, kSplit);
  RestoreTarget other{"map", 1, 128, false, {OperatorID::of(9, 9)}};
  const auto refused = assignStates({state}, {other}, false, "/c/chk-1");
  EXPECT_THAT(refused.error().message,
              HasSubstr("Failed to rollback to checkpoint/savepoint /c/chk-1. Cannot map checkpoint/savepoint state for "
                        "operator " +
                        state.id.toString()));
  EXPECT_THAT(assignStates({state}, {other}, true, "/c/chk-1").value().at(0).subtasks.at(0).operators, IsEmpty());
  EXPECT_TRUE(assignStates({operatorOf(1)}, {other}, false, "/c/chk-1").has_value());
}

TEST(StateAssignment, ASubtaskGetsTheStateOfAllItsOperators) {
  auto first = listOf({2, 2}, kSplit), second = listOf({1, 1}, kUnion);
  second.id = OperatorID::of(3, 4);
  RestoreTarget target{"chain", 2, 128, true, {first.id, second.id, OperatorID::of(5, 6)}};
  const auto assignment = assignStates({first, second}, {target}, false, "c").value().at(0);
  ASSERT_EQ(assignment.subtasks.size(), 2u);
  EXPECT_EQ(assignment.subtasks[1].operators.size(), 2u);
  EXPECT_EQ(elementsOf(assignment.subtasks[1].operators.at(second.id), "list").size(), 2u);
}

TEST(StateAssignment, AFinishedTaskIsFinishedAgain) {
  auto state = operatorOf(2);
  state.subtasks.clear();
  state.fullyFinished = true;
  auto target = targetOf(2, 128, true);
  EXPECT_TRUE(assignStates({state}, {target}, false, "c").value().at(0).subtasks.at(1).finishedOnRestore);
  target.operators.push_back(OperatorID::of(7, 7));
  EXPECT_THAT(assignStates({state}, {target}, false, "c").error().message, HasSubstr("mixes operators that were finished"));
}

TEST(StateAssignment, FilesOfRocksDbGoToEverySubtaskWhoseRangeTheyTouch) {
  auto state = operatorOf(1);
  RocksDbHandle rocks;
  rocks.range = {0, 63};
  state.subtasks[0].managedKeyed = {rocks};
  const auto after = redistribute(state, 4);
  EXPECT_EQ(after[0].managedKeyed.size(), 1u);
  EXPECT_EQ(after[1].managedKeyed.size(), 1u);
  EXPECT_EQ(after[2].managedKeyed.size(), 0u);
}

}  // namespace
}  // namespace weir
