#include "weir/backend/hash_index.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "weir/base/random.h"
#include "weir/backend/fast_hash.h"

namespace weir {
namespace {

std::set<uint32_t> entriesOf(const HashIndex& index, uint32_t hash) {
  std::set<uint32_t> found;
  size_t position = index.home(hash);
  for (uint32_t e = index.next(hash, position); e != HashIndex::kNone; e = index.next(hash, position)) found.insert(e);
  return found;
}

TEST(HashIndex, FindsWhatIsThereThroughCollisionsGrowthAndRemoval) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    // Few different hashes, and hashes that share their home at every size: long runs, equal hashes, wrapped ends.
    const uint32_t spread = random.oneIn(2) ? 1 : 1u << 20;
    HashIndex index;
    std::map<uint32_t, std::set<uint32_t>> model;
    uint32_t nextEntry = 0;
    for (int step = 0; step < 4000; ++step) {
      const auto hash = static_cast<uint32_t>(random.below(300)) * spread + (random.oneIn(2) ? 0xffffffc0u : 0);
      auto& known = model[hash];
      if (known.empty() || random.below(10) < 6) {
        index.insert(hash, nextEntry);
        known.insert(nextEntry++);
      } else {
        index.erase(hash, *known.begin());
        known.erase(known.begin());
      }
      ASSERT_EQ(entriesOf(index, hash), known);
    }
    size_t total = 0;
    for (const auto& [hash, known] : model) {
      ASSERT_EQ(entriesOf(index, hash), known);
      total += known.size();
    }
    EXPECT_EQ(index.size(), total);
  }
}

template <class Make>
double worstBucketLoad(Make&& make) {
  // 2^16 keys over the 2^10 upper values of the half that tables use: 64 each, standard deviation 8.
  std::vector<int> buckets(1024);
  for (int64_t i = 0; i < 65536; ++i) ++buckets[fastHash(make(i)) >> 54];
  return *std::max_element(buckets.begin(), buckets.end());
}

TEST(FastHash, SpreadsKeysThatLookAlike) {
  EXPECT_LT(worstBucketLoad([](int64_t i) { return i; }), 110);
  EXPECT_LT(worstBucketLoad([](int64_t i) { return i << 32; }), 110);
  EXPECT_LT(worstBucketLoad([](int64_t i) { return i * 1000; }), 110);
  EXPECT_LT(worstBucketLoad([](int64_t i) { return static_cast<double>(i); }), 110);
  EXPECT_LT(worstBucketLoad([](int64_t i) { return std::to_string(i); }), 110);
  EXPECT_LT(worstBucketLoad([](int64_t i) { return "a-rather-long-prefix-of-a-key-" + std::to_string(i); }), 110);
  EXPECT_LT(worstBucketLoad([](int64_t i) { return std::to_string(i) + "-a-rather-long-suffix-of-a-key"; }), 110);
  EXPECT_LT(worstBucketLoad([](int64_t i) { return std::pair(i & 255, i >> 8); }), 110);
  EXPECT_LT(worstBucketLoad([](int64_t i) { return TimeWindow{i * 60000, (i + 1) * 60000}; }), 110);
}

TEST(FastHash, DependsOnEveryByteAndOnTheLength) {
  std::set<uint64_t> hashes;
  size_t made = 0;
  for (size_t length = 0; length <= 40; ++length) {
    const std::string text(length, 'a');
    hashes.insert(fastHash(text));
    ++made;
    for (size_t at = 0; at < length; ++at) {
      std::string other = text;
      other[at] = 'b';
      hashes.insert(fastHash(other));
      ++made;
    }
  }
  EXPECT_EQ(hashes.size(), made);
}

TEST(FastHashTest, OfAStringAndOfAViewOfItAreTheSameAtEveryLength) {
  std::string text;
  for (int size = 0; size <= 200; ++size) {
    std::string dirty(256, '\xff');
    dirty.assign(text);
    EXPECT_EQ(fastHash(text), fastHash(std::string_view(text))) << size;
    EXPECT_EQ(fastHash(text), fastHash(dirty)) << size;
    text += static_cast<char>('a' + size % 26);
  }
}

}  // namespace
}  // namespace weir
