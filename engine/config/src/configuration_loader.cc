#include "weir/config/configuration_loader.h"

#include <fmt/format.h>

#include <filesystem>

#include "text.h"

namespace weir {
namespace {

constexpr const char* kYamlFile = "config.yaml";
constexpr const char* kFlatFile = "flink-conf.yaml";
/// Far beyond any real file; keeps a wrong path (a disk image, a log) from filling the memory.
constexpr uint64_t kMaxFileBytes = 16 << 20;

std::string absolute(const std::string& path) {
  std::error_code ignored;
  const auto result = std::filesystem::absolute(path, ignored);
  return result.empty() ? path : result.lexically_normal().string();
}

Result<std::string> readText(FileSystem& files, const std::string& path) {
  WEIR_ASSIGN(auto file, files.open(path));
  WEIR_ASSIGN(const uint64_t size, file->size());
  if (size > kMaxFileBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is no configuration: it has {} bytes, more than {}", path, size, kMaxFileBytes)};
  }
  std::string text(size, '\0');
  WEIR_ASSIGN(const size_t got, file->readAt(0, std::as_writable_bytes(std::span(text))));
  text.resize(got);
  return text;
}

std::string fileOf(FileSystem& files, const std::string& folder, ConfigFiles which) {
  const std::string yaml = folder + "/" + kYamlFile, flat = folder + "/" + kFlatFile;
  switch (which) {
    case ConfigFiles::kFlink2:
      return yaml;
    case ConfigFiles::kFlink119:
      return files.exists(flat) ? flat : yaml;
    case ConfigFiles::kEither:
      break;
  }
  return !files.exists(yaml) && files.exists(flat) ? flat : yaml;
}

}  // namespace

Result<Configuration> loadConfiguration(FileSystem& files, const std::string& folder, ConfigFiles which) {
  if (!files.isDirectory(folder)) {
    return Error{
        ErrorCode::kNotFound,
        fmt::format("The given configuration directory name '{}' ({}) does not describe an existing directory.", folder, absolute(folder))};
  }
  const std::string path = fileOf(files, folder, which);
  if (!files.exists(path)) {
    return Error{ErrorCode::kNotFound, fmt::format("The Flink config file '{}' ({}) does not exist.", path, absolute(path))};
  }
  WEIR_ASSIGN(Configuration configuration, loadConfigurationFile(files, path));
  if (files.exists(folder + "/" + kYamlFile) && files.exists(folder + "/" + kFlatFile)) {
    configuration.addNote({LogLevel::kWarn, fmt::format("{} holds both {} and {}: only {} is read", folder, kYamlFile, kFlatFile, path)});
  }
  return configuration;
}

Result<Configuration> loadConfigurationFile(FileSystem& files, const std::string& path) {
  WEIR_ASSIGN(const std::string text, readText(files, path));
  if (std::filesystem::path(path).filename() == kFlatFile) return parseFlatConfiguration(text, path);
  return parseYamlConfiguration(text, path);
}

Configuration parseFlatConfiguration(std::string_view text, const std::string& source) {
  Configuration configuration;
  int number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line = line.substr(0, line.find('#'));
    if (trimmed(line).empty()) continue;
    const size_t colon = line.find(": ");
    const auto skip = [&](const char* why) {
      configuration.addNote({LogLevel::kWarn, fmt::format("{}:{}: skipped '{}': {}", source, number, trimmed(line), why)});
    };
    if (colon == std::string_view::npos) {
      skip("a line is 'key: value', with a blank behind the colon");
      continue;
    }
    const std::string_view key = trimmed(line.substr(0, colon)), value = trimmed(line.substr(colon + 2));
    if (key.empty() || value.empty()) {
      skip("key or value is empty");
      continue;
    }
    const int column = static_cast<int>(value.data() - line.data()) + 1;
    configuration.setText(key, std::string(value), {source, number, column});
  }
  return configuration;
}

}  // namespace weir
