#include <gtest/gtest.h>

#include "weir/base/error.h"
#include "weir/cli/command_line.h"
#include "weir/cli/out_of_memory.h"

namespace weir {
namespace {

/// How the one operator of an example behaves.
enum class Behaviour { kFine, kWrong, kThrows, kStuck };

class Run final : public ExampleRun {
 public:
  explicit Run(Behaviour behaviour) : behaviour_(behaviour) {}
  int64_t inputRecords() const override { return 100; }
  void printResults(std::ostream& out, bool) const override { out << "the results\n"; }
  Result<void> compareWithOracle() const override {
    if (behaviour_ == Behaviour::kWrong) return Error{ErrorCode::kFailed, "7 is missing"};
    return {};
  }

 private:
  Behaviour behaviour_;
};

struct Step {
  Behaviour behaviour;
  ExecutionContext* context = nullptr;

  void open(RuntimeContext& runtime) { context = &runtime.execution(); }
  int64_t operator()(int64_t x) const {
    if (behaviour == Behaviour::kThrows) throw Throwable("java.lang.Exception", "no " + std::to_string(x));
    if (behaviour == Behaviour::kStuck) context->wait(WaitReason::kInputOrMail, {});
    return x;
  }
};

Example example(std::string name, Behaviour behaviour) {
  return {std::move(name), "for tests", [behaviour](StreamExecutionEnvironment& env, const ExampleOptions&) {
            env.fromSequence(1, 100).map(Step{behaviour}).name("step").addSink([](int64_t) {});
            return Result<std::unique_ptr<ExampleRun>>(std::make_unique<Run>(behaviour));
          }};
}

struct Answer {
  int code;
  std::string out, err;
};

Answer weir(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "weir");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  const std::vector<Example> examples{example("fine", Behaviour::kFine), example("wrong", Behaviour::kWrong),
                                      example("throws", Behaviour::kThrows), example("stuck", Behaviour::kStuck)};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = runCommandLine(static_cast<int>(argv.size()), argv.data(), examples, "data");
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(ExitCodes, AreZeroWhereAllIsWell) {
  for (const char* executor : {"threads", "pool", "simulated"}) {
    const Answer answer = weir({"run", "fine", "--quiet", "--compare", "--executor", executor});
    EXPECT_EQ(answer.code, kExitOk) << answer.err;
    EXPECT_NE(answer.out.find("the results"), std::string::npos) << answer.out;
    EXPECT_EQ(answer.err, "") << executor;
  }
  EXPECT_EQ(weir({"--help"}).code, kExitOk);
  EXPECT_EQ(weir({"config", "weir.executor"}).code, kExitOk);
}

TEST(ExitCodes, AreOneWhereTheJobFailedOrItsResultIsWrong) {
  const Answer failed = weir({"run", "throws", "--quiet"});
  EXPECT_EQ(failed.code, kExitFailed);
  EXPECT_NE(failed.err.find("the job failed: no 1 ["), std::string::npos) << failed.err;
  const Answer wrong = weir({"run", "wrong", "--quiet", "--compare"});
  EXPECT_EQ(wrong.code, kExitFailed);
  EXPECT_NE(wrong.err.find("7 is missing"), std::string::npos) << wrong.err;
  EXPECT_EQ(weir({"run", "wrong", "--quiet"}).code, kExitOk) << "nobody asked";
}

TEST(ExitCodes, OfAJobThatWasRestartedComeWithEachCauseOnce) {
  // Another number every time: the same cause.
  const Answer answer = weir({"run", "throws", "--quiet", "-D", "restart-strategy.type=fixed-delay", "-D",
                              "restart-strategy.fixed-delay.attempts=5", "-D", "restart-strategy.fixed-delay.delay=1 ms"});
  EXPECT_EQ(answer.code, kExitFailed);
  const std::string warning = "weir: warning: the job restarts: no ";
  const size_t first = answer.err.find(warning);
  ASSERT_NE(first, std::string::npos) << answer.err;
  EXPECT_EQ(answer.err.find(warning, first + 1), std::string::npos) << answer.err;
  EXPECT_NE(answer.err.find("the job failed: "), std::string::npos) << answer.err;
}

TEST(ExitCodes, AreThreeWhereMemoryRanOutAndNobodyCouldMakeAFailedTaskOfIt) {
  const auto runOut = [] {
    explainOutOfMemory();
    try {
      throw std::bad_alloc();
    } catch (...) {
      std::terminate();
    }
  };
  EXPECT_EXIT(runOut(), testing::ExitedWithCode(kExitEngine), "^weir: the engine failed: out of memory; .*\n$");
}

TEST(ExitCodes, AreOneWhereNobodyWasKilled) {
  const Answer answer = weir({"run", "fine", "--quiet", "--executor", "simulated", "--kill", "step@100%"});
  EXPECT_EQ(answer.code, kExitFailed) << answer.out;
  EXPECT_NE(answer.err.find("'step' was never killed"), std::string::npos) << answer.err;
}

TEST(ExitCodes, AreTwoWhereTheUserIsMistaken) {
  const std::vector<std::vector<std::string>> mistakes{{"run"},
                                                       {"run", "nope"},
                                                       {"run", "fine", "--nope"},
                                                       {"run", "fine", "--rate", "-1"},
                                                       {"run", "fine", "--rate", "inf"},
                                                       {"run", "fine", "--seed", "-1"},
                                                       {"run", "fine", "--seed", "99999999999999999999"},
                                                       {"run", "fine", "--log", ""},
                                                       {"run", "fine", "--kill", "step:-1@50%"},
                                                       {"run", "fine", "--kill", "step"},
                                                       {"run", "fine", "--kill", "nobody@50%"},
                                                       {"run", "fine", "--kill", "step:7@50%"},
                                                       {"run", "fine", "--executor", "quantum"},
                                                       {"run", "fine", "-D", "weir.executor=quantum"},
                                                       {"run", "fine", "--config-dir", "/there/is/none"},
                                                       {"config", "no.such.key.at.all"}};
  for (const auto& arguments : mistakes) {
    const Answer answer = weir(arguments);
    EXPECT_EQ(answer.code, kExitUsage) << testing::PrintToString(arguments) << answer.out << answer.err;
    EXPECT_EQ(answer.err.substr(0, 6), "weir: ") << answer.err;
  }
}

TEST(ExitCodes, AreThreeWhereTheEngineCannotGoOn) {
  const Answer answer = weir({"run", "stuck", "--quiet", "--executor", "simulated"});
  EXPECT_EQ(answer.code, kExitEngine) << answer.out;
  EXPECT_NE(answer.err.find("the engine failed: "), std::string::npos) << answer.err;
}

}  // namespace
}  // namespace weir
