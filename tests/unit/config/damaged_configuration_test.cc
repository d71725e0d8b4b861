#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/damage.h"
#include "weir/base/random.h"
#include "weir/config/configuration_loader.h"

namespace weir {
namespace {

using ::testing::StartsWith;

constexpr std::string_view kYaml =
    "# a cluster\n"
    "parallelism.default: 4\n"
    "execution:\n"
    "  checkpointing:\n"
    "    interval: 10 s\n"
    "    mode: &mode EXACTLY_ONCE\n"
    "    dir: 'file:///tmp/check points'\n"
    "restart-strategy: {type: fixed-delay, fixed-delay: {attempts: 3, delay: \"1 s\"}}\n"
    "pipeline.cached-files: [a, 'b c', !!str 3]\n"
    "pipeline.global-job-parameters: 'a:1,b:2'\n"
    "web.exception: *mode\n"
    "text: |\n  one\n  two\n"
    "---\n";

TEST(DamagedConfiguration, InYamlIsReadOrRefusedWithItsPlace) {
  Random random(4, "damage");
  int refused = 0, read = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto bytes = testing::damaged(std::as_bytes(std::span(kYaml)), random);
    const auto configuration = parseYamlConfiguration({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "config.yaml");
    if (configuration.has_error()) {
      ++refused;
      ASSERT_THAT(configuration.error().message, StartsWith("config.yaml"));
      continue;
    }
    ++read;
    (void)configuration->validate();
    if (i % 100 == 0) (void)configuration->notes();  // looks for the nearest of 800 keys
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(read, 100);
}

TEST(DamagedConfiguration, OnTheCommandLineIsReadOrRefusedWithItsKey) {
  Random random(5, "damage");
  const std::string_view settings[] = {
      "execution.checkpointing.interval=10 s",     "taskmanager.memory.segment-size=32kb",     "parallelism.default=4",
      "restart-strategy.type=exponential-delay",   "restart-strategy.exponential-delay.jitter-factor=0.1",
      "pipeline.global-job-parameters=a:1,'b:2:3'", "execution.checkpointing.timeout=PT10M",    "metrics.reporters={a, [b, c], {d: e}}"};
  for (int i = 0; i < 4000; ++i) {
    const auto bytes = testing::damaged(std::as_bytes(std::span(settings[random.below(std::size(settings))])), random);
    Configuration configuration;
    const auto set = configuration.setDynamic({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (set.has_error()) continue;
    const auto valid = configuration.validate();
    if (valid.has_error()) {
      ASSERT_THAT(valid.error().message, StartsWith("-D: "));
    }
    if (i % 100 == 0) (void)configuration.notes();
  }
}

}  // namespace
}  // namespace weir
