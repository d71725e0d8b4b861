#include <filesystem>
#include <nlohmann/json.hpp>

#include "e2e/command.h"
#include "support/golden_checkpoints.h"
#include "support/temp_dir.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using testing::Answer;
using testing::expectUsageError;
using testing::TempDir;
using testing::weir;

TEST(Inspect, ShowsASavepointOfFlink) {
  const std::string savepoint = golden::pathOf(golden::checkpointFolder("savepoints-rocksdb", "ca02ddb497d7"));
  const Answer answer = weir({"inspect", savepoint, "--keys", "1"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("canonical savepoint"));
  EXPECT_THAT(answer.out, HasSubstr("keyed by String"));
  EXPECT_THAT(answer.out, HasSubstr("Map(String, Long)"));
  EXPECT_THAT(answer.out, HasSubstr("10 keys; the heaviest:"));
  EXPECT_THAT(answer.out, HasSubstr("all there"));
}

TEST(Inspect, ShowsACheckpointOfWeirAsJson) {
  const TempDir folder;
  // A job that fails leaves its last checkpoint.
  const Answer run =
      weir({"run", "flights-delays", "--quiet", "--rate", "300000", "--kill", "by-engine:0@60%", "-D", "restart-strategy.type=none", "-D",
            "execution.checkpointing.interval=20ms", "-D", "execution.checkpointing.dir=" + folder.path(), "-D",
            "execution.checkpointing.externalized-checkpoint-retention=RETAIN_ON_CANCELLATION"});
  ASSERT_EQ(run.code, 1) << run.err;
  std::string checkpoint;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    if (entry.path().filename() == "_metadata") checkpoint = entry.path().parent_path().string();
  ASSERT_FALSE(checkpoint.empty()) << run.out << run.err;
  const Answer answer = weir({"inspect", checkpoint, "--output", "json"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_FALSE(json.at("savepoint").get<bool>());
  int64_t keys = 0, sum = 0;
  for (const auto& op : json.at("operators")) {
    keys += op.at("keys").get<int64_t>();
    sum += op.at("state-bytes").get<int64_t>();
    EXPECT_TRUE(op.at("not-decoded").empty()) << op.dump(2);
  }
  EXPECT_GT(keys, 0);
  EXPECT_EQ(sum, json.at("state-bytes").get<int64_t>());
}

TEST(Inspect, FailsWhereAFileIsMissing) {
  const TempDir folder;
  std::filesystem::copy(golden::pathOf(golden::checkpointFolder("aligned-heap", "chk-2")), folder.path(),
                        std::filesystem::copy_options::recursive);
  std::string largest;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.path().filename() != "_metadata" && entry.path().extension() != ".txt" &&
        (largest.empty() || entry.file_size() > std::filesystem::file_size(largest)))
      largest = entry.path().string();
  std::filesystem::remove(largest);
  const Answer answer = weir({"inspect", folder.path()});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.out, HasSubstr("1 missing or with another length"));
  EXPECT_THAT(answer.out, HasSubstr("not decoded: keyed state of subtask"));
  EXPECT_THAT(answer.out, ::testing::Not(HasSubstr("10 keys")));
}

TEST(Inspect, AsksForACheckpoint) {
  expectUsageError({"inspect"}, {"PATH", "weir inspect --help"});
  expectUsageError({"inspect", "/nowhere"}, {"there is no checkpoint or savepoint at /nowhere"});
  expectUsageError({"inspect", "s3://bucket/chk-1"}, {"s3://bucket/chk-1 is not on a local file system"});
  expectUsageError({"inspect", golden::pathOf("checkpoints/README.md")}, {"README.md"});
  expectUsageError({"inspect", "x", "--keys", "-1"}, {"--keys"});
}

}  // namespace
}  // namespace weir
