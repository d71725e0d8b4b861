#include "weir/graph/stable_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weir {
namespace {

constexpr uint64_t kC1 = 0x87c37b91114253d5ull;
constexpr uint64_t kC2 = 0x4cf5ad432745937full;

uint64_t loadLittle(const char* p, size_t n) {
  uint64_t value = 0;
  for (size_t i = 0; i < n; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(p[i])) << (8 * i);
  return value;
}

uint64_t finalMix(uint64_t h) {
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdull;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return h ^ (h >> 33);
}

uint64_t mix1(uint64_t k) { return std::rotl(k * kC1, 31) * kC2; }
uint64_t mix2(uint64_t k) { return std::rotl(k * kC2, 33) * kC1; }

}  // namespace

StableHasher& StableHasher::putLong(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
  return *this;
}

StableHasher& StableHasher::putBytes(std::string_view text) {
  bytes_ += text;
  return *this;
}

StableHasher& StableHasher::putText(std::string_view text) { return putLong(text.size()).putBytes(text); }

std::array<uint8_t, 16> StableHasher::digest() const {
  uint64_t h1 = 0, h2 = 0;
  const char* p = bytes_.data();
  const size_t blocks = bytes_.size() / 16;
  for (size_t i = 0; i < blocks; ++i, p += 16) {
    h1 = (std::rotl(h1 ^ mix1(loadLittle(p, 8)), 27) + h2) * 5 + 0x52dce729;
    h2 = (std::rotl(h2 ^ mix2(loadLittle(p + 8, 8)), 31) + h1) * 5 + 0x38495ab5;
  }
  const size_t rest = bytes_.size() % 16;
  if (rest > 8) h2 ^= mix2(loadLittle(p + 8, rest - 8));
  if (rest > 0) h1 ^= mix1(loadLittle(p, std::min<size_t>(rest, 8)));
  h1 ^= bytes_.size();
  h2 ^= bytes_.size();
  h1 += h2;
  h2 += h1;
  h1 = finalMix(h1);
  h2 = finalMix(h2);
  h1 += h2;
  h2 += h1;
  std::array<uint8_t, 16> out;
  for (int i = 0; i < 8; ++i) {
    out[i] = static_cast<uint8_t>(h1 >> (8 * i));
    out[8 + i] = static_cast<uint8_t>(h2 >> (8 * i));
  }
  return out;
}

OperatorID operatorIdOfUid(std::string_view uid) { return {StableHasher().putBytes(uid).digest()}; }

OperatorID operatorIdOfPosition(int32_t position, int32_t chainedOutputs, std::span<const OperatorID> inputs) {
  StableHasher hasher;
  for (int32_t i = 0; i <= chainedOutputs; ++i) hasher.putInt(position);
  OperatorID id{hasher.digest()};
  for (const OperatorID& input : inputs) {
    for (size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<uint8_t>(id.bytes[i] * 37 ^ input.bytes[i]);
  }
  return id;
}

}  // namespace weir
