#pragma once

#include <cstdint>
#include <vector>

#include "weir/exchange/java_hash.h"
#include "weir/snapshot/key_group_range.h"

namespace weir {

/// Which subtask owns a key: key to key group by hash, key groups to subtasks by ranges, exactly as in Flink, so that a skew seen
/// here is the skew seen there. Flink: KeyGroupRangeAssignment. All pure functions; requires 1 <= parallelism <= maxParallelism <= 32768.

inline constexpr int32_t kMaxMaxParallelism = 1 << 15;

/// Spreads a Java hash over 31 bits. Flink: MathUtils.murmurHash.
constexpr int32_t murmurHash(int32_t code) {
  auto rotate = [](uint32_t v, int n) { return v << n | v >> (32 - n); };
  uint32_t h = static_cast<uint32_t>(code) * 0xcc9e2d51u;
  h = rotate(h, 15) * 0x1b873593u;
  h = rotate(h, 13) * 5 + 0xe6546b64u;
  h ^= 4;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  h ^= h >> 16;
  // The magnitude of the signed value; that of the smallest one does not fit and counts 0.
  return h == 0x80000000u ? 0 : static_cast<int32_t>(h >> 31 ? 0u - h : h);
}

/// Flink: computeKeyGroupForKeyHash.
constexpr int32_t keyGroupForHash(int32_t hash, int32_t maxParallelism) { return murmurHash(hash) % maxParallelism; }

/// Flink: assignToKeyGroup.
template <class K>
int32_t assignToKeyGroup(const K& key, int32_t maxParallelism) {
  static_assert(
      Key<K>,
      "Weir cannot key a stream by this type: use a number, bool, std::string, or a struct, pair or tuple of these (not an array, a "
      "list, a map or an enum, whose Java hash Flink refuses; not an optional by itself)");
  return keyGroupForHash(javaHash(key), maxParallelism);
}

/// Flink: computeOperatorIndexForKeyGroup.
constexpr int32_t operatorIndexForKeyGroup(int32_t keyGroup, int32_t parallelism, int32_t maxParallelism) {
  return keyGroup * parallelism / maxParallelism;
}

/// Flink: assignKeyToParallelOperator.
template <class K>
int32_t assignKeyToParallelOperator(const K& key, int32_t parallelism, int32_t maxParallelism) {
  return operatorIndexForKeyGroup(assignToKeyGroup(key, maxParallelism), parallelism, maxParallelism);
}

/// The key groups of subtask `index`. Flink: computeKeyGroupRangeForOperatorIndex.
constexpr KeyGroupRange keyGroupRangeForOperatorIndex(int32_t index, int32_t parallelism, int32_t maxParallelism) {
  return {(index * maxParallelism + parallelism - 1) / parallelism, ((index + 1) * maxParallelism - 1) / parallelism};
}

/// The ranges of all subtasks, in order.
std::vector<KeyGroupRange> keyGroupRanges(int32_t parallelism, int32_t maxParallelism);

/// What a job gets that does not say: room to grow by half, at least 128, a power of two. Flink: computeDefaultMaxParallelism.
constexpr int32_t computeDefaultMaxParallelism(int32_t parallelism) {
  int32_t wanted = parallelism + parallelism / 2, power = 128;
  while (power < wanted && power < kMaxMaxParallelism) power *= 2;
  return power;
}

/// The same for a sender that asks once per record: no division, a table from key group to subtask.
/// Threads: immutable. Invariant: agrees with the functions above (tested over all hashes of the golden file).
class KeyGroupAssigner {
 public:
  KeyGroupAssigner(int32_t parallelism, int32_t maxParallelism);
  int32_t keyGroup(int32_t javaHash) const {
    // Lemire's remainder by multiplication: exact for 32 bits.
    uint64_t fraction = reciprocal_ * static_cast<uint32_t>(murmurHash(javaHash));
    return static_cast<int32_t>(static_cast<unsigned __int128>(fraction) * static_cast<uint32_t>(maxParallelism_) >> 64);
  }
  int32_t subtaskOfHash(int32_t javaHash) const { return subtaskOfKeyGroup_[static_cast<size_t>(keyGroup(javaHash))]; }
  template <class K>
  int32_t subtaskOf(const K& key) const {
    static_assert(Key<K>, "Weir cannot key a stream by this type: see assignToKeyGroup");
    return subtaskOfHash(javaHash(key));
  }

 private:
  int32_t maxParallelism_;
  uint64_t reciprocal_;
  std::vector<int32_t> subtaskOfKeyGroup_;
};

}  // namespace weir
