#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "row_sources.h"
#include "weir/operators/row_text.h"

namespace weir {
namespace {

/// Steele, Lea and Flood's SplitMix64: good bits from a counter.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
/// 0 to below 1.
double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

void nameKey(int64_t number, std::string& into) {
  into = 'k';
  detail::appendNumber(into, number);
}

class Uniform final : public KeyDistribution {
 public:
  explicit Uniform(int64_t keys) : keys_(keys) {}
  void key(uint64_t draw, std::string& into) const override {
    nameKey(static_cast<int64_t>(unit(draw) * static_cast<double>(keys_)), into);
  }

 private:
  int64_t keys_;
};

/// The first keys have a share of all records, the others the rest.
class Hot final : public KeyDistribution {
 public:
  Hot(int64_t keys, int64_t hot, double share) : keys_(keys), hot_(hot), share_(hot == keys ? 1 : share) {}
  void key(uint64_t draw, std::string& into) const override {
    const double u = unit(draw);
    const bool isHot = u < share_;
    const double within = isHot ? u / share_ : (u - share_) / (1 - share_);
    const int64_t count = isHot ? hot_ : keys_ - hot_;
    nameKey((isHot ? 0 : hot_) + std::min(static_cast<int64_t>(within * static_cast<double>(count)), count - 1), into);
  }

 private:
  int64_t keys_, hot_;
  double share_;
};

/// Any distribution, from the sums of its weights.
class Weighted final : public KeyDistribution {
 public:
  Weighted(std::vector<double> sums, std::vector<std::string> names) : sums_(std::move(sums)), names_(std::move(names)) {}
  void key(uint64_t draw, std::string& into) const override {
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), unit(draw) * sums_.back());
    const auto index = std::min<int64_t>(found - sums_.begin(), static_cast<int64_t>(sums_.size()) - 1);
    if (names_.empty())
      nameKey(index, into);
    else
      into = names_[static_cast<size_t>(index)];
  }

 private:
  std::vector<double> sums_;
  std::vector<std::string> names_;  ///< empty: k0, k1, ...
};

std::shared_ptr<const KeyDistribution> zipf(const KeySpec& spec) {
  std::vector<double> sums;
  sums.reserve(static_cast<size_t>(spec.cardinality));
  double sum = 0;
  for (int64_t rank = 1; rank <= spec.cardinality; ++rank) sums.push_back(sum += std::pow(static_cast<double>(rank), -spec.exponent));
  return std::make_shared<Weighted>(std::move(sums), std::vector<std::string>());
}

/// A CSV of keys and how often each came.
Result<std::shared_ptr<const KeyDistribution>> readWeights(const std::string& path, FileSystem& files) {
  WEIR_ASSIGN(LineReader lines, openSourceFile(files, path, {}));
  CsvFormat format;
  WEIR_TRY(format.begin(lines, {"key", "count"}));
  std::vector<double> sums;
  std::vector<std::string> names;
  double sum = 0;
  std::string_view row;
  while (format.next(lines, row)) {
    Cell cells[2];
    RowProblem bad;
    double count = 0;
    bool good = format.parse(row, cells, bad);
    if (const char* expected = good ? parseCell(cells[1], count) : nullptr; good && (expected || !(count >= 0))) {
      bad = {"count", describeBadCell(cells[1], "a number of at least 0")};
      good = false;
    }
    if (!good)
      return Error{ErrorCode::kInvalidArgument, fmt::format("{} line {}{}: {}", path, format.lineNumber(),
                                                            bad.column.empty() ? "" : ", column \"" + bad.column + "\"", bad.what)};
    names.emplace_back(cells[0].text);
    sums.push_back(sum += count);
  }
  if (lines.error()) return *lines.error();
  if (format.error()) return *format.error();
  if (!(sum > 0)) return Error{ErrorCode::kInvalidArgument, path + " has no key with a count above 0"};
  return std::shared_ptr<const KeyDistribution>(std::make_shared<Weighted>(std::move(sums), std::move(names)));
}

}  // namespace

Result<std::shared_ptr<const KeyDistribution>> KeyDistribution::create(const KeySpec& spec, const ScenarioFile& file, FileSystem& files) {
  switch (spec.kind) {
    case KeySpec::Kind::kUniform: return std::shared_ptr<const KeyDistribution>(std::make_shared<Uniform>(spec.cardinality));
    case KeySpec::Kind::kHot:
      return std::shared_ptr<const KeyDistribution>(std::make_shared<Hot>(spec.cardinality, spec.hotCount, spec.hotShare));
    case KeySpec::Kind::kZipf: return zipf(spec);
    case KeySpec::Kind::kWeights: {
      auto read = readWeights(file.beside(spec.weights.value), files);
      if (read.has_error()) return spec.weights.at.error(read.error().message);
      return read;
    }
  }
  __builtin_unreachable();
}

RowGenerator::RowGenerator(const SourceSpec& spec, std::shared_ptr<const KeyDistribution> keys)
    : count_(spec.records > 0 ? spec.records : std::numeric_limits<int64_t>::max()),
      stepMillis_(spec.stepMillis),
      startMillis_(spec.startMillis),
      outOfOrdernessMillis_(spec.outOfOrdernessMillis),
      recordSize_(spec.recordSize),
      seed_(mix(spec.seed)),
      keys_(std::move(keys)) {}

size_t RowGenerator::poll(std::span<StreamRecord<Row>> into, bool& end) {
  size_t n = 0;
  for (; current_ < splits_->size(); ++current_) {
    SourceSplit& split = (*splits_)[current_];
    int64_t number = split.id + split.position * split.splits;
    for (; n < into.size() && number < count_; ++n, number += split.splits) {
      make(number, into[n]);
      ++split.position;
    }
    if (number < count_) break;  // the batch is full
  }
  end = current_ == splits_->size();
  return n;
}

void RowGenerator::make(int64_t number, StreamRecord<Row>& into) const {
  std::vector<Value>& values = into.value.values;
  values.resize(recordSize_ > 0 ? 5 : 4);
  const uint64_t draw = mix(seed_ ^ static_cast<uint64_t>(number)), second = mix(draw), third = mix(second);
  if (!std::holds_alternative<std::string>(values[0])) values[0].emplace<std::string>();
  keys_->key(draw, std::get<std::string>(values[0]));
  values[1] = static_cast<int64_t>(1 + second % 100);
  // Behind the end of the range time stands still: an endless stream does not come so far.
  int64_t time = 0;
  if (__builtin_mul_overflow(number, stepMillis_, &time) || __builtin_add_overflow(startMillis_, time, &time)) time = kMaxWatermark - 1;
  if (outOfOrdernessMillis_ > 0) time -= static_cast<int64_t>(third % static_cast<uint64_t>(outOfOrdernessMillis_ + 1));
  values[2] = time;
  values[3] = number;
  if (recordSize_ > 0) {
    // What key and numbers take in a buffer counts too.
    const auto taken = static_cast<int64_t>(Serializer<Row>::maxSize(into.value) - (values.size() > 4 ? 13 : 0));
    values[4] = std::string(static_cast<size_t>(std::max<int64_t>(recordSize_ - taken, 0)), 'x');
  }
  into.timestamp = time;
  into.hasTimestamp = true;
}

}  // namespace weir
