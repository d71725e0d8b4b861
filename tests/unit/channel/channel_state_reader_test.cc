#include "weir/channel/channel_state_reader.h"

#include <map>
#include <set>

#include "channel_fixture.h"
#include "support/golden_checkpoints.h"
#include "weir/base/real_file_system.h"
#include "weir/channel/channel_state_checkpoint_writer.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/record/record_deserializer.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Side = ChannelStateCheckpointWriter::Side;

/// A file of two subtasks: 0 has two input channels and an output, 1 one of each.
class ChannelStateReaderTest : public ::testing::Test, protected StorageFixture {
 protected:
  ChannelStateReaderTest() {
    ChannelStateCheckpointWriter writer(1, {0, 1}, {}, *storage, ChannelStateAcks::kTogether);
    std::vector<std::shared_ptr<ChannelStateWriteResult>> results;
    for (int32_t s : {0, 1}) writer.start(s, s, results.emplace_back(std::make_shared<ChannelStateWriteResult>(1)));
    writer.write(0, Side::kInput, {0, 0}, buffers({"first", "second"}));
    writer.write(1, Side::kInput, {0, 1}, buffers({"of another subtask"}));
    writer.write(0, Side::kInput, {1, 4}, buffers({"third"}));
    writer.write(0, Side::kOutput, {0, 2}, buffers({"out"}));
    for (int32_t s : {0, 1})
      for (Side side : {Side::kInput, Side::kOutput}) writer.finish(s, side);
    for (const auto& result : results) {
      inputs.insert(inputs.end(), result->written().inputs.begin(), result->written().inputs.end());
      outputs.insert(outputs.end(), result->written().outputs.begin(), result->written().outputs.end());
    }
    path = std::get<RelativeFileHandle>(inputs[0].stream).path;
    bytes = memory.readAll(path).value();
  }
  void replace(const std::vector<std::byte>& with) {
    auto file = memory.create(path, FileSystem::Create::kTruncate).value();
    ASSERT_TRUE(file->append(with).has_value() && file->close().has_value());
  }
  std::vector<std::string> read() { return readBack(*storage, ChannelStateKind::kInput, inputs); }

  std::vector<ChannelStateHandle> inputs, outputs;
  std::string path;
  std::vector<std::byte> bytes;
};

TEST_F(ChannelStateReaderTest, GivesBackWhatWasWrittenInTheOrderOfTheFile) {
  EXPECT_THAT(read(), ElementsAre("0: 0.0@4: first", "0: 0.0@13: second", "1: 0.1@23: of another subtask", "0: 1.4@45: third"));
  EXPECT_THAT(readBack(*storage, ChannelStateKind::kOutput, outputs), ElementsAre("0: 0.2@54: out"));
}

TEST_F(ChannelStateReaderTest, ATruncatedFileNamesItselfTheChannelAndTheOffset) {
  for (size_t size = 0; size < bytes.size(); ++size) {
    replace({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)});
    const auto result = read();
    ASSERT_EQ(result.size(), 1u);
    EXPECT_THAT(result[0], ::testing::AllOf(HasSubstr("error"), HasSubstr(path), HasSubstr("channel 0 of gate 0"), HasSubstr("byte 4")));
  }
}

TEST_F(ChannelStateReaderTest, AWrongLengthIsFoundBeforeAnythingIsHandedOut) {
  // Every byte of every length of the inputs, in every other value.
  for (const size_t length : {4, 13, 23, 45}) {
    for (size_t i = 0; i < 4; ++i) {
      for (int change = 1; change < 256; ++change) {
        auto damaged = bytes;
        damaged[length + i] ^= static_cast<std::byte>(change);
        replace(damaged);
        const auto result = read();
        ASSERT_EQ(result.size(), 1u) << "byte " << length + i << " changed by " << change;
        ASSERT_THAT(result[0], ::testing::AllOf(HasSubstr("error"), HasSubstr(path), HasSubstr("gate"), HasSubstr("at byte")));
      }
    }
  }
}

TEST_F(ChannelStateReaderTest, NoDamageMakesItReadOutsideOfTheFile) {
  Random random(7);
  for (int round = 0; round < 3000; ++round) {
    auto damaged = bytes;
    for (uint64_t i = 0, n = 1 + random.below(4); i < n; ++i)
      damaged[random.below(damaged.size())] = static_cast<std::byte>(random.below(256));
    replace(damaged);
    read();
  }
}

TEST_F(ChannelStateReaderTest, NoHandleMakesItReadOutsideOfTheFile) {
  Random random(8);
  const auto whole = inputs;
  for (int round = 0; round < 3000; ++round) {
    inputs = whole;
    auto& handle = inputs[random.below(inputs.size())];
    auto& channel = handle.channels[random.below(handle.channels.size())];
    channel.offsets[random.below(channel.offsets.size())] = static_cast<int64_t>(random.next() >> random.below(64));
    channel.size = static_cast<int64_t>(random.below(40));
    const auto result = read();
    ASSERT_THAT(result[0], HasSubstr("error"));
  }
}

TEST_F(ChannelStateReaderTest, AFileThatIsNoneIsRefused) {
  auto damaged = bytes;
  damaged[3] = std::byte{1};
  replace(damaged);
  EXPECT_THAT(read(), ElementsAre(HasSubstr("begins with 1")));
}

TEST_F(ChannelStateReaderTest, AChannelThatTwoHandlesClaimIsAnError) {
  inputs.push_back(inputs[0]);
  EXPECT_THAT(read(), ElementsAre(HasSubstr("in the checkpoint twice")));
}

TEST_F(ChannelStateReaderTest, BuffersThatOverlapAreAnError) {
  inputs[0].channels[0].offsets[1] = 8;
  EXPECT_THAT(read(), ElementsAre(HasSubstr("at byte 4"))) << "the one in front of it claims too much";
}

TEST_F(ChannelStateReaderTest, ACheckpointCanGiveItsInFlightDataUp) {
  std::vector<OperatorState> operators(1);
  operators[0].subtasks[0].inputChannels = inputs;
  operators[0].subtasks[1].outputChannels = outputs;
  EXPECT_FALSE(checkChannelState(*storage, operators).has_error());
  const ForgottenChannelState forgotten = forgetChannelState(operators);
  EXPECT_EQ(forgotten.buffers, 5);
  EXPECT_EQ(forgotten.bytes, 5 + 6 + 18 + 5 + 3);
  EXPECT_TRUE(operators[0].subtasks[0].empty() && operators[0].subtasks[1].empty());
}

// --- Files of a real Flink ---

class FlinkChannelState : public ::testing::TestWithParam<std::string> {
 protected:
  FlinkChannelState() {
    loaded = loadCheckpoint(files, golden::pathOf(golden::checkpointFolder(GetParam(), "chk-2"))).value();
    storage = FsCheckpointStorage::create(files, JobID::of(1, 2), {"/nowhere", 0}, Random(3)).value();
  }
  using Handles = std::vector<std::pair<ChannelStateKind, ChannelStateHandle>>;
  Handles handles() const {
    Handles all;
    for (const auto& op : loaded.metadata.operators) {
      for (const auto& [index, subtask] : op.subtasks) {
        for (const auto& handle : subtask.inputChannels) all.emplace_back(ChannelStateKind::kInput, handle);
        for (const auto& handle : subtask.outputChannels) all.emplace_back(ChannelStateKind::kOutput, handle);
      }
    }
    return all;
  }

  RealFileSystem files;
  LoadedCheckpoint loaded;
  std::unique_ptr<FsCheckpointStorage> storage;
};

TEST_P(FlinkChannelState, PassesTheChecks) { EXPECT_FALSE(checkChannelState(*storage, loaded.metadata.operators).has_error()); }

TEST_P(FlinkChannelState, EveryByteOfItsFilesIsABufferOfSomebody) {
  std::map<std::string, std::map<int64_t, int64_t>> claimed;  // by file: offset to end
  for (const auto& [kind, handle] : handles()) {
    const auto& file = std::get<RelativeFileHandle>(handle.stream);
    auto reader = openChannelState(*storage, kind, {handle}).value();
    while (const ChannelStateEntry* entry = reader->next()) claimed[file.path][entry->offset] = entry->offset + 4 + entry->length;
  }
  EXPECT_EQ(claimed.size(), 2u);
  for (const auto& [path, entries] : claimed) {
    int64_t end = 4;
    for (const auto& [from, to] : entries) {
      EXPECT_EQ(from, end) << path;
      end = to;
    }
    EXPECT_EQ(end, static_cast<int64_t>(files.readAll(path)->size())) << path;
  }
}

TEST_P(FlinkChannelState, InputAndThenTheOutputOfTheSenderAreOneStreamOfRecords) {
  using LogicalChannel = std::pair<int32_t, int32_t>;  // receiver, sender
  const auto collect = [&](const std::string& name, ChannelStateKind kind, std::map<LogicalChannel, std::vector<std::byte>>& into) {
    for (const auto& op : loaded.metadata.operators) {
      if (op.name != name) continue;
      for (const auto& [index, subtask] : op.subtasks) {
        const bool inputs = kind == ChannelStateKind::kInput;
        auto reader = openChannelState(*storage, kind, inputs ? subtask.inputChannels : subtask.outputChannels).value();
        while (const ChannelStateEntry* entry = reader->next()) {
          const int32_t other = entry->channelOrSubpartition;
          auto& bytes = into[inputs ? LogicalChannel{entry->oldSubtask, other} : LogicalChannel{other, entry->oldSubtask}];
          const size_t before = bytes.size();
          bytes.resize(before + static_cast<size_t>(entry->length));
          ASSERT_TRUE(reader->read(std::span(bytes).subspan(before)).has_value());
        }
      }
    }
  };
  for (const auto& [sender, receiver] : {std::pair<std::string, std::string>{"Source: src", "mid"}, {"mid", "keyed"}}) {
    std::map<LogicalChannel, std::vector<std::byte>> streams;
    collect(receiver, ChannelStateKind::kInput, streams);
    collect(sender, ChannelStateKind::kOutput, streams);
    EXPECT_EQ(streams.size(), 4u);
    for (const auto& [channel, bytes] : streams) {
      RecordDeserializer deserializer("channel", 100);
      deserializer.setNextBuffer({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
      std::span<const uint8_t> payload;
      size_t records = 0;
      while (deserializer.next(payload) == RecordDeserializer::Next::kRecord) {
        ++records;
        EXPECT_LE(payload[0], 2) << "a record or a watermark";
      }
      EXPECT_EQ(deserializer.next(payload), RecordDeserializer::Next::kNeedBuffer);
      EXPECT_GT(records, 0u);
    }
  }
}

TEST_P(FlinkChannelState, TheSameBuffersWrittenAgainGiveTheSameFileAndTheSameHandles) {
  std::map<std::string, Handles> byFile;
  for (auto& [kind, handle] : handles()) byFile[std::get<RelativeFileHandle>(handle.stream).path].emplace_back(kind, handle);
  for (const auto& [path, own] : byFile) {
    struct Piece {
      int32_t writer;
      ChannelStateKind kind;
      ChannelStateEntry entry;
      Buffer data;
    };
    std::map<int64_t, Piece> pieces;
    std::set<int32_t> writers;
    for (size_t w = 0; w < own.size(); ++w) {
      writers.insert(static_cast<int32_t>(w));
      auto reader = openChannelState(*storage, own[w].first, {own[w].second}).value();
      while (const ChannelStateEntry* entry = reader->next()) {
        std::vector<std::byte> bytes(static_cast<size_t>(entry->length));
        ASSERT_EQ(reader->read(bytes).value(), bytes.size());
        const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        pieces[entry->offset] = {static_cast<int32_t>(w), own[w].first, *entry, dataBuffer(text)};
      }
    }
    StorageFixture target;
    ChannelStateCheckpointWriter writer(2, writers, {}, *target.storage, ChannelStateAcks::kTogether);
    std::vector<std::shared_ptr<ChannelStateWriteResult>> results;
    for (const int32_t w : writers)
      writer.start(w, own[static_cast<size_t>(w)].second.subtask, results.emplace_back(std::make_shared<ChannelStateWriteResult>(2)));
    for (const auto& [offset, piece] : pieces)
      writer.write(piece.writer, piece.kind == ChannelStateKind::kInput ? Side::kInput : Side::kOutput,
                   {piece.entry.gateOrPartition, piece.entry.channelOrSubpartition}, {piece.data});
    for (const int32_t w : writers)
      for (Side side : {Side::kInput, Side::kOutput}) writer.finish(w, side);
    for (size_t w = 0; w < own.size(); ++w) {
      const auto& written = results[w]->written();
      const auto& handle = written.inputs.empty() ? written.outputs[0] : written.inputs[0];
      EXPECT_EQ(handle.size, own[w].second.size);
      EXPECT_EQ(handle.subtask, own[w].second.subtask);
      ASSERT_EQ(handle.channels.size(), own[w].second.channels.size());
      for (size_t c = 0; c < handle.channels.size(); ++c) {
        EXPECT_EQ(handle.channels[c].offsets, own[w].second.channels[c].offsets);
        EXPECT_EQ(handle.channels[c].size, own[w].second.channels[c].size);
      }
      EXPECT_EQ(target.memory.readAll(std::get<RelativeFileHandle>(handle.stream).path).value(), files.readAll(path).value());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, FlinkChannelState, ::testing::Values("unaligned", "unaligned-inline"),
                         [](const auto& info) { return info.param == "unaligned" ? "inFiles" : "withInlining"; });

}  // namespace
}  // namespace weir
