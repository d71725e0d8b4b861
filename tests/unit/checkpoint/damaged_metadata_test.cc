#include <gtest/gtest.h>

#include "support/damage.h"
#include "support/golden_checkpoints.h"
#include "weir/base/random.h"
#include "weir/checkpoint/checkpoint_metadata.h"

namespace weir {
namespace {

TEST(DamagedMetadata, OfARealFlinkIsReadAsSomethingWholeOrRefusedWithTheFile) {
  Random random(3, "damage");
  int refused = 0, read = 0;
  for (const auto& folder : golden::checkpointFolders()) {
    const std::string path = folder + "/_metadata";
    const auto good = golden::readBytes(path);
    for (int i = 0; i < 250; ++i) {
      const auto bytes = testing::damaged(good, random);
      const auto metadata = readMetadata(bytes, folder, path);
      if (metadata.has_error()) {
        ++refused;
        ASSERT_NE(metadata.error().message.find(path), std::string::npos) << metadata.error().message;
        ASSERT_EQ(metadata.error().message.find('\n'), std::string::npos);
        continue;
      }
      // What was accepted can be written, or the writer says why not; what it wrote is read again.
      ++read;
      const auto again = writeMetadata(*metadata);
      if (again.has_value()) {
        ASSERT_TRUE(readMetadata(*again, folder, path).has_value());
      }
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace weir
