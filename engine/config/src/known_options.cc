#include "weir/config/known_options.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "key_table.h"
#include "text.h"
#include "weir/base/check.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 11> kSensitiveParts{"password",   "secret",      "fs.azure.account.key", "apikey",
                                                           "api-key",    "auth-params", "service-key",          "token",
                                                           "basic-auth", "jaas.config", "http-headers"};
constexpr std::array<std::string_view, 19> kForeignPrefixes{
    "fs.",    "s3.",  "s3a.",   "presto.s3.",  "azure.",       "gs.",   "oss.",      "kubernetes.", "yarn.",  "containerized.",
    "mesos.", "env.", "table.", "sql-client.", "sql-gateway.", "hive.", "security.", "zookeeper.",  "python."};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(separator, from), text.size());
    parts.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

OptionEffect effectNamed(std::string_view name) {
  if (name == "used") return OptionEffect::kUsed;
  if (name == "1.x") return OptionEffect::kUsedFlink1;
  if (name == "later") return OptionEffect::kNotYet;
  if (name == "ignored") return OptionEffect::kIgnored;
  WEIR_CHECK(name == "unsupported", "keys.tsv: the effect {} is none of used, 1.x, later, ignored, unsupported", name);
  return OptionEffect::kUnsupported;
}

KnownOption optionOf(std::string_view line) {
  const auto columns = split(line, '\t');
  WEIR_CHECK(columns.size() == 8, "keys.tsv: {} columns in '{}'", columns.size(), line);
  KnownOption option{.key = columns[0],
                     .type = columns[1],
                     .defaultValue = columns[2],
                     .aliases = {},
                     .group = columns[4],
                     .effect = effectNamed(columns[5]),
                     .description = columns[6],
                     .note = columns[7]};
  for (const std::string_view alias : columns[3].empty() ? std::vector<std::string_view>() : split(columns[3], ',')) {
    option.aliases.push_back({alias.substr(2), alias.starts_with("D:")});
  }
  return option;
}

struct Table {
  std::vector<KnownOption> options;
  std::unordered_map<std::string_view, size_t> byKey;  // looked up only, never iterated
  std::vector<size_t> patterns;                        // keys with a placeholder
  std::map<std::string_view, std::vector<size_t>> byAlias;

  Table() {
    bool heading = true;
    for (const std::string_view line : split(keyTable(), '\n')) {
      if (line.empty() || line.front() == '#') continue;
      if (!std::exchange(heading, false)) options.push_back(optionOf(line));
    }
    std::sort(options.begin(), options.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    for (size_t i = 0; i < options.size(); ++i) {
      WEIR_CHECK(byKey.emplace(options[i].key, i).second, "keys.tsv: {} stands there twice", options[i].key);
      if (options[i].key.find('<') != std::string_view::npos) patterns.push_back(i);
      for (const OptionAlias& alias : options[i].aliases) byAlias[alias.key].push_back(i);
    }
  }
};

const Table& table() {
  static const Table instance;
  return instance;
}

/// Whether `key` is `pattern` with each <placeholder> replaced by one part, the last one by one or more.
bool matchesPattern(std::string_view pattern, std::string_view key) {
  const auto expected = split(pattern, '.'), parts = split(key, '.');
  if (parts.size() < expected.size()) return false;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (parts[i].empty()) return false;
    if (expected[i].starts_with('<')) {
      if (i + 1 == expected.size()) return true;
    } else if (expected[i] != parts[i]) {
      return false;
    }
  }
  return parts.size() == expected.size();
}

/// Levenshtein distance, given up at `limit`.
size_t editDistance(std::string_view a, std::string_view b, size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= limit) return limit;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i), least = row[0];
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
      least = std::min(least, row[j]);
    }
    if (least >= limit) return limit;
  }
  return std::min(row[b.size()], limit);
}

}  // namespace

std::string_view toString(OptionEffect effect) {
  switch (effect) {
    case OptionEffect::kUsed:
      return "used";
    case OptionEffect::kUsedFlink1:
      return "used (Flink 1.x)";
    case OptionEffect::kNotYet:
      return "not yet";
    case OptionEffect::kIgnored:
      return "ignored";
    case OptionEffect::kUnsupported:
      break;
  }
  return "unsupported";
}

const std::vector<KnownOption>& allOptions() { return table().options; }

const KnownOption* findKnownOption(std::string_view key) {
  const Table& t = table();
  if (const auto found = t.byKey.find(key); found != t.byKey.end()) return &t.options[found->second];
  const KnownOption* best = nullptr;
  for (const size_t i : t.patterns) {
    // The pattern with the longest fixed text says most: ...<name>.interval before ...<name>.<parameter>.
    const KnownOption& option = t.options[i];
    const auto placeholders = [](std::string_view text) { return std::count(text.begin(), text.end(), '<'); };
    if (matchesPattern(option.key, key) && (!best || placeholders(option.key) < placeholders(best->key))) best = &option;
  }
  return best;
}

std::vector<const KnownOption*> optionsWithAlias(std::string_view key) {
  const Table& t = table();
  std::vector<const KnownOption*> result;
  if (const auto found = t.byAlias.find(key); found != t.byAlias.end()) {
    for (const size_t i : found->second) result.push_back(&t.options[i]);
  }
  return result;
}

std::string_view nearestKnownKey(std::string_view key) {
  // A key whose front was left out is nearer than its edit distance says.
  const std::string suffix = "." + std::string(key);
  for (const KnownOption& option : table().options) {
    if (option.key.ends_with(suffix)) return option.key;
  }
  std::string_view nearest;
  size_t least = std::max<size_t>(3, key.size() / 4) + 1;
  const auto consider = [&](std::string_view candidate, std::string_view answer) {
    const size_t distance = editDistance(lowered(key), lowered(candidate), least);
    if (distance < least) {
      least = distance;
      nearest = answer;
    }
  };
  for (const KnownOption& option : table().options) consider(option.key, option.key);
  for (const auto& [alias, owners] : table().byAlias) consider(alias, table().options[owners.front()].key);
  return nearest;
}

bool isForeignKey(std::string_view key) {
  return std::any_of(kForeignPrefixes.begin(), kForeignPrefixes.end(), [&](std::string_view prefix) { return key.starts_with(prefix); });
}

bool isSensitiveKey(std::string_view key) {
  const std::string lower = lowered(key);
  return std::any_of(kSensitiveParts.begin(), kSensitiveParts.end(),
                     [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

}  // namespace weir
