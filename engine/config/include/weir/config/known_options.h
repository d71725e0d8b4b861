#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir {

class Configuration;

/// What setting a key does here.
enum class OptionEffect {
  kUsed,
  kUsedFlink1,   ///< used; Flink 2.x dropped the key, clusters of 1.x have it
  kNotYet,       ///< typed and checked, but nothing reads it yet
  kIgnored,      ///< accepted, there is nothing to do: JVM flags and the like
  kUnsupported,  ///< a feature that Weir does not have
};
/// "used", "used (Flink 1.x)", "not yet", "ignored", "unsupported".
std::string_view toString(OptionEffect effect);

/// A former or alternative spelling of a key.
struct OptionAlias {
  std::string_view key;
  bool deprecated = true;  ///< using it is worth a warning
};

/// A row of the table of keys.
struct KnownOption {
  std::string_view key;              ///< may hold a placeholder: metrics.reporter.<name>.interval
  std::string_view type;             ///< Boolean, Integer, ..., Duration, MemorySize, Map, List<...> or an enum of Flink
  std::string_view defaultValue;     ///< empty where there is none
  std::vector<OptionAlias> aliases;  ///< in the order in which they are tried
  std::string_view group;
  OptionEffect effect = OptionEffect::kUnsupported;
  std::string_view description;  ///< empty for many that are not used
  std::string_view note;
};

/// Every key that is known, sorted.
const std::vector<KnownOption>& allOptions();

/// By key; a placeholder stands for one or more parts. Null where it is unknown, also for aliases.
const KnownOption* findKnownOption(std::string_view key);
/// The options that `key` is a former spelling of.
std::vector<const KnownOption*> optionsWithAlias(std::string_view key);
/// The known key that was most likely meant by an unknown one, or nothing.
std::string_view nearestKnownKey(std::string_view key);
/// Whether keys like this one belong to a part of Flink whose keys are not listed one by one: fs., s3., kubernetes. and the like.
bool isForeignKey(std::string_view key);

/// Whether the value of this key must not be shown. Flink: GlobalConfiguration.isSensitive.
bool isSensitiveKey(std::string_view key);
/// What is shown instead.
inline constexpr std::string_view kHiddenValue = "******";

/// An option that the engine reads, without its type.
struct TypedOption {
  std::string_view key;
  std::string_view type;                                      ///< as ConfigType names it
  std::string defaultValue;                                   ///< printed; empty where there is none
  Result<void> (*check)(const Configuration& configuration);  ///< whether the value that is set, if any, can be read
};
/// All options declared in the *_options.h of this room, sorted by key.
const std::vector<TypedOption>& typedOptions();

}  // namespace weir
