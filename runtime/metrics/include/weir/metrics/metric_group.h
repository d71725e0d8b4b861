#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/mutex.h"

namespace weir {

using MetricValue = std::variant<int64_t, double>;

/// The rate of a count over the last minute, a second: looked at every kInterval. Within the first minute what is missing counts as zero.
///
/// Flink: MeterView. Threads: none of its own; guarded by its group.
class MeterView {
 public:
  static constexpr int kIntervalSeconds = 5;
  static constexpr int kSpanSeconds = 60;

  void update(int64_t count);
  double rate() const { return rate_; }

 private:
  static constexpr size_t kValues = kSpanSeconds / kIntervalSeconds + 1;
  std::array<int64_t, kValues> values_{};
  size_t at_ = 0;
  double rate_ = 0;
};

/// The metrics of one task, or of one TaskManager, by Flink's names; what groups within groups are in Flink is one name with dots here.
/// Each is computed by whoever reads it: nothing is counted a second time for it.
///
/// Flink: MetricGroup, as far as a task registers. Threads: any. A function that is registered is called with the group locked: it reads
/// numbers and waits for nobody. After close() nothing is called any more, so that what it looks at may go.
class MetricGroup {
 public:
  using Read = std::function<MetricValue()>;
  using Count = std::function<int64_t()>;

  /// Requires: no metric has this name, and the group is open.
  void gauge(std::string name, Read read);
  void counter(std::string name, Count count);
  /// The counter, and the meter NAMEPerSecond.
  void counterAndRate(const std::string& name, const Count& count);

  struct Metric {
    std::string name;
    MetricValue value;
  };
  /// All, by name. Nothing once closed.
  std::vector<Metric> read() const;
  std::optional<MetricValue> read(std::string_view name) const;
  /// For the meters: every MeterView::kIntervalSeconds, by whoever holds the group.
  void update();
  void close();

 private:
  struct Meter {
    Count count;
    MeterView view;
  };

  void addLocked(std::string name, Read read);

  mutable Mutex mutex_;
  std::map<std::string, Read, std::less<>> metrics_;
  std::vector<std::unique_ptr<Meter>> meters_;
};

/// A number of a metric, whatever it is kept as.
inline double asDouble(const MetricValue& value) {
  return std::visit([](auto number) { return static_cast<double>(number); }, value);
}

}  // namespace weir
