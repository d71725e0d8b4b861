#include "weir/aggregate/distinct.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weir::detail {

namespace {
/// Every bit of the result depends on every bit of the argument (the finish of SplitMix64).
uint64_t mix(uint64_t h) {
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;
  h = (h ^ h >> 27) * 0x94d049bb133111eb;
  return h ^ h >> 31;
}
}  // namespace

uint64_t hashOfBytes(std::span<const uint8_t> bytes) {
  uint64_t hash = 0x9e3779b97f4a7c15 ^ bytes.size();
  while (bytes.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    hash = mix(hash ^ word) + 0x9e3779b97f4a7c15;
    bytes = bytes.subspan(8);
  }
  uint64_t rest = 0;
  if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
  return mix(hash ^ rest);
}

void addToSketch(std::vector<uint8_t>& registers, int precision, uint64_t hash) {
  if (registers.empty()) registers.resize(size_t{1} << precision);
  const size_t index = hash >> (64 - precision);
  // The position of the first one among the other bits; a one behind them ends the search.
  const uint64_t others = hash << precision | uint64_t{1} << (precision - 1);
  const auto rank = static_cast<uint8_t>(std::countl_zero(others) + 1);
  registers[index] = std::max(registers[index], rank);
}

void mergeSketches(std::vector<uint8_t>& into, const std::vector<uint8_t>& other) {
  if (other.empty()) return;
  if (into.empty()) {
    into = other;
    return;
  }
  if (into.size() != other.size())
    throw Throwable("java.lang.IllegalArgumentException", "two sketches of different precision cannot be merged: use one precision");
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
}

int64_t estimateOf(const std::vector<uint8_t>& registers, int precision) {
  if (registers.empty()) return 0;
  const auto m = static_cast<double>(size_t{1} << precision);
  double sum = 0, zeros = 0;
  for (uint8_t rank : registers) {
    sum += std::ldexp(1.0, -rank);
    zeros += rank == 0;
  }
  const double alpha = precision == 4 ? 0.673 : precision == 5 ? 0.697 : precision == 6 ? 0.709 : 0.7213 / (1 + 1.079 / m);
  const double estimate = alpha * m * m / sum;
  if (estimate <= 2.5 * m && zeros > 0) return std::llround(m * std::log(m / zeros));
  return std::llround(estimate);
}

}  // namespace weir::detail
