#include "weir/operators/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace weir {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Levenshtein distance in two rows of its table; case differences are free.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    current[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j)
      current[j + 1] = std::min({previous[j] + (lower(a[i]) == lower(b[j]) ? 0 : 1), previous[j + 1] + 1, current[j] + 1});
    std::swap(previous, current);
  }
  return previous.back();
}

}  // namespace

std::string nearest(const std::string& wanted, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 100;  // names of people and machines are shorter
  std::string best;
  size_t least = std::max<size_t>(2, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest || wanted.size() > kLongest) continue;
    if (const size_t d = distance(wanted, candidate); d < least) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace weir
