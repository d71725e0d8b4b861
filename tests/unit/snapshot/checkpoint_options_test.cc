#include "weir/snapshot/checkpoint_options.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr int64_t kNone = CheckpointOptions::kNoTimeout;

CheckpointOptions configured(bool exactlyOnce, bool unaligned, int64_t timeoutMs, SnapshotType type = SnapshotType::kCheckpoint) {
  return CheckpointOptions::forConfig(type, SavepointFormat::kCanonical, exactlyOnce, unaligned, timeoutMs);
}
CheckpointOptions withAlignment(AlignmentType alignment, int64_t timeoutMs = kNone) {
  CheckpointOptions options;
  options.alignment = alignment;
  options.alignedTimeoutMs = timeoutMs;
  return options;
}

TEST(CheckpointOptions, FollowTheConfiguration) {
  EXPECT_EQ(configured(false, true, 30000), withAlignment(AlignmentType::kAtLeastOnce));
  EXPECT_EQ(configured(true, false, 30000), withAlignment(AlignmentType::kAligned));
  EXPECT_EQ(configured(true, true, 0), withAlignment(AlignmentType::kUnaligned));
  EXPECT_EQ(configured(true, true, kNone), withAlignment(AlignmentType::kUnaligned));
  EXPECT_EQ(configured(true, true, 30000), withAlignment(AlignmentType::kAligned, 30000));
}

TEST(CheckpointOptions, ASavepointIsAlignedWithoutTimeoutWhateverIsConfigured) {
  for (SnapshotType type : {SnapshotType::kSavepoint, SnapshotType::kSavepointSuspend, SnapshotType::kSavepointTerminate}) {
    CheckpointOptions options = configured(true, true, 30000, type);
    EXPECT_EQ(options.alignment, AlignmentType::kAligned);
    EXPECT_EQ(options.alignedTimeoutMs, kNone);
    EXPECT_TRUE(options.needsAlignment());
    EXPECT_FALSE(options.needsChannelState());
  }
}

TEST(CheckpointOptions, NeedAlignmentOrChannelStateByTheirKind) {
  struct Case {
    CheckpointOptions options;
    bool alignment, channelState, timeoutable;
  };
  for (const Case& c : {Case{withAlignment(AlignmentType::kAtLeastOnce), false, false, false},
                        {withAlignment(AlignmentType::kAligned), true, false, false},
                        {withAlignment(AlignmentType::kAligned, 5), true, true, true},
                        {withAlignment(AlignmentType::kUnaligned), false, true, false},
                        {withAlignment(AlignmentType::kForcedAligned), true, false, false},
                        {withAlignment(AlignmentType::kForcedAligned, 5), true, false, false}}) {
    SCOPED_TRACE(static_cast<int>(c.options.alignment));
    EXPECT_EQ(c.options.needsAlignment(), c.alignment);
    EXPECT_EQ(c.options.needsChannelState(), c.channelState);
    EXPECT_EQ(c.options.isTimeoutable(), c.timeoutable);
  }
}

TEST(CheckpointOptions, AnEdgeThatCannotBeUnalignedForcesAlignmentAndKeepsTheTimeout) {
  EXPECT_EQ(withAlignment(AlignmentType::kUnaligned).withUnalignedUnsupported(), withAlignment(AlignmentType::kForcedAligned));
  EXPECT_EQ(withAlignment(AlignmentType::kAligned, 5).withUnalignedUnsupported(), withAlignment(AlignmentType::kForcedAligned, 5));
  for (AlignmentType same : {AlignmentType::kAtLeastOnce, AlignmentType::kAligned, AlignmentType::kForcedAligned})
    EXPECT_EQ(withAlignment(same).withUnalignedUnsupported(), withAlignment(same));
}

TEST(CheckpointOptions, BehindSuchAnEdgeTheyTurnBack) {
  for (const CheckpointOptions& options : {withAlignment(AlignmentType::kUnaligned), withAlignment(AlignmentType::kAligned, 5)})
    EXPECT_EQ(options.withUnalignedUnsupported().withUnalignedSupported(), options);
  for (AlignmentType same : {AlignmentType::kAtLeastOnce, AlignmentType::kAligned, AlignmentType::kUnaligned})
    EXPECT_EQ(withAlignment(same).withUnalignedSupported(), withAlignment(same));
}

TEST(CheckpointOptions, OnlyAlignedOnesTurnUnaligned) {
  EXPECT_EQ(withAlignment(AlignmentType::kAligned, 5).toUnaligned(), withAlignment(AlignmentType::kUnaligned));
  EXPECT_EQ(withAlignment(AlignmentType::kUnaligned).toUnaligned(), withAlignment(AlignmentType::kUnaligned));
  EXPECT_DEATH(withAlignment(AlignmentType::kForcedAligned).toUnaligned(), "only an aligned checkpoint");
  EXPECT_DEATH(withAlignment(AlignmentType::kAtLeastOnce).toUnaligned(), "only an aligned checkpoint");
}

TEST(SnapshotType, PrintsAsFlinkLogsIt) {
  auto canonical = [](SnapshotType type) { return toString(type, SavepointFormat::kCanonical); };
  EXPECT_EQ(canonical(SnapshotType::kCheckpoint), "CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}");
  EXPECT_EQ(canonical(SnapshotType::kFullCheckpoint), "CheckpointType{name='Full Checkpoint', sharingFilesStrategy=FORWARD}");
  EXPECT_EQ(canonical(SnapshotType::kSavepoint), "SavepointType{name='Savepoint', postCheckpointAction=NONE, formatType=CANONICAL}");
  EXPECT_EQ(toString(SnapshotType::kSavepoint, SavepointFormat::kNative),
            "SavepointType{name='Savepoint', postCheckpointAction=NONE, formatType=NATIVE}");
  EXPECT_EQ(canonical(SnapshotType::kSavepointTerminate),
            "SavepointType{name='Terminate Savepoint', postCheckpointAction=TERMINATE, formatType=CANONICAL}");
}

}  // namespace
}  // namespace weir
