#pragma once

#include <deque>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/base/mutex.h"
#include "weir/base/result.h"

namespace weir {

enum class TimeZone { kLocal, kUtc };

/// "INFO", "WARN", ...
std::string_view logLevelName(LogLevel level);
/// Any case, as in a configuration file.
Result<LogLevel> parseLogLevel(std::string_view text);

/// One line, without a newline at its end, in Flink's layout `%d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %-60c %x - %m`.
std::string formatLogLine(int64_t epochMillis, TimeZone zone, LogLevel level, std::string_view logger, std::string_view message);

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  std::string file{};  ///< appended to, its folder created; empty: standard error
  TimeZone zone = TimeZone::kLocal;
  size_t queuedLines = 8192;  ///< a full queue makes the writer wait: lines are never dropped
};

/// The log of a real process: lines are stamped by the caller and written by a thread of spdlog. Warnings and errors are flushed at
/// once, the rest each second and in the destructor. Any thread.
Result<std::unique_ptr<LogSink>> openLog(const LogOptions& options, const Clock& clock = SystemClock::instance());

/// The log of a test or of a simulated run: synchronous, kept in memory, stamped by a clock. Any thread; the stream is written under
/// its lock.
class MemoryLogSink final : public LogSink {
 public:
  struct Line {
    int64_t epochMillis;
    LogLevel level;
    std::string logger;
    std::string message;
  };
  /// Requires: `clock` and `copyTo` outlive this. Keeps at most `capacity` lines, the newest.
  explicit MemoryLogSink(const Clock& clock, LogLevel level = LogLevel::kInfo, std::ostream* copyTo = nullptr, size_t capacity = 1'000'000);

  bool enabled(LogLevel level) const override { return level >= level_; }
  void write(LogLevel level, std::string_view logger, std::string_view message) override;

  std::vector<Line> lines() const;
  /// Messages that contain `text`.
  size_t count(std::string_view text) const;
  bool contains(std::string_view text) const { return count(text) > 0; }
  /// Lines at this level.
  size_t count(LogLevel level) const;
  /// All of it, as a log file would hold it (in UTC).
  std::string text() const;
  void clear();

 private:
  const Clock& clock_;
  const LogLevel level_;
  std::ostream* const copyTo_;
  const size_t capacity_;
  mutable Mutex mutex_;
  std::deque<Line> lines_;
};

/// A sink that drops everything.
class NullLogSink final : public LogSink {
 public:
  bool enabled(LogLevel) const override { return false; }
  void write(LogLevel, std::string_view, std::string_view) override {}
};

}  // namespace weir
