#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/config/config_option.h"
#include "weir/config/config_value.h"
#include "weir/config/known_options.h"

namespace weir {

/// Something an operator should know about a configuration; never a reason to stop.
struct ConfigNote {
  LogLevel level = LogLevel::kWarn;
  std::string text;
};

/// Flat keys and their values, read through typed options.
///
/// Flink: Configuration. An option is looked up under its key, then under its former spellings in the order of the table; the first hit
/// wins. Later sets of one key replace earlier ones.
///
/// Threads: none; copied freely, shared when no longer changed. Iteration is in the order of the keys.
/// Errors: one sentence with place, key, value and what was expected; values of sensitive keys are not shown.
class Configuration {
 public:
  /// The value, or the default of the option. Requires: the option has one.
  template <class T>
  Result<T> get(const ConfigOption<T>& option) const {
    WEIR_CHECK(option.defaultValue.has_value(), "{} has no default: use getOptional", option.key);
    WEIR_ASSIGN(auto value, getOptional(option));
    return std::move(value).value_or(*option.defaultValue);
  }
  /// The value where it is set; defaults do not count.
  template <class T>
  Result<std::optional<T>> getOptional(const ConfigOption<T>& option) const {
    const auto value = lookUp(option.key, std::same_as<T, ConfigMap>);
    if (!value) return std::optional<T>();
    auto typed = ConfigType<T>::read(*value);
    if (typed.has_error()) return unreadable(option.key, *value, typed.error());
    if (const char* expected = option.complaint ? option.complaint(*typed) : nullptr) return outOfRange(option.key, *value, expected);
    return std::optional<T>(std::move(*typed));
  }
  /// The same in milliseconds, of durations.
  Result<Millis> getMillis(const ConfigOption<Duration>& option) const {
    WEIR_ASSIGN(const Duration value, get(option));
    return value.toMillis();
  }
  /// Whether it is set, under whichever spelling.
  template <class T>
  bool contains(const ConfigOption<T>& option) const {
    return lookUp(option.key, std::same_as<T, ConfigMap>).has_value();
  }

  template <class T>
  void set(const ConfigOption<T>& option, const std::type_identity_t<T>& value) {
    set(option.key, ConfigValue{.text = ConfigType<T>::print(value)});
  }
  void set(std::string_view key, ConfigValue value);
  void setText(std::string_view key, std::string text, ConfigOrigin origin = {}) {
    set(key, ConfigValue{.text = std::move(text), .origin = std::move(origin)});
  }
  /// "key=value", as it follows -D on a command line; without a value it is "true".
  Result<void> setDynamic(std::string_view keyAndValue);
  void remove(std::string_view key) { values_.erase(std::string(key)); }
  /// What `other` sets replaces what is here; its notes are added.
  void addAll(const Configuration& other);

  /// Under exactly this key.
  const ConfigValue* find(std::string_view key) const;
  const std::map<std::string, ConfigValue, std::less<>>& values() const { return values_; }
  /// As text; values of sensitive keys replaced by ****** where asked.
  std::map<std::string, std::string> toMap(bool hideSensitive) const;

  /// Whether every value of a used option can be read: the first mistake in the order of the keys, so that a start fails early.
  Result<void> validate() const;
  /// What was odd while reading, then every key that is unknown, unsupported, deprecated or of Flink 1.x, in the order of the keys.
  std::vector<ConfigNote> notes() const;
  void addNote(ConfigNote note) { readNotes_.push_back(std::move(note)); }

 private:
  /// A copy, because a map may be spread over several keys.
  std::optional<ConfigValue> lookUp(std::string_view key, bool map) const;
  std::optional<ConfigValue> lookUpExact(std::string_view key, bool map) const;
  static Error unreadable(std::string_view key, const ConfigValue& value, const Error& cause);
  static Error outOfRange(std::string_view key, const ConfigValue& value, std::string_view expected);
  std::vector<ConfigNote> notesOn(const std::string& key) const;
  ConfigNote noteOnAlias(const std::string& key, const KnownOption& owner) const;

  std::map<std::string, ConfigValue, std::less<>> values_;
  std::vector<ConfigNote> readNotes_;
};

/// Writes each note of `configuration` to the log of org.apache.flink.configuration.GlobalConfiguration.
void logNotes(const Configuration& configuration, LogSink& log);

}  // namespace weir
