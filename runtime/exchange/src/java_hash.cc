#include "weir/exchange/java_hash.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::detail {

int32_t hashOfWideText(uint32_t hash, std::string_view text, std::string_view whole) {
  if (!forEachUtf16Unit(text, [&](uint16_t unit) { hash = 31 * hash + unit; })) throwInvalidUtf8(whole);
  return static_cast<int32_t>(hash);
}

#if defined(__x86_64__)
namespace {

/// 64 characters a round: two chains of eight lanes, each lane a chain over every 16th group of four characters.
[[gnu::target("avx2")]] size_t hashOfBlocksAvx2(const char* text, size_t size, uint32_t& hash) {
  const __m256i pairs = _mm256_set1_epi16(31 | 1 << 8);        // 31 c0 + c1
  const __m256i quads = _mm256_set1_epi32(31 * 31 | 1 << 16);  // 961 p0 + p1
  const __m256i step = _mm256_set1_epi32(static_cast<int>(power31(64)));
  __m256i first = _mm256_setzero_si256(), second = first;
  size_t done = 0;
  for (; done + 64 <= size; done += 64) {
    __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + done));
    __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + done + 32));
    if (_mm256_movemask_epi8(_mm256_or_si256(a, b)) != 0) break;
    a = _mm256_madd_epi16(_mm256_maddubs_epi16(a, pairs), quads);
    b = _mm256_madd_epi16(_mm256_maddubs_epi16(b, pairs), quads);
    first = _mm256_add_epi32(_mm256_mullo_epi32(first, step), a);
    second = _mm256_add_epi32(_mm256_mullo_epi32(second, step), b);
  }
  alignas(32) uint32_t lanes[16];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), first);
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes + 8), second);
  for (uint32_t lane : lanes) hash = hash * power31(4) + lane;
  return done;
}

}  // namespace

size_t hashOfBlocks(const char* text, size_t size, uint32_t& hash) {
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
  return kHasAvx2 ? hashOfBlocksAvx2(text, size, hash) : 0;
}
#else
size_t hashOfBlocks(const char*, size_t, uint32_t&) { return 0; }
#endif

}  // namespace weir::detail
