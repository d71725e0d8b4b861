#include "weir/config/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text.h"
#include "weir/config/checkpointing_options.h"

namespace weir {
namespace {

constexpr std::string_view kBufferTimeout = "execution.buffer-timeout";

std::string_view shown(std::string_view key, const ConfigValue& value) {
  return isSensitiveKey(key) ? kHiddenValue : std::string_view(value.text);
}

/// What helps beyond the cause, which is told in Flink's words.
std::string advice(std::string_view key, const ConfigValue& value) {
  if (key.starts_with(kBufferTimeout) && value.text.starts_with('-')) {
    return " (to switch the timer off set execution.buffer-timeout.enabled: false)";
  }
  const KnownOption* known = findKnownOption(key);
  if (known && known->type == "Duration") return "; write it as 500 ms, 10 s or 5 min";
  if (known && known->type == "MemorySize") return "; write it as 32 kb, 64 mb or 1 gb";
  if (known && (known->type == "Integer" || known->type == "Long")) return "; write a whole number";
  if (known && (known->type == "Float" || known->type == "Double")) return "; write a number";
  return "";
}

/// Whether a job without the key would be another one; hosts, ports and memory of processes are in every cluster's file.
bool changesJobs(std::string_view key) {
  constexpr std::array<std::string_view, 6> kParts{"execution.", "pipeline.", "state.", "task.", "taskmanager.network.", "weir."};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) { return key.starts_with(part); });
}

std::vector<ConfigNote> notesOnKnown(const std::string& key, const KnownOption& known) {
  const std::string remark = known.note.empty() ? "" : fmt::format(" ({})", known.note);
  switch (known.effect) {
    case OptionEffect::kUsed:
      return {};
    case OptionEffect::kUsedFlink1:
      return {{LogLevel::kInfo, fmt::format("{} is an option of Flink 1.x; Weir applies it{}", key, remark)}};
    case OptionEffect::kNotYet:
      return {{changesJobs(key) ? LogLevel::kWarn : LogLevel::kInfo,
               fmt::format("{} has no effect yet: Weir checks its value and does nothing with it{}", key, remark)}};
    case OptionEffect::kIgnored:
      return {{LogLevel::kDebug, fmt::format("{} is accepted and has no effect here", key)}};
    case OptionEffect::kUnsupported:
      break;
  }
  return {{LogLevel::kWarn, fmt::format("{} has no effect: Flink has it, Weir does not{}", key, remark)}};
}

/// Whether `key` is an entry of a map option that is spread over keys of its own.
bool isPartOfMap(const std::string& key) {
  for (size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0; dot = key.rfind('.', dot - 1)) {
    const KnownOption* parent = findKnownOption(std::string_view(key).substr(0, dot));
    if (parent && parent->type == "Map") return true;
  }
  return false;
}

}  // namespace

const ConfigValue* Configuration::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void Configuration::set(std::string_view key, ConfigValue value) { values_.insert_or_assign(std::string(key), std::move(value)); }

Result<void> Configuration::setDynamic(std::string_view keyAndValue) {
  const size_t equals = std::min(keyAndValue.find('='), keyAndValue.size());
  const std::string_view key = trimmed(keyAndValue.substr(0, equals));
  if (key.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("'-D{}' names no key: -Dkey=value is expected", keyAndValue)};
  }
  const std::string_view value = equals < keyAndValue.size() ? trimmed(keyAndValue.substr(equals + 1)) : "true";
  setText(key, std::string(value), {.source = "-D"});
  return {};
}

void Configuration::addAll(const Configuration& other) {
  for (const auto& [key, value] : other.values_) set(key, value);
  readNotes_.insert(readNotes_.end(), other.readNotes_.begin(), other.readNotes_.end());
}

std::optional<ConfigValue> Configuration::lookUpExact(std::string_view key, bool map) const {
  if (const ConfigValue* value = find(key)) return *value;
  if (!map) return std::nullopt;
  const std::string prefix = std::string(key) + ".";
  std::optional<ConfigValue> result;
  for (auto at = values_.lower_bound(prefix); at != values_.end() && at->first.starts_with(prefix); ++at) {
    if (!result) result = ConfigValue{.kind = ConfigValue::Kind::kMap, .origin = at->second.origin};
    result->elements.push_back(at->first.substr(prefix.size()));
    result->elements.push_back(at->second.text);
  }
  return result;
}

std::optional<ConfigValue> Configuration::lookUp(std::string_view key, bool map) const {
  if (auto value = lookUpExact(key, map)) return value;
  if (const KnownOption* known = findKnownOption(key)) {
    for (const OptionAlias& alias : known->aliases) {
      if (auto value = lookUpExact(alias.key, map)) return value;
    }
  }
  return std::nullopt;
}

Error Configuration::unreadable(std::string_view key, const ConfigValue& value, const Error& cause) {
  // The cause repeats the value.
  const std::string_view why = isSensitiveKey(key) ? std::string_view("it is not of the expected type") : std::string_view(cause.message);
  return {ErrorCode::kInvalidArgument, fmt::format("{}Could not parse value '{}' for key '{}': {}{}", value.origin.prefix(),
                                                   shown(key, value), key, why, advice(key, value))};
}

Error Configuration::outOfRange(std::string_view key, const ConfigValue& value, std::string_view expected) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}the value '{}' for key '{}' is out of range: {} is expected", value.origin.prefix(),
                                                   shown(key, value), key, expected)};
}

std::map<std::string, std::string> Configuration::toMap(bool hideSensitive) const {
  std::map<std::string, std::string> map;
  for (const auto& [key, value] : values_) map.emplace(key, hideSensitive ? std::string(shown(key, value)) : value.text);
  return map;
}

Result<void> Configuration::validate() const {
  for (const TypedOption& option : typedOptions()) WEIR_TRY(option.check(*this));
  return {};
}

std::vector<ConfigNote> Configuration::notesOn(const std::string& key) const {
  if (const KnownOption* known = findKnownOption(key)) return notesOnKnown(key, *known);
  const auto owners = optionsWithAlias(key);
  if (!owners.empty()) {
    std::vector<ConfigNote> notes;
    for (const KnownOption* owner : owners) {
      notes.push_back(noteOnAlias(key, *owner));
      if (owner->effect == OptionEffect::kUnsupported) {
        notes.push_back({LogLevel::kWarn, fmt::format("{} has no effect: Flink has {}, Weir does not", key, owner->key)});
      }
    }
    return notes;
  }
  if (isPartOfMap(key)) return {};
  if (isForeignKey(key)) {
    return {{LogLevel::kWarn, fmt::format("{} has no effect: it belongs to a part of Flink that Weir does not have", key)}};
  }
  const std::string_view nearest = nearestKnownKey(key);
  const std::string question = nearest.empty() ? "" : fmt::format(": did you mean {}?", nearest);
  return {{LogLevel::kWarn, fmt::format("{} is no known key and has no effect{}", key, question)}};
}

ConfigNote Configuration::noteOnAlias(const std::string& key, const KnownOption& owner) const {
  const auto alias = std::find_if(owner.aliases.begin(), owner.aliases.end(), [&](const OptionAlias& a) { return a.key == key; });
  const std::string loses = find(owner.key) ? ", which is set as well and wins" : "";
  if (!alias->deprecated) {
    return {LogLevel::kInfo, fmt::format("Config uses fallback configuration key '{}' instead of key '{}'{}", key, owner.key, loses)};
  }
  return {LogLevel::kWarn,
          fmt::format("Config uses deprecated configuration key '{}' instead of proper key '{}'{}", key, owner.key, loses)};
}

std::vector<ConfigNote> Configuration::notes() const {
  std::vector<ConfigNote> notes = readNotes_;
  if (const auto mode = getOptional(kRecoveryClaimMode); mode.has_value() && *mode == RecoveryClaimMode::kLegacy)
    notes.push_back({LogLevel::kWarn, fmt::format("{}: LEGACY is taken as NO_CLAIM: the checkpoint stays whole, and is never deleted here",
                                                  kRecoveryClaimMode.key)});
  for (const auto& [key, value] : values_) {
    for (ConfigNote& note : notesOn(key)) notes.push_back({note.level, value.origin.prefix() + note.text});
  }
  return notes;
}

void logNotes(const Configuration& configuration, LogSink& log) {
  for (const ConfigNote& note : configuration.notes()) {
    if (log.enabled(note.level)) log.write(note.level, "org.apache.flink.configuration.GlobalConfiguration", note.text);
  }
}

}  // namespace weir
