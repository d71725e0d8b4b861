#include "weir/record/record_deserializer.h"

#include <gtest/gtest.h>

#include <map>

#include "support/golden_bytes.h"
#include "weir/base/random.h"
#include "weir/record/event_serializer.h"

namespace weir {
namespace {

using test::fromHex;
using test::goldenRows;
using test::Row;
using test::split;
using test::toHex;
using Bytes = std::vector<uint8_t>;
using Next = RecordDeserializer::Next;

RecordDeserializer makeDeserializer(size_t maxRecordBytes = RecordDeserializer::kDefaultMaxRecordBytes) {
  return RecordDeserializer("channel 3 of gate 0", maxRecordBytes);
}

/// All records of all buffers, in hex; a buffer's memory is scribbled over as soon as it was read.
std::vector<std::string> readAll(RecordDeserializer& deserializer, const std::vector<Bytes>& buffers) {
  std::vector<std::string> records;
  for (Bytes buffer : buffers) {
    deserializer.setNextBuffer(buffer);
    std::span<const uint8_t> payload;
    while (deserializer.next(payload) == Next::kRecord) records.push_back(toHex(payload));
    EXPECT_TRUE(deserializer.isBufferConsumed());
    std::fill(buffer.begin(), buffer.end(), 0xee);
  }
  return records;
}

Bytes framed(const std::vector<std::string>& payloads) {
  DataOutput out;
  for (const std::string& payload : payloads) {
    out.writeInt(static_cast<int32_t>(payload.size()));
    out.writeBytes(payload);
  }
  return out.toVector();
}

TEST(RecordDeserializer, ReadsTheRecordsThatFlinkCutIntoBuffersAndStopsAtNoEvent) {
  std::map<std::string, RecordDeserializer> channels;  // by case and subpartition
  std::vector<std::string> emitted, read;
  std::string caseNumber;
  int buffers = 0, events = 0;
  auto check = [&](const std::string& next) {
    if (next == caseNumber) return;
    std::sort(emitted.begin(), emitted.end());  // cases 4 and 5 have two subpartitions
    std::sort(read.begin(), read.end());
    EXPECT_EQ(read, emitted) << "case " << caseNumber;
    emitted.clear();
    read.clear();
    caseNumber = next;
  };
  std::ifstream file(golden::folder() + "/bytes/records-spanning.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## case ")) check(line.substr(8, 1));
    auto cells = split(line, '\t');
    bool broadcast = caseNumber == "5";
    if (cells[0] == "emit") emitted.insert(emitted.end(), broadcast ? 2 : 1, cells[3].substr(8));
    if (cells[0] == "broadcastEmit") emitted.insert(emitted.end(), 2, "020000000000000005");
    if (cells[0] != "buffer") continue;
    if (cells[4] != "DATA_BUFFER") {
      EXPECT_TRUE(EventSerializer::decode(fromHex(cells[8])).has_value()) << cells[8];
      ++events;
      continue;
    }
    auto& channel = channels.try_emplace(caseNumber + "/" + cells[2], cells[2]).first->second;
    for (std::string& record : readAll(channel, {fromHex(cells[8])})) read.push_back(std::move(record));
    ++buffers;
  }
  check("end");
  for (auto& [name, channel] : channels) EXPECT_EQ(channel.getUnconsumedBuffer().size(), 0u) << name;
  EXPECT_EQ(buffers, 20);
  EXPECT_EQ(events, 8);
}

TEST(RecordDeserializer, AnySplitOfAStreamGivesTheSameRecords) {
  std::vector<std::string> payloads = {"", "a", std::string(3, 'b'), "", std::string(200, 'c'), std::string(9, 'd'), ""};
  std::vector<std::string> expected;
  for (const std::string& payload : payloads) expected.push_back(toHex(Bytes(payload.begin(), payload.end())));
  Bytes stream = framed(payloads);
  for (size_t first = 0; first <= stream.size(); ++first) {
    for (size_t second = first; second <= stream.size(); second += 1 + second % 5) {
      auto cut = [&](size_t from, size_t to) {
        return Bytes(stream.begin() + static_cast<long>(from), stream.begin() + static_cast<long>(to));
      };
      RecordDeserializer deserializer = makeDeserializer();
      ASSERT_EQ(readAll(deserializer, {cut(0, first), cut(first, second), cut(second, stream.size())}), expected) << first << " " << second;
    }
  }
}

TEST(RecordDeserializer, RandomStreamsInRandomBuffersComeBackWhole) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    std::vector<std::string> payloads, expected;
    for (uint64_t i = 0; i < 1 + random.below(50); ++i) {
      std::string payload(random.oneIn(5) ? random.below(5000) : random.below(30), static_cast<char>('a' + random.below(26)));
      expected.push_back(toHex(Bytes(payload.begin(), payload.end())));
      payloads.push_back(std::move(payload));
    }
    Bytes stream = framed(payloads);
    std::vector<Bytes> buffers;
    for (size_t at = 0; at < stream.size();) {
      size_t size = std::min<size_t>(random.oneIn(3) ? random.below(7) : random.below(600), stream.size() - at);
      buffers.emplace_back(stream.begin() + static_cast<long>(at), stream.begin() + static_cast<long>(at + size));
      at += size;
    }
    RecordDeserializer deserializer = makeDeserializer();
    ASSERT_EQ(readAll(deserializer, buffers), expected) << "seed " << seed;
  }
}

TEST(RecordDeserializer, ARecordInsideOneBufferIsNotCopied) {
  Bytes buffer = framed({"abc", "de"});
  RecordDeserializer deserializer = makeDeserializer();
  deserializer.setNextBuffer(buffer);
  std::span<const uint8_t> payload;
  ASSERT_EQ(deserializer.next(payload), Next::kRecord);
  EXPECT_EQ(payload.data(), buffer.data() + 4);
  ASSERT_EQ(deserializer.next(payload), Next::kRecord);
  EXPECT_EQ(payload.data(), buffer.data() + 11);
  EXPECT_TRUE(deserializer.isBufferConsumed());
}

TEST(RecordDeserializer, WhatWasNotHandedOutIsUnconsumedAndReadsTheSameElsewhere) {
  std::vector<std::string> payloads = {"first", std::string(50, 'x'), "third", "last"};
  Bytes stream = framed(payloads);
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    for (size_t handedOut = 0; handedOut <= payloads.size(); ++handedOut) {
      Bytes head(stream.begin(), stream.begin() + static_cast<long>(cut)), tail(stream.begin() + static_cast<long>(cut), stream.end());
      RecordDeserializer deserializer = makeDeserializer();
      std::span<const uint8_t> payload;
      deserializer.setNextBuffer(head);
      size_t count = 0;
      while (count < handedOut && deserializer.next(payload) == Next::kRecord) ++count;
      if (count < handedOut) {
        deserializer.setNextBuffer(tail);
        while (count < handedOut && deserializer.next(payload) == Next::kRecord) ++count;
        tail.clear();
      }
      auto [partial, rest] = deserializer.getUnconsumedBuffer();
      Bytes unconsumed(partial.begin(), partial.end());
      unconsumed.insert(unconsumed.end(), rest.begin(), rest.end());
      unconsumed.insert(unconsumed.end(), tail.begin(), tail.end());
      ASSERT_EQ(toHex(unconsumed), toHex(framed({payloads.begin() + static_cast<long>(handedOut), payloads.end()})))
          << cut << " " << handedOut;
    }
  }
}

TEST(RecordDeserializer, ANegativeLengthIsCorruptAndNamesTheChannel) {
  for (size_t cut : {0u, 2u, 4u}) {
    Bytes stream = fromHex("ffffffff00"), head(stream.begin(), stream.begin() + static_cast<long>(cut)),
          tail(stream.begin() + static_cast<long>(cut), stream.end());
    RecordDeserializer deserializer = makeDeserializer();
    std::span<const uint8_t> payload;
    deserializer.setNextBuffer(head);
    if (deserializer.next(payload) == Next::kNeedBuffer) {
      deserializer.setNextBuffer(tail);
      ASSERT_EQ(deserializer.next(payload), Next::kCorrupt) << cut;
    }
    EXPECT_EQ(deserializer.next(payload), Next::kCorrupt) << "it stays corrupt";
    EXPECT_EQ(deserializer.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(deserializer.error().message,
              "channel 3 of gate 0: a record announces -1 bytes; the stream is corrupt or its sender is no Flink or Weir");
  }
}

TEST(RecordDeserializer, ARecordAboveTheLimitIsRefusedBeforeItIsCollected) {
  RecordDeserializer deserializer = makeDeserializer(10);
  Bytes fits = framed({std::string(10, 'x')}), tooLong = framed({std::string(11, 'x')}), huge = fromHex("7fffffff");
  EXPECT_EQ(readAll(deserializer, {fits}).size(), 1u);
  deserializer.setNextBuffer(tooLong);
  std::span<const uint8_t> payload;
  ASSERT_EQ(deserializer.next(payload), Next::kCorrupt);
  EXPECT_EQ(deserializer.error().message, "channel 3 of gate 0: a record announces 11 bytes, more than the 10 that are allowed");
  RecordDeserializer other = makeDeserializer();
  other.setNextBuffer(huge);
  EXPECT_EQ(other.next(payload), Next::kCorrupt);
}

TEST(RecordDeserializer, ALargeRecordSpansManyBuffersInMemory) {
  std::string large(6 << 20, 'L');
  Bytes stream = framed({"before", large, "after"});
  std::vector<Bytes> buffers;
  for (size_t at = 0; at < stream.size(); at += 32768)
    buffers.emplace_back(stream.begin() + static_cast<long>(at), stream.begin() + static_cast<long>(std::min(at + 32768, stream.size())));
  RecordDeserializer deserializer = makeDeserializer();
  size_t count = 0, largest = 0;
  for (const Bytes& buffer : buffers) {
    deserializer.setNextBuffer(buffer);
    std::span<const uint8_t> payload;
    for (; deserializer.next(payload) == Next::kRecord; ++count) largest = std::max(largest, payload.size());
  }
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(largest, large.size());
}

TEST(RecordDeserializer, ABufferMustBeReadBeforeTheNext) {
  Bytes buffer = framed({"a"});
  RecordDeserializer deserializer = makeDeserializer();
  deserializer.setNextBuffer(buffer);
  EXPECT_DEATH(deserializer.setNextBuffer(buffer), "channel 3 of gate 0");
  deserializer.clear();
  deserializer.setNextBuffer(buffer);
}

using Value = std::pair<std::string, int64_t>;

TEST(ReadRecords, FillsABatchAndStopsAtEachControlElementInItsPlace) {
  DataOutput out;
  for (int64_t i = 0; i < 100; ++i) {
    writeFramed(out, StreamRecord<Value>({"key", i}, i * 10));
    if (i % 40 == 39) writeFramed(out, ControlElement(Watermark{i}));
  }
  RecordDeserializer deserializer = makeDeserializer();
  deserializer.setNextBuffer(out.bytes());
  std::vector<StreamRecord<Value>> batch(64);
  ControlElement control;
  Error error;
  std::vector<std::pair<size_t, ReadStop>> reads;
  int64_t expected = 0;
  for (bool more = true; more;) {
    auto [count, stop] = readRecords<Value>(deserializer, batch, control, error);
    for (size_t i = 0; i < count; ++i, ++expected) ASSERT_EQ(batch[i], StreamRecord<Value>({"key", expected}, expected * 10));
    if (stop == ReadStop::kControl) {
      EXPECT_EQ(control, ControlElement(Watermark{expected - 1}));
    }
    reads.emplace_back(count, stop);
    more = stop != ReadStop::kNeedBuffer;
  }
  EXPECT_EQ(reads,
            (std::vector<std::pair<size_t, ReadStop>>{{40, ReadStop::kControl}, {40, ReadStop::kControl}, {20, ReadStop::kNeedBuffer}}));
  deserializer.setNextBuffer(out.bytes().first(0));
  EXPECT_EQ(readRecords<Value>(deserializer, std::span(batch).first(0), control, error).stop, ReadStop::kFull);
}

TEST(ReadRecords, ARecordThatIsNotWhatItsLengthSaysNamesTheChannelAndTheByte) {
  auto errorOf = [](std::string_view hex) {
    Bytes bytes = fromHex(hex);
    RecordDeserializer deserializer = makeDeserializer();
    deserializer.setNextBuffer(bytes);
    std::vector<StreamRecord<int32_t>> batch(2);
    ControlElement control;
    Error error;
    EXPECT_EQ(readRecords<int32_t>(deserializer, batch, control, error).stop, ReadStop::kCorrupt);
    return error.message;
  };
  EXPECT_EQ(errorOf("00000003010000"), "channel 3 of gate 0: A record ends too early (at byte 1 of 3)");
  EXPECT_EQ(errorOf("00000000"), "channel 3 of gate 0: A record ends too early (at byte 0 of 0)");
  EXPECT_EQ(errorOf("0000000107"), "channel 3 of gate 0: A record starts with a tag that no stream element has (at byte 1 of 1)");
  EXPECT_EQ(errorOf("000000060100000001ff"),
            "channel 3 of gate 0: A record has bytes behind its end; do sender and receiver agree on the type? (at byte 5 of 6)");
  EXPECT_EQ(errorOf("000000050400000001"),
            "channel 3 of gate 0: A record holds a watermark status that is neither active nor idle (at byte 5 of 5)");
}

TEST(ReadRecords, RandomBytesNeverDoMoreThanFail) {
  Random random(5);
  int corrupt = 0;
  for (int i = 0; i < 30000; ++i) {
    RecordDeserializer deserializer("fuzz", 1 << 16);
    std::vector<StreamRecord<Value>> batch(8);
    ControlElement control;
    Error error;
    ReadStop stop = ReadStop::kNeedBuffer;
    for (int buffer = 0; buffer < 3 && stop != ReadStop::kCorrupt; ++buffer) {
      Bytes bytes(random.below(50));
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.oneIn(2) ? 0 : random.oneIn(2) ? random.below(12) : random.next());
      deserializer.setNextBuffer(bytes);
      do stop = readRecords<Value>(deserializer, batch, control, error).stop;
      while (stop == ReadStop::kFull || stop == ReadStop::kControl);
    }
    corrupt += stop == ReadStop::kCorrupt;
  }
  EXPECT_GT(corrupt, 1000);
}

TEST(EventSerializer, RandomBytesNeverDoMoreThanFail) {
  Random random(6);
  int accepted = 0;
  for (int i = 0; i < 100000; ++i) {
    Bytes bytes(random.below(64));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    if (bytes.size() >= 4) storeBigEndian(bytes.data(), static_cast<int32_t>(random.below(14)));
    auto event = EventSerializer::decode(bytes);
    if (!event.has_value()) continue;
    ++accepted;
    ASSERT_EQ(EventSerializer::decode(EventSerializer::encode(*event)).value(), *event);
  }
  EXPECT_GT(accepted, 10000);
}

}  // namespace
}  // namespace weir
