#include "weir/config/configuration.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "weir/base/log_sinks.h"
#include "weir/config/checkpointing_options.h"
#include "weir/config/configuration_loader.h"
#include "weir/config/execution_options.h"
#include "weir/config/job_manager_options.h"
#include "weir/config/network_options.h"
#include "weir/config/rest_options.h"
#include "weir/config/restart_options.h"
#include "weir/config/state_options.h"
#include "weir/config/weir_options.h"

namespace weir {
namespace {

Configuration yaml(std::string_view text) { return parseYamlConfiguration(text, "config.yaml").value(); }

template <class T>
std::string errorOf(const Configuration& configuration, const ConfigOption<T>& option) {
  const auto value = configuration.getOptional(option);
  return value.has_error() ? value.error().message : "(no error)";
}

std::vector<std::string> notesAt(const Configuration& configuration, LogLevel level) {
  std::vector<std::string> texts;
  for (const ConfigNote& note : configuration.notes()) {
    if (note.level == level) texts.push_back(note.text);
  }
  return texts;
}
std::vector<std::string> warnings(const Configuration& configuration) { return notesAt(configuration, LogLevel::kWarn); }
using Texts = std::vector<std::string>;

TEST(Configuration, GivesTheDefaultWhereNothingIsSet) {
  const Configuration configuration;
  EXPECT_EQ(configuration.get(kCheckpointingTimeout).value(), Duration(std::chrono::minutes(10)));
  EXPECT_EQ(configuration.get(kMemorySegmentSize).value(), MemorySize::ofKibiBytes(32));
  EXPECT_EQ(configuration.getOptional(kCheckpointingInterval).value(), std::nullopt);
  EXPECT_FALSE(configuration.contains(kCheckpointingInterval));
}

TEST(Configuration, GivesBackWhatAProgramSets) {
  Configuration configuration;
  configuration.set(kCheckpointingInterval, Duration(Millis(1500)));
  configuration.set(kCheckpointingMode, CheckpointingMode::kAtLeastOnce);
  configuration.set(kExponentialDelayJitterFactor, 0.25);
  configuration.set(kPipelineName, "a job");
  EXPECT_EQ(configuration.getOptional(kCheckpointingInterval).value(), Duration(Millis(1500)));
  EXPECT_EQ(configuration.get(kCheckpointingMode).value(), CheckpointingMode::kAtLeastOnce);
  EXPECT_EQ(configuration.get(kExponentialDelayJitterFactor).value(), 0.25);
  EXPECT_EQ(configuration.getOptional(kPipelineName).value(), "a job");
}

TEST(Configuration, ListsAndMapsSurviveTheirText) {
  const ConfigOption<std::vector<std::string>> list{"x.list"};
  const ConfigOption<ConfigMap> map{"x.map"};
  const std::vector<std::string> items{"a;b", "it's", "", "plain", " edge "};
  const ConfigMap entries{{"a", "1,2"}, {"b:c", "it's"}, {"d", "x"}};
  Configuration configuration;
  configuration.set(list, items);
  configuration.set(map, entries);
  EXPECT_EQ(configuration.getOptional(list).value(), items);
  EXPECT_EQ(configuration.getOptional(map).value(), entries);
}

TEST(Configuration, ReadsFlowFormsFromTheCommandLine) {
  Configuration configuration;
  ASSERT_FALSE(configuration.setDynamic("x.list=[a, 'b;c', 010]").has_error());
  ASSERT_FALSE(configuration.setDynamic("x.map={a: 1, b: 'c,d'}").has_error());
  EXPECT_EQ(configuration.getOptional(ConfigOption<std::vector<std::string>>{"x.list"}).value(), (Texts{"a", "b;c", "10"}));
  EXPECT_EQ(configuration.getOptional(ConfigOption<ConfigMap>{"x.map"}).value(), (ConfigMap{{"a", "1"}, {"b", "c,d"}}));
}

TEST(Configuration, ReadsAMapThatIsSpreadOverKeys) {
  const Configuration configuration = yaml("pipeline:\n  global-job-parameters:\n    a: 1\n    b.c: x,y\n");
  EXPECT_EQ(configuration.getOptional(kGlobalJobParameters).value(), (ConfigMap{{"a", "1"}, {"b.c", "x,y"}}));
  EXPECT_EQ(warnings(configuration), Texts{});
}

TEST(Configuration, TheCommandLineWinsOverTheFile) {
  Configuration configuration = yaml("parallelism.default: 2\npipeline.name: file\n");
  Configuration commandLine;
  ASSERT_FALSE(commandLine.setDynamic("parallelism.default=4").has_error());
  ASSERT_FALSE(commandLine.setDynamic("pipeline.object-reuse").has_error());
  configuration.addAll(commandLine);
  EXPECT_EQ(configuration.get(kDefaultParallelism).value(), 4);
  EXPECT_EQ(configuration.getOptional(kPipelineName).value(), "file");
  EXPECT_TRUE(configuration.get(kObjectReuse).value());
  EXPECT_EQ(configuration.setDynamic("=x").error().message, "'-D=x' names no key: -Dkey=value is expected");
}

TEST(Configuration, RemembersWhereEachValueStands) {
  const Configuration configuration = yaml("a:\n  b: 1\n  c:   [x]\n");
  EXPECT_EQ(configuration.find("a.b")->origin.prefix(), "config.yaml:2:6: ");
  EXPECT_EQ(configuration.find("a.c")->origin.prefix(), "config.yaml:3:8: ");
  EXPECT_EQ(configuration.find("a"), nullptr);
}

TEST(Configuration, ABadValueNamesPlaceKeyValueAndWhatIsExpected) {
  EXPECT_EQ(errorOf(yaml("\nexecution.checkpointing.interval: soon\n"), kCheckpointingInterval),
            "config.yaml:2:35: Could not parse value 'soon' for key 'execution.checkpointing.interval': text does not start with a number, "
            "and is not a valid ISO-8601 duration format: soon; write it as 500 ms, 10 s or 5 min");
  EXPECT_EQ(errorOf(yaml("execution.checkpointing.interval: 5 ms\n"), kCheckpointingInterval),
            "config.yaml:1:35: the value '5 ms' for key 'execution.checkpointing.interval' is out of range: at least 10 ms is expected");
  Configuration commandLine;
  ASSERT_FALSE(commandLine.setDynamic("parallelism.default=0").has_error());
  EXPECT_EQ(errorOf(commandLine, kDefaultParallelism),
            "-D: the value '0' for key 'parallelism.default' is out of range: at least 1 is expected");
}

TEST(Configuration, ChecksRangesThatFlinkChecks) {
  EXPECT_NE(errorOf(yaml("execution.checkpointing.timeout: 9"), kCheckpointingTimeout).find("at least 10 ms"), std::string::npos);
  for (const char* size : {"1 kb", "48 kb", "2 gb"}) {
    EXPECT_NE(errorOf(yaml(std::string("taskmanager.memory.segment-size: ") + size), kMemorySegmentSize), "(no error)") << size;
  }
  for (const char* value : {"0", "-2", "32769"}) {
    EXPECT_NE(errorOf(yaml(std::string("pipeline.max-parallelism: ") + value), kMaxParallelism), "(no error)") << value;
  }
  EXPECT_EQ(errorOf(yaml("pipeline.max-parallelism: -1"), kMaxParallelism), "(no error)");
  EXPECT_NE(errorOf(yaml("taskmanager.memory.network.fraction: 1.5"), kNetworkMemoryFraction), "(no error)");
  EXPECT_NE(errorOf(yaml("execution.checkpointing.data-inline-threshold: 2 mb"), kDataInlineThreshold), "(no error)");
  EXPECT_NE(errorOf(yaml("execution.checkpointing.interval-during-backlog: 1"), kCheckpointingIntervalDuringBacklog), "(no error)");
  EXPECT_EQ(errorOf(yaml("execution.checkpointing.interval-during-backlog: 0"), kCheckpointingIntervalDuringBacklog), "(no error)");
  EXPECT_NE(errorOf(yaml("execution.runtime-mode: batch"), kRuntimeMode).find("Weir runs no batch jobs"), std::string::npos);
}

TEST(Configuration, ReadsEverySpellingOfARestartStrategy) {
  const std::map<std::string, RestartStrategyType> spellings{{"none", RestartStrategyType::kNone},
                                                             {"off", RestartStrategyType::kNone},
                                                             {"disable", RestartStrategyType::kNone},
                                                             {"fixed-delay", RestartStrategyType::kFixedDelay},
                                                             {"fixeddelay", RestartStrategyType::kFixedDelay},
                                                             {"failure-rate", RestartStrategyType::kFailureRate},
                                                             {"failurerate", RestartStrategyType::kFailureRate},
                                                             {"exponential-delay", RestartStrategyType::kExponentialDelay},
                                                             {"ExponentialDelay", RestartStrategyType::kExponentialDelay}};
  for (const auto& [text, type] : spellings) {
    EXPECT_EQ(yaml("restart-strategy.type: " + text).getOptional(kRestartStrategy).value(), type) << text;
    EXPECT_EQ(yaml("restart-strategy: " + text).getOptional(kRestartStrategy).value(), type) << text;
  }
  EXPECT_NE(errorOf(yaml("restart-strategy.type: always"), kRestartStrategy), "(no error)");
}

TEST(Configuration, ReadsTheBackendNamesOfFlink1) {
  EXPECT_EQ(yaml("state.backend: filesystem").get(kStateBackend).value(), StateBackendType::kHashMap);
  EXPECT_EQ(yaml("state.backend: rocksdb").get(kStateBackend).value(), StateBackendType::kRocksDb);
}

TEST(Configuration, ReadsTheOldBufferTimeoutAndSaysHowToSwitchItOff) {
  EXPECT_EQ(yaml("execution.buffer-timeout: 5").get(kBufferTimeout).value(), Duration(Millis(5)));
  const std::string message = errorOf(yaml("execution.buffer-timeout: -1"), kBufferTimeout);
  EXPECT_NE(message.find("(to switch the timer off set execution.buffer-timeout.enabled: false)"), std::string::npos) << message;
}

TEST(Configuration, TheBindPortFallsBackToThePort) {
  EXPECT_EQ(yaml("rest.port: 9000").get(kRestBindPort).value(), "9000");
  EXPECT_EQ(yaml("rest.port: 9000\nrest.bind-port: 9100-9200").get(kRestBindPort).value(), "9100-9200");
}

TEST(Configuration, ValidateFindsTheFirstMistakeByKey) {
  EXPECT_FALSE(yaml("parallelism.default: 2\nno.such.key: x\n").validate().has_error());
  const auto result = yaml("weir.executor: quick\nparallelism.default: two\n").validate();
  ASSERT_TRUE(result.has_error());
  EXPECT_EQ(result.error().message,
            "config.yaml:2:22: Could not parse value 'two' for key 'parallelism.default': For input string: \"two\"; write a whole number");
}

TEST(Configuration, HidesValuesOfSensitiveKeys) {
  const Configuration configuration = yaml("s3.secret-key: abc\nrest.port: 1\n");
  EXPECT_EQ(configuration.toMap(true).at("s3.secret-key"), "******");
  EXPECT_EQ(configuration.toMap(true).at("rest.port"), "1");
  EXPECT_EQ(configuration.toMap(false).at("s3.secret-key"), "abc");
  EXPECT_EQ(errorOf(configuration, ConfigOption<int32_t>{"s3.secret-key"}),
            "config.yaml:1:16: Could not parse value '******' for key 's3.secret-key': it is not of the expected type");
}

TEST(Notes, NameTheNearestKeyOfAnUnknownOne) {
  EXPECT_EQ(warnings(yaml("execution.checkpointing.intervall: 1 s")),
            Texts{"config.yaml:1:36: execution.checkpointing.intervall is no known key and has no effect: "
                  "did you mean execution.checkpointing.interval?"});
  EXPECT_EQ(warnings(yaml("completely.made.up: 1")), Texts{"config.yaml:1:21: completely.made.up is no known key and has no effect"});
}

TEST(Notes, WarnOfTheShortFormOfTheChannelStateKey) {
  for (const char* key : {"execution.checkpointing.max-subtasks-per-channel-state-file", "max-subtasks-per-channel-state-file",
                          "unaligned.max-subtasks-per-channel-state-file"}) {
    const auto notes = warnings(yaml(std::string(key) + ": 1"));
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_NE(notes[0].find("did you mean execution.checkpointing.unaligned.max-subtasks-per-channel-state-file?"), std::string::npos);
  }
}

TEST(Notes, SayThatAKeyOfFlinkIsNotSupported) {
  EXPECT_EQ(warnings(yaml("high-availability.zookeeper.quorum: h:2181")),
            Texts{"config.yaml:1:37: high-availability.zookeeper.quorum has no effect: Flink has it, Weir does not"});
  EXPECT_EQ(warnings(yaml("s3.endpoint: x")),
            Texts{"config.yaml:1:14: s3.endpoint has no effect: it belongs to a part of Flink that Weir does not have"});
}

TEST(Notes, SayThatAKeyIsNotReadYetAndWarnWhereTheJobWouldBeAnotherOne) {
  EXPECT_EQ(warnings(yaml("weir.network.flow-control: tcp")),
            Texts{"config.yaml:1:28: weir.network.flow-control has no effect yet: Weir checks its value and does nothing with it"});
  const Configuration cluster = yaml("jobmanager.rpc.port: 6123");
  EXPECT_EQ(warnings(cluster), Texts{});
  EXPECT_EQ(notesAt(cluster, LogLevel::kInfo).size(), 1u);
}

TEST(Notes, MarkKeysOfFlink1ThatAreApplied) {
  const Configuration configuration = yaml("taskmanager.network.memory.buffers-per-channel: 4\n");
  EXPECT_EQ(configuration.get(kBuffersPerChannel).value(), 4);
  EXPECT_EQ(warnings(configuration), Texts{});
  EXPECT_EQ(notesAt(configuration, LogLevel::kInfo),
            Texts{"config.yaml:1:49: taskmanager.network.memory.buffers-per-channel is an option of Flink 1.x; Weir applies it "
                  "(Flink 2.x fixes it at 2.)"});
}

TEST(Notes, WarnOfDeprecatedKeysAndWhetherTheyLose) {
  EXPECT_EQ(warnings(yaml("state.checkpoints.dir: one")),
            Texts{"config.yaml:1:24: Config uses deprecated configuration key 'state.checkpoints.dir' instead of proper key "
                  "'execution.checkpointing.dir'"});
  EXPECT_EQ(warnings(yaml("state.checkpoints.dir: one\nexecution.checkpointing.dir: two")),
            Texts{"config.yaml:1:24: Config uses deprecated configuration key 'state.checkpoints.dir' instead of proper key "
                  "'execution.checkpointing.dir', which is set as well and wins"});
}

TEST(Notes, AreSilentAboutKeysThatAreFine) {
  EXPECT_TRUE(yaml("parallelism.default: 2\nexecution.checkpointing.interval: 1 s").notes().empty());
  EXPECT_EQ(warnings(yaml("env.java.opts.all: -Xmx1g")), Texts{});
}

TEST(Notes, GoToTheLogUnderFlinksLogger) {
  MemoryLogSink log(SystemClock::instance());
  logNotes(yaml("execution.checkpointing.intervall: 1 s"), log);
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(log.lines()[0].logger, "org.apache.flink.configuration.GlobalConfiguration");
  EXPECT_EQ(log.lines()[0].level, LogLevel::kWarn);
}

}  // namespace
}  // namespace weir
