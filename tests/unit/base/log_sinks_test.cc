#include "weir/base/log_sinks.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/golden_dir.h"
#include "support/temp_dir.h"

namespace weir {
namespace {

class StoppedClock final : public Clock {
 public:
  int64_t epochMillis() const override { return millis; }
  Nanos monotonic() const override { return Nanos(0); }
  int64_t millis = 1796047485529;  // 2026-11-30 14:04:45,529 UTC
};

std::string fileText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The first line of a log of a real Flink.
std::string goldenLine() {
  std::ifstream file(golden::folder() + "/logs/A-tm1.log");
  std::string line;
  std::getline(file, line);
  return line;
}

TEST(LogLines, HaveTheLayoutOfFlink) {
  const std::string golden = goldenLine();
  const std::string message = golden.substr(golden.find("[] - ") + 5);
  EXPECT_EQ(
      formatLogLine(StoppedClock().millis, TimeZone::kUtc, LogLevel::kInfo, "org.apache.flink.runtime.taskexecutor.TaskExecutor", message),
      golden);
}

TEST(LogLines, DoNotCutALongLogger) {
  const std::string logger(70, 'x');
  EXPECT_EQ(formatLogLine(0, TimeZone::kUtc, LogLevel::kError, logger, "m"), "1970-01-01 00:00:00,000 ERROR " + logger + " [] - m");
  EXPECT_EQ(formatLogLine(-1, TimeZone::kUtc, LogLevel::kWarn, logger, "m"), "1969-12-31 23:59:59,999 WARN  " + logger + " [] - m");
}

TEST(LogLevels, AreReadInAnyCase) {
  EXPECT_EQ(parseLogLevel("warn").value(), LogLevel::kWarn);
  EXPECT_EQ(parseLogLevel("DEBUG").value(), LogLevel::kDebug);
  EXPECT_EQ(parseLogLevel("loud").error().message, "'loud' is no log level: one of DEBUG, INFO, WARN, ERROR is expected");
}

TEST(AsyncLog, WritesEveryLineBeforeItGoesAway) {
  const testing::TempDir folder;
  StoppedClock clock;
  {
    auto log = openLog({.file = folder / "logs/weir.log", .zone = TimeZone::kUtc, .queuedLines = 4}, clock).value();
    const Logger logger(*log, "org.apache.flink.Test");
    for (int i = 0; i < 100; ++i) logger.info("line {}", i);
    logger.debug("below the level");
    logger.info("{}% of {}", 5, "{braces}");
  }
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    expected += formatLogLine(clock.millis, TimeZone::kUtc, LogLevel::kInfo, "org.apache.flink.Test", "line " + std::to_string(i)) + "\n";
  }
  expected += formatLogLine(clock.millis, TimeZone::kUtc, LogLevel::kInfo, "org.apache.flink.Test", "5% of {braces}") + "\n";
  EXPECT_EQ(fileText(folder / "logs/weir.log"), expected);
}

TEST(AsyncLog, AppendsToAnEarlierLog) {
  const testing::TempDir folder;
  for (const char* run : {"first", "second"}) {
    auto log = openLog({.file = folder / "weir.log"}).value();
    log->write(LogLevel::kWarn, "l", run);
  }
  const std::string text = fileText(folder / "weir.log");
  EXPECT_LT(text.find("first"), text.find("second"));
  EXPECT_NE(text.find("second"), std::string::npos);
}

TEST(AsyncLog, NamesAFileThatCannotBeOpened) {
  const testing::TempDir folder;
  const auto log = openLog({.file = folder.path()});
  ASSERT_TRUE(log.has_error());
  EXPECT_EQ(log.error().code, ErrorCode::kIo);
  EXPECT_EQ(log.error().message.find("cannot open the log file " + folder.path() + ": "), 0u);
}

TEST(MemoryLog, KeepsLinesWithTheirTimeAndFindsThem) {
  StoppedClock clock;
  std::ostringstream copy;
  MemoryLogSink log(clock, LogLevel::kInfo, &copy);
  const Logger logger(log, "org.apache.flink.Test");
  logger.info("Checkpoint {} expired before completing.", 224);
  clock.millis += 1000;
  logger.warn("Checkpoint {} expired before completing.", 225);
  logger.debug("not kept");
  ASSERT_EQ(log.lines().size(), 2u);
  EXPECT_EQ(log.lines()[1].epochMillis, clock.millis);
  EXPECT_EQ(log.lines()[1].logger, "org.apache.flink.Test");
  EXPECT_EQ(log.count("expired before"), 2u);
  EXPECT_EQ(log.count(LogLevel::kWarn), 1u);
  EXPECT_TRUE(log.contains("Checkpoint 224"));
  EXPECT_FALSE(log.contains("Checkpoint 226"));
  EXPECT_EQ(log.text(), copy.str());
  EXPECT_EQ(copy.str().find("2026-11-30 14:04:45,529 INFO  org.apache.flink.Test "), 0u);
  log.clear();
  EXPECT_TRUE(log.lines().empty());
}

TEST(MemoryLog, KeepsTheNewestLines) {
  StoppedClock clock;
  MemoryLogSink log(clock, LogLevel::kInfo, nullptr, 2);
  for (const char* text : {"a", "b", "c"}) log.write(LogLevel::kInfo, "l", text);
  EXPECT_EQ(log.lines().size(), 2u);
  EXPECT_FALSE(log.contains("a"));
}

}  // namespace
}  // namespace weir
