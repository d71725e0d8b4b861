#include "weir/metrics/metric_group.h"

#include "weir/base/check.h"

namespace weir {

void MeterView::update(int64_t count) {
  at_ = (at_ + 1) % kValues;
  values_[at_] = count;
  rate_ = static_cast<double>(count - values_[(at_ + 1) % kValues]) / kSpanSeconds;
}

void MetricGroup::gauge(std::string name, Read read) {
  Lock lock(mutex_);
  addLocked(std::move(name), std::move(read));
}

void MetricGroup::counter(std::string name, Count count) {
  gauge(std::move(name), [count = std::move(count)] { return MetricValue(count()); });
}

void MetricGroup::counterAndRate(const std::string& name, const Count& count) {
  counter(name, count);
  Lock lock(mutex_);
  Meter& meter = *meters_.emplace_back(std::make_unique<Meter>(Meter{count, {}}));
  addLocked(name + "PerSecond", [&meter] { return MetricValue(meter.view.rate()); });
}

void MetricGroup::addLocked(std::string name, Read read) {
  const auto [at, added] = metrics_.emplace(std::move(name), std::move(read));
  WEIR_CHECK(added, "the metric {} is registered twice", at->first);
}

std::vector<MetricGroup::Metric> MetricGroup::read() const {
  Lock lock(mutex_);
  std::vector<Metric> all;
  all.reserve(metrics_.size());
  for (const auto& [name, read] : metrics_) all.push_back({name, read()});
  return all;
}

std::optional<MetricValue> MetricGroup::read(std::string_view name) const {
  Lock lock(mutex_);
  const auto found = metrics_.find(name);
  if (found == metrics_.end()) return std::nullopt;
  return found->second();
}

void MetricGroup::update() {
  Lock lock(mutex_);
  for (const auto& meter : meters_) meter->view.update(meter->count());
}

void MetricGroup::close() {
  Lock lock(mutex_);
  metrics_.clear();
  meters_.clear();
}

}  // namespace weir
