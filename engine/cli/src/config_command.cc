#include "weir/cli/config_command.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "weir/config/known_options.h"

namespace weir {
namespace {

bool hasEffect(const KnownOption& option) { return option.effect == OptionEffect::kUsed || option.effect == OptionEffect::kUsedFlink1; }

std::string aliasesOf(const KnownOption& option) {
  std::string text;
  for (const OptionAlias& alias : option.aliases) text += (text.empty() ? "" : ", ") + std::string(alias.key);
  return text;
}

/// The options to show: that key, the ones it is a former spelling of, or those whose key contains it.
std::vector<const KnownOption*> select(const ConfigOptions& wanted) {
  if (const KnownOption* exact = findKnownOption(wanted.key)) return {exact};
  if (auto renamed = optionsWithAlias(wanted.key); !wanted.key.empty() && !renamed.empty()) return renamed;
  std::vector<const KnownOption*> found;
  for (const KnownOption& option : allOptions())
    if (option.key.find(wanted.key) != std::string_view::npos && (wanted.all || hasEffect(option))) found.push_back(&option);
  return found;
}

/// What may have been meant by a key that is none.
std::string whatElse(ConfigOptions wanted) {
  if (!wanted.all && !select({.key = wanted.key, .all = true}).empty()) return "; keys without an effect do, see --all";
  const std::string_view nearest = nearestKnownKey(wanted.key);
  if (const KnownOption* known = nearest.empty() ? nullptr : findKnownOption(nearest); known && hasEffect(*known))
    return "; did you mean " + std::string(nearest) + "?";
  constexpr size_t kShortest = 4;
  while (wanted.key.size() > kShortest) {
    wanted.key.pop_back();
    const auto some = std::count_if(allOptions().begin(), allOptions().end(), [&](const KnownOption& option) {
      return hasEffect(option) && option.key.find(wanted.key) != std::string_view::npos;
    });
    if (some > 0) return "; keys with '" + wanted.key + "' in them: " + std::to_string(some) + ", see weir config " + wanted.key;
  }
  return "; weir config lists them all";
}

void printJson(const std::vector<const KnownOption*>& options, std::ostream& out) {
  auto rows = nlohmann::ordered_json::array();
  for (const KnownOption* o : options) {
    nlohmann::ordered_json row = {{"key", o->key}, {"type", o->type}};
    row["default"] = o->defaultValue.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(o->defaultValue);
    row["effect"] = toString(o->effect);
    row["aliases"] = nlohmann::ordered_json::array();
    for (const OptionAlias& alias : o->aliases) row["aliases"].push_back(alias.key);
    row["description"] = o->description;
    rows.push_back(std::move(row));
  }
  out << rows.dump(2) << '\n';
}

void printOne(const KnownOption& o, std::ostream& out, bool colour) {
  out << styled(o.key, Style::kBold, colour) << '\n';
  const auto line = [&](const char* what, std::string_view value) {
    if (!value.empty()) out << "  " << what << value << '\n';
  };
  line("type      ", o.type);
  line("default   ", o.defaultValue.empty() ? "(none)" : o.defaultValue);
  line("effect    ", toString(o.effect));
  line("aliases   ", aliasesOf(o));
  line("meaning   ", o.description);
  line("note      ", o.note);
}

}  // namespace

ExitCode showConfig(const ConfigOptions& wanted, std::ostream& out, bool colour) {
  const auto options = select(wanted);
  if (options.empty()) {
    std::cerr << "weir: no supported key contains '" << wanted.key << "'" << whatElse(wanted) << '\n';
    return kExitUsage;
  }
  if (wanted.json) {
    printJson(options, out);
  } else if (options.size() == 1) {
    printOne(*options.front(), out, colour);
  } else {
    TextTable table({{"key"}, {"type"}, {"default"}, {"effect"}, {"aliases"}});
    for (const KnownOption* o : options)
      table.addRow({std::string(o->key), std::string(o->type), o->defaultValue.empty() ? "-" : std::string(o->defaultValue),
                    std::string(toString(o->effect)), aliasesOf(*o)});
    table.print(out, colour);
  }
  return kExitOk;
}

}  // namespace weir
