#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "weir/base/clock.h"

namespace weir {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

/// Where log lines go; injected, so that a test or a simulated run sees exactly its own. Any thread.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual bool enabled(LogLevel level) const = 0;
  /// `message` may hold a stack trace after its first line.
  virtual void write(LogLevel level, std::string_view logger, std::string_view message) = 0;
};

/// Lines of one component, under the logger name that Flink uses for it (full Java class name, so that greps find it).
class Logger {
 public:
  Logger(LogSink& sink, std::string_view name) : sink_(&sink), name_(name) {}
  template <class... A>
  void debug(fmt::format_string<A...> text, A&&... args) const { log(LogLevel::kDebug, text, std::forward<A>(args)...); }
  template <class... A>
  void info(fmt::format_string<A...> text, A&&... args) const { log(LogLevel::kInfo, text, std::forward<A>(args)...); }
  template <class... A>
  void warn(fmt::format_string<A...> text, A&&... args) const { log(LogLevel::kWarn, text, std::forward<A>(args)...); }
  template <class... A>
  void error(fmt::format_string<A...> text, A&&... args) const { log(LogLevel::kError, text, std::forward<A>(args)...); }
  bool enabled(LogLevel level) const { return sink_->enabled(level); }

 private:
  template <class... A>
  void log(LogLevel level, fmt::format_string<A...> text, A&&... args) const {
    if (sink_->enabled(level)) sink_->write(level, name_, fmt::format(text, std::forward<A>(args)...));
  }
  LogSink* sink_;
  std::string name_;
};

}  // namespace weir
