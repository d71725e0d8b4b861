#pragma once

#include <string>
#include <string_view>

#include "weir/base/file_system.h"
#include "weir/config/configuration.h"

namespace weir {

/// Which files of a conf folder are read.
enum class ConfigFiles {
  kFlink2,    ///< config.yaml only
  kFlink119,  ///< flink-conf.yaml where it exists, otherwise config.yaml (Flink 1.19 and 1.20)
  kEither,    ///< config.yaml where it exists, otherwise flink-conf.yaml: what Weir does, so that it starts on the folder of any version
};

/// Reads a conf folder. Flink: GlobalConfiguration.loadConfiguration. A missing folder or file is an error.
Result<Configuration> loadConfiguration(FileSystem& files, const std::string& folder, ConfigFiles which = ConfigFiles::kEither);

/// Reads one file: by the flat rules where it is called flink-conf.yaml, as YAML otherwise.
Result<Configuration> loadConfigurationFile(FileSystem& files, const std::string& path);

/// A YAML document: nested keys, dotted keys, or both. `source` is what messages call it. Flink: YamlParserUtils.
Result<Configuration> parseYamlConfiguration(std::string_view text, const std::string& source);

/// Lines `key: value`, as flink-conf.yaml up to Flink 1.20 was read: no nesting, no quotes, a # starts a comment anywhere. Odd lines are
/// skipped with a note and never an error.
Configuration parseFlatConfiguration(std::string_view text, const std::string& source);

}  // namespace weir
