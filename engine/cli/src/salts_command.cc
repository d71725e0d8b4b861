#include "weir/cli/salts_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "weir/aggregate/salt_balance.h"
#include "weir/cli/terminal.h"
#include "weir/exchange/key_groups.h"

namespace weir {
namespace {

constexpr int32_t kMostSalts = 4096;
constexpr int64_t kRecords = 1'000'000;
constexpr int kColdKeys = 1000;

/// One hot key over evenly loaded others.
std::vector<KeyWeight> madeUp(const std::string& key, double share) {
  const auto hot = std::llround(share * static_cast<double>(kRecords));
  std::vector<KeyWeight> keys{{key, hot, true}};
  for (int i = 0; i < kColdKeys; ++i) keys.push_back({"key-" + std::to_string(i), (kRecords - hot) / kColdKeys, false});
  return keys;
}

Error wrong(const std::string& file, size_t line, const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", file, line, what)};
}

/// Lines `key,count`; what stands behind the last comma is the count. A first line without a number is a header.
Result<std::vector<KeyWeight>> readWeights(FileSystem& files, const std::string& file) {
  WEIR_ASSIGN(const auto bytes, files.readAll(file));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<KeyWeight> keys;
  for (size_t line = 1; !text.empty(); ++line) {
    std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
    if (row.empty()) continue;
    const size_t comma = row.rfind(',');
    if (comma == std::string_view::npos) return wrong(file, line, "no comma: each line is a key, a comma, and how often it comes");
    const std::string_view number = row.substr(comma + 1);
    std::string_view key = row.substr(0, comma);
    int64_t count = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (error != std::errc() || end != number.data() + number.size() || count < 0) {
      if (line == 1) continue;
      return wrong(file, line, fmt::format("'{}' is no count: give a whole number from 0 on", number));
    }
    if (key.size() >= 2 && key.front() == '"' && key.back() == '"') key = key.substr(1, key.size() - 2);
    keys.push_back({std::string(key), count, false});
  }
  if (std::none_of(keys.begin(), keys.end(), [](const KeyWeight& k) { return k.count > 0; }))
    return Error{ErrorCode::kInvalidArgument, file + ": no key with a count above 0"};
  return keys;
}

/// No salt, then powers of two.
std::vector<SaltBalance> balances(const std::vector<KeyWeight>& keys, SaltForm form, int32_t parallelism, int32_t maxParallelism) {
  std::vector<SaltBalance> all;
  const int32_t most = std::clamp(parallelism * 32, 64, kMostSalts);
  for (int32_t salts = 1; salts <= most; salts *= 2) all.push_back(balanceSalts(keys, form, salts, parallelism, maxParallelism));
  return all;
}

/// The fewest salts that are good enough; null where none are.
const SaltBalance* recommended(const std::vector<SaltBalance>& all, double target) {
  const auto good = std::find_if(all.begin(), all.end(), [&](const SaltBalance& b) { return b.mostOverMean() <= target; });
  return good == all.end() ? nullptr : &*good;
}

std::string ratio(double value) { return std::isinf(value) ? "-" : fmt::format("{:.2f}", value); }

void printJson(const std::vector<SaltBalance>& all, const SaltsOptions& options, int32_t maxParallelism, size_t hot, std::ostream& out) {
  nlohmann::ordered_json report = {
      {"parallelism", options.parallelism}, {"maxParallelism", maxParallelism}, {"form", options.form}, {"hotKeys", hot}};
  const SaltBalance* best = recommended(all, options.target);
  report["target"] = options.target;
  report["recommended"] = best ? nlohmann::ordered_json(best->salts) : nlohmann::ordered_json(nullptr);
  report["choices"] = nlohmann::ordered_json::array();
  for (const SaltBalance& b : all) {
    const double overLeast = b.mostOverLeast();
    report["choices"].push_back(
        {{"salts", b.salts},
         {"max", std::llround(b.most())},
         {"min", std::llround(b.least())},
         {"maxOverMin", std::isinf(overLeast) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(overLeast)},
         {"maxOverMean", b.mostOverMean()},
         {"subtasksWithoutSalt", b.subtasksWithoutSalt()},
         {"saltsPerSubtask", b.saltsOfSubtask}});
  }
  out << report.dump(2) << '\n';
}

void printText(const std::vector<SaltBalance>& all, const SaltsOptions& options, size_t hot, std::ostream& out, bool colour) {
  using Align = TextTable::Align;
  TextTable table({{"salts", Align::kRight},
                   {"max records", Align::kRight},
                   {"min records", Align::kRight},
                   {"max/min", Align::kRight},
                   {"max/mean", Align::kRight},
                   {"subtasks without a salt", Align::kRight}});
  for (const SaltBalance& b : all)
    table.addRow({b.salts == 1 ? "none" : std::to_string(b.salts), withThousands(std::llround(b.most())),
                  withThousands(std::llround(b.least())), ratio(b.mostOverLeast()), ratio(b.mostOverMean()),
                  std::to_string(b.subtasksWithoutSalt())});
  table.print(out, colour);
  const SaltBalance* best = recommended(all, options.target);
  if (hot == 0)
    out << "\nNo key overloads a subtask by itself: there is nothing to salt.\n";
  else if (best && best->salts == 1)
    out << fmt::format("\nWithout salts the busiest subtask has at most {} times the mean.\n", options.target);
  else if (best)
    out << fmt::format("\n{} salts: the fewest with at most {} times the mean on one subtask.\n", best->salts, options.target);
  else
    out << fmt::format("\nNo number of salts up to {} brings the busiest subtask to {} times the mean.\n", all.back().salts,
                       options.target);
}

}  // namespace

ExitCode showSalts(FileSystem& files, const SaltsOptions& options, std::ostream& out, bool colour) {
  const auto usage = [](const std::string& message) {
    std::cerr << "weir: " << message << '\n';
    return kExitUsage;
  };
  const auto form = saltFormNamed(options.form);
  if (!form) return usage("'" + options.form + "' is no form of a salted key; tuple, salt|key, key|salt, key#salt and salt are");
  const int32_t maxParallelism = options.maxParallelism > 0 ? options.maxParallelism : computeDefaultMaxParallelism(options.parallelism);
  if (options.parallelism > maxParallelism)
    return usage(fmt::format("the parallelism {} is above the max parallelism {}: there would be subtasks without key groups",
                             options.parallelism, maxParallelism));
  if (options.weights.empty() && options.share <= 0)
    return usage("how skewed are the keys? Give --share, the hot key's part of all records, or --weights, a CSV file of key,count");

  std::vector<KeyWeight> keys;
  size_t hot = 1;
  try {
    if (options.weights.empty()) {
      keys = madeUp(options.key, options.share);
    } else {
      auto read = readWeights(files, options.weights);
      if (read.has_error()) return usage(read.error().message);
      keys = std::move(*read);
      hot = markHotKeys(keys, 0.5 / options.parallelism);
    }
    const auto all = balances(keys, *form, options.parallelism, maxParallelism);
    if (options.json)
      printJson(all, options, maxParallelism, hot, out);
    else
      printText(all, options, hot, out, colour);
  } catch (const Throwable& e) {
    return usage(e.message());  // a key that is no UTF-8
  }
  return kExitOk;
}

}  // namespace weir
