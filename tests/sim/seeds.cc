#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

#include "sim/shrink.h"
#include "sim/simulation.h"

namespace weir::sim {
namespace {

/// What is printed where the process dies in the middle of a scenario.
char dyingWords[16 * 1024];

void onDeath(int signal) {
  const auto length = ::write(STDERR_FILENO, dyingWords, strnlen(dyingWords, sizeof dyingWords));
  (void)length;
  ::raise(signal);  // the handler was reset: this ends the process
}

void installHandlers() {
  static char stack[64 * 1024];
  static const bool once = [] {
    const stack_t alternative{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
    ::sigaltstack(&alternative, nullptr);
    struct sigaction action {};
    action.sa_handler = onDeath;
    action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGTERM}) ::sigaction(signal, &action, nullptr);
    return true;
  }();
  (void)once;
}

std::string replayCommand(uint64_t seed) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return fmt::format("WEIR_SEED_BASE={} WEIR_SEEDS=1 simulation_test --gtest_filter={}.{}", seed, test->test_suite_name(), test->name());
}

int64_t fromEnvironment(const char* name, int64_t otherwise) {
  const char* given = std::getenv(name);
  return given ? std::strtoll(given, nullptr, 10) : otherwise;
}

/// What this process has cost so far: unlike the time on the wall, it does not say how busy the machine is.
double processorMillis() { return static_cast<double>(std::clock()) * 1000 / CLOCKS_PER_SEC; }

/// The smallest scenario that fails in the same way, and what happens in it.
std::string explained(const Scenario& scenario, const std::string& failure) {
  constexpr int kMaxRuns = 300;
  const Shrunk least = shrink(scenario, failure, kMaxRuns);
  std::string text = fmt::format("shrunk in {} runs to\n{}", least.runs, least.scenario.describe());
  if (failure.rfind("signal ", 0) == 0 || failure.rfind("exit ", 0) == 0) return text;  // it would end this process too
  const Outcome outcome = simulate(least.scenario, Tell::kStory);
  return text + fmt::format("  {}\n{}", fmt::join(outcome.problems, "\n  "), outcome.story);
}

}  // namespace

int64_t seedsWanted() { return fromEnvironment("WEIR_SEEDS", 2000); }
uint64_t firstSeed() { return static_cast<uint64_t>(fromEnvironment("WEIR_SEED_BASE", 1)); }

void checkSeeds(int sharePercent, const Taste& taste, const std::function<void(const Scenario&, const Outcome&)>& also) {
  installHandlers();
  const int64_t seeds = std::max<int64_t>(1, seedsWanted() * sharePercent / 100);
  const double start = processorMillis();
  const bool shrinksAborts = std::getenv("WEIR_SHRINK") != nullptr;
  int64_t restarts = 0, checkpoints = 0;
  for (int64_t i = 0; i < seeds; ++i) {
    const uint64_t seed = firstSeed() + static_cast<uint64_t>(i);
    const Scenario scenario = drawScenario(seed, taste);
    const std::string words = fmt::format("seed {}\n{}replay: {}\n", seed, scenario.describe(), replayCommand(seed));
    std::strncpy(dyingWords, words.c_str(), sizeof dyingWords - 1);
    if (shrinksAborts) {
      if (const Failure failure = failureOf(scenario)) FAIL() << words << "  " << *failure << '\n' << explained(scenario, *failure);
      continue;
    }
    const Outcome outcome = simulate(scenario);
    restarts += outcome.restarts;
    checkpoints += outcome.checkpoints;
    if (!outcome.problems.empty()) {
      if (std::getenv("WEIR_SIM_LOG")) fmt::print("{}", outcome.log);
      FAIL() << words << fmt::format("  {}\n", fmt::join(outcome.problems, "\n  ")) << explained(scenario, *failureOf(outcome));
    }
    if (also) also(scenario, outcome);
  }
  dyingWords[0] = 0;
  fmt::print("{} seeds from {}: {:.1f} ms each, {} restarts, {} checkpoints\n", seeds, firstSeed(),
             (processorMillis() - start) / static_cast<double>(seeds), restarts, checkpoints);
}

}  // namespace weir::sim
