#include <gtest/gtest.h>

#include <algorithm>

#include "support/golden.h"
#include "unit/exchange/exchange_fixture.h"

namespace weir {
namespace {

using namespace testing;

struct Section {
  std::string title;
  std::vector<std::vector<std::string>> rows;
};

/// The cases of golden/bytes/records-spanning.tsv.
std::vector<Section> sections() {
  std::vector<Section> all;
  const std::string text = golden::readText("bytes/records-spanning.tsv");
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    start = end + 1;
    if (line.starts_with("## case")) all.push_back({line, {}});
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == '\t') fields.emplace_back();
      else fields.back() += c;
    }
    all.back().rows.push_back(fields);
  }
  return all;
}

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::vector<uint8_t> payloadOf(const std::string& framedHex) {
  const std::vector<std::byte> framed = golden::fromHex(framedHex);
  std::vector<uint8_t> payload;
  for (size_t i = 4; i < framed.size(); ++i) payload.push_back(static_cast<uint8_t>(framed[i]));
  return payload;
}

/// A producer with 64-byte segments whose subpartitions are polled as the file says.
struct Replay {
  explicit Replay(uint32_t subpartitions, bool broadcast)
      : partition(exchange.partition(subpartitions)), writer(partition), broadcast(broadcast) {
    for (uint32_t i = 0; i < subpartitions; ++i)
      views.push_back(partition->createView(i, {std::make_shared<ReadyQueue>(subpartitions), i}));
  }

  void emit(const std::string& what, const std::string& framedHex) {
    const std::vector<uint8_t> payload = payloadOf(framedHex);
    if (broadcast) {
      writer.broadcastShared(payload.size(), [&](uint8_t* at) { return std::copy(payload.begin(), payload.end(), at); });
      return;
    }
    const size_t target = what.find("-> sub ");
    emitBytes(writer, target == what.npos ? 0 : std::stoi(what.substr(target + 7)), payload);
  }
  void expectNext(const std::vector<std::string>& row) {
    const auto next = views[std::stoi(row[2])].getNextBuffer();
    ASSERT_TRUE(next.has_value()) << "nothing to poll";
    EXPECT_EQ(next->sequenceNumber, std::stoi(row[3]));
    EXPECT_EQ(toString(next->buffer.dataType()), row[4]);
    EXPECT_EQ(next->buffersInBacklog, std::stoi(row[5]));
    EXPECT_EQ(toString(next->nextDataType), row[6]);
    EXPECT_EQ(next->buffer.size(), std::stoul(row[7]));
    EXPECT_EQ(hex(next->buffer.bytes()), row[8]);
  }
  void expectNothing() {
    for (auto& view : views) EXPECT_FALSE(view.getNextBuffer().has_value());
  }

  Exchange exchange;
  std::shared_ptr<ResultPartition> partition;
  RecordWriter writer;
  bool broadcast;
  std::vector<PipelinedSubpartitionView> views;
};

TEST(RecordsSpanning, SpanBuffersByteForByteAsFlinkWritesThem) {
  const Section section = sections().at(0);
  Replay replay(1, false);
  std::string before;
  for (const auto& row : section.rows) {
    SCOPED_TRACE(row[0] + " " + row[1]);
    if (row[0] == "emit") {
      if (row[1] == "record after") replay.partition->broadcastEvent(CheckpointBarrier{1, 2, {}});
      replay.emit(row[1], row[3]);
      continue;
    }
    if (row[1] != before && row[1].starts_with("after resume")) {
      replay.expectNothing();
      replay.views[0].resumeConsumption();
    }
    if (row[1] != before && row[1] == "after EndOfPartition") replay.partition->finish();
    before = row[1];
    replay.expectNext(row);
  }
  replay.expectNothing();
}

TEST(RecordsSpanning, SplitTheLengthItselfAndFillABufferExactly) {
  const Section section = sections().at(1);
  Replay replay(1, false);
  bool ended = false;
  for (const auto& row : section.rows) {
    SCOPED_TRACE(row[0] + " " + row[1]);
    if (row[0] == "emit") {
      replay.emit(row[1], row[3]);
      continue;
    }
    if (!std::exchange(ended, true)) replay.partition->notifyEndOfData(StopMode::DRAIN);
    replay.expectNext(row);
  }
  replay.expectNothing();
}

TEST(RecordsSpanning, ARecordThatFillsItsBufferFinishesIt) {
  const Section section = sections().at(2);
  Replay replay(1, false);
  for (const auto& row : section.rows) {
    SCOPED_TRACE(row[0] + " " + row[1]);
    if (row[0] == "emit") {
      replay.emit(row[1], row[3]);
      continue;
    }
    if (row[1] == "after EndOfPartition") replay.partition->finish();
    replay.expectNext(row);
  }
  replay.expectNothing();
}

TEST(RecordsSpanning, TwoSubpartitionsWithABroadcastWatermark) {
  const Section section = sections().at(3);
  Replay replay(2, false);
  bool ended = false;
  for (const auto& row : section.rows) {
    SCOPED_TRACE(row[0] + " " + row[1]);
    if (row[0] == "emit") {
      replay.emit(row[1], row[3]);
    } else if (row[0] == "broadcastEmit") {
      ASSERT_EQ(row[1], "watermark 5");
      broadcastElement(replay.writer, ForwardPartitioner(), Watermark{5});
    } else {
      if (!std::exchange(ended, true)) replay.partition->finish();
      replay.expectNext(row);
    }
  }
  replay.expectNothing();
}

TEST(RecordsSpanning, ABroadcastWriterSharesItsMemory) {
  const Section section = sections().at(4);
  Replay replay(2, true);
  bool ended = false;
  for (const auto& row : section.rows) {
    SCOPED_TRACE(row[0] + " " + row[1]);
    if (row[0] == "emit") {
      replay.emit(row[1], row[3]);
      continue;
    }
    if (!std::exchange(ended, true)) {
      EXPECT_EQ(replay.partition->pool().used(), 2) << "two buffers for both subpartitions together";
      replay.partition->finish();
    }
    replay.expectNext(row);
  }
  replay.expectNothing();
}

}  // namespace
}  // namespace weir
