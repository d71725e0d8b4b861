#include "weir/aggregate/salt_balance.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "weir/exchange/key_groups.h"

namespace weir {

namespace {

constexpr std::pair<SaltForm, std::string_view> kNames[] = {{SaltForm::kTuple, "tuple"},
                                                            {SaltForm::kSaltBarKey, "salt|key"},
                                                            {SaltForm::kKeyBarSalt, "key|salt"},
                                                            {SaltForm::kKeyHashSalt, "key#salt"},
                                                            {SaltForm::kSaltAlone, "salt"}};

int32_t hashOf(const std::string& key, int32_t salt, SaltForm form) {
  const std::string number = std::to_string(salt);
  switch (form) {
    case SaltForm::kTuple: return javaHash(std::pair(salt, key));
    case SaltForm::kSaltBarKey: return javaHash(number + "|" + key);
    case SaltForm::kKeyBarSalt: return javaHash(key + "|" + number);
    case SaltForm::kKeyHashSalt: return javaHash(key + "#" + number);
    case SaltForm::kSaltAlone: return javaHash(salt);
  }
  return 0;
}

}  // namespace

std::string_view toString(SaltForm form) {
  return std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& name) { return name.first == form; })->second;
}

std::optional<SaltForm> saltFormNamed(std::string_view name) {
  for (const auto& [form, text] : kNames)
    if (text == name) return form;
  return std::nullopt;
}

double SaltBalance::most() const { return *std::max_element(records.begin(), records.end()); }
double SaltBalance::least() const { return *std::min_element(records.begin(), records.end()); }
double SaltBalance::mostOverMean() const {
  const double all = std::accumulate(records.begin(), records.end(), 0.0);
  return all == 0 ? 1 : most() * static_cast<double>(records.size()) / all;
}
double SaltBalance::mostOverLeast() const {
  return least() == 0 ? std::numeric_limits<double>::infinity() : most() / least();
}
int32_t SaltBalance::subtasksWithoutSalt() const {
  return static_cast<int32_t>(std::count(saltsOfSubtask.begin(), saltsOfSubtask.end(), 0));
}

SaltBalance balanceSalts(std::span<const KeyWeight> keys, SaltForm form, int32_t salts, int32_t parallelism, int32_t maxParallelism) {
  SaltBalance balance;
  balance.salts = salts;
  balance.records.resize(static_cast<size_t>(parallelism));
  balance.saltsOfSubtask.resize(static_cast<size_t>(parallelism));
  const KeyGroupAssigner assigner(parallelism, maxParallelism);
  for (const KeyWeight& weight : keys) {
    if (!weight.hot || salts == 1) {
      const auto subtask = static_cast<size_t>(assigner.subtaskOf(weight.key));
      balance.records[subtask] += static_cast<double>(weight.count);
      balance.saltsOfSubtask[subtask] += weight.hot;
      continue;
    }
    for (int32_t salt = 0; salt < salts; ++salt) {
      const auto subtask = static_cast<size_t>(assigner.subtaskOfHash(hashOf(weight.key, salt, form)));
      balance.records[subtask] += static_cast<double>(weight.count) / salts;
      ++balance.saltsOfSubtask[subtask];
    }
  }
  return balance;
}

size_t markHotKeys(std::span<KeyWeight> keys, double share) {
  double all = 0;
  for (const KeyWeight& weight : keys) all += static_cast<double>(weight.count);
  size_t hot = 0;
  for (KeyWeight& weight : keys) hot += weight.hot = static_cast<double>(weight.count) > share * all;
  return hot;
}

}  // namespace weir
