#include "weir/base/log_sinks.h"

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/details/periodic_worker.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <iostream>
#include <ostream>

namespace weir {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames{"DEBUG", "INFO", "WARN", "ERROR"};
constexpr std::chrono::seconds kFlushPeriod{1};

spdlog::level::level_enum spdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

/// Formats in the caller, so that the stamp is the caller's, and hands whole lines to a thread of spdlog.
class AsyncLogSink final : public LogSink {
 public:
  AsyncLogSink(const LogOptions& options, spdlog::sink_ptr target, const Clock& clock)
      : options_(options), clock_(clock), pool_(std::make_shared<spdlog::details::thread_pool>(options.queuedLines, 1)) {
    target->set_pattern("%v");
    logger_ = std::make_shared<spdlog::async_logger>("weir", std::move(target), pool_, spdlog::async_overflow_policy::block);
    logger_->set_level(spdlog::level::trace);
    logger_->set_error_handler([told = std::make_shared<std::atomic<bool>>(false)](const std::string& why) {
      if (!told->exchange(true)) std::cerr << "warning: a line of the log is lost, others may be: " + why + "\n";
    });
    logger_->flush_on(spdlog::level::warn);
    flusher_ = std::make_unique<spdlog::details::periodic_worker>([this] { logger_->flush(); }, kFlushPeriod);
  }
  ~AsyncLogSink() override {
    flusher_.reset();
    logger_->flush();
    pool_.reset();  // joins its thread after the queue has run dry; what the thread has let go of ends after that, on this thread
    logger_.reset();
  }
  bool enabled(LogLevel level) const override { return level >= options_.level; }
  void write(LogLevel level, std::string_view logger, std::string_view message) override {
    const std::string line = formatLogLine(clock_.epochMillis(), options_.zone, level, logger, message);
    logger_->log(spdlogLevel(level), spdlog::string_view_t(line.data(), line.size()));
  }

 private:
  const LogOptions options_;
  const Clock& clock_;
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<spdlog::async_logger> logger_;
  std::unique_ptr<spdlog::details::periodic_worker> flusher_;
};

}  // namespace

std::string_view logLevelName(LogLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

Result<LogLevel> parseLogLevel(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), upper);
  if (found == kLevelNames.end()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is no log level: one of DEBUG, INFO, WARN, ERROR is expected", text)};
  }
  return static_cast<LogLevel>(found - kLevelNames.begin());
}

std::string formatLogLine(int64_t epochMillis, TimeZone zone, LogLevel level, std::string_view logger, std::string_view message) {
  const int64_t millis = ((epochMillis % 1000) + 1000) % 1000;
  const std::time_t seconds = static_cast<std::time_t>((epochMillis - millis) / 1000);
  std::tm t{};
  if (zone == TimeZone::kUtc)
    gmtime_r(&seconds, &t);
  else
    localtime_r(&seconds, &t);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02},{:03} {:<5} {:<60} [] - {}", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                     t.tm_min, t.tm_sec, millis, logLevelName(level), logger, message);
}

Result<std::unique_ptr<LogSink>> openLog(const LogOptions& options, const Clock& clock) {
  try {
    spdlog::sink_ptr target;
    if (options.file.empty())
      target = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    else
      target = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
    return std::unique_ptr<LogSink>(std::make_unique<AsyncLogSink>(options, std::move(target), clock));
  } catch (const spdlog::spdlog_ex& e) {
    return Error{ErrorCode::kIo, fmt::format("cannot open the log file {}: {}", options.file, e.what())};
  }
}

MemoryLogSink::MemoryLogSink(const Clock& clock, LogLevel level, std::ostream* copyTo, size_t capacity)
    : clock_(clock), level_(level), copyTo_(copyTo), capacity_(capacity) {}

void MemoryLogSink::write(LogLevel level, std::string_view logger, std::string_view message) {
  if (!enabled(level)) return;
  Lock lock(mutex_);
  const Line& line = lines_.emplace_back(Line{clock_.epochMillis(), level, std::string(logger), std::string(message)});
  if (copyTo_) *copyTo_ << formatLogLine(line.epochMillis, TimeZone::kUtc, level, logger, message) << '\n';
  if (lines_.size() > capacity_) lines_.pop_front();
}

std::vector<MemoryLogSink::Line> MemoryLogSink::lines() const {
  Lock lock(mutex_);
  return {lines_.begin(), lines_.end()};
}

size_t MemoryLogSink::count(std::string_view text) const {
  Lock lock(mutex_);
  return static_cast<size_t>(
      std::count_if(lines_.begin(), lines_.end(), [&](const Line& line) { return line.message.find(text) != std::string::npos; }));
}

size_t MemoryLogSink::count(LogLevel level) const {
  Lock lock(mutex_);
  return static_cast<size_t>(std::count_if(lines_.begin(), lines_.end(), [&](const Line& line) { return line.level == level; }));
}

std::string MemoryLogSink::text() const {
  Lock lock(mutex_);
  std::string text;
  for (const Line& line : lines_) text += formatLogLine(line.epochMillis, TimeZone::kUtc, line.level, line.logger, line.message) + "\n";
  return text;
}

void MemoryLogSink::clear() {
  Lock lock(mutex_);
  lines_.clear();
}

}  // namespace weir
