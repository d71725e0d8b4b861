#include "weir/buffer/buffer_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace weir {
namespace {

std::span<const uint8_t> bytes(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }
std::string text(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.bytes().data()), buffer.size()}; }

/// A builder over heap memory, opened as a pool opens a segment.
BufferBuilder builderOf(uint32_t capacity) {
  MemorySegment* segment = MemorySegment::allocate(capacity);
  segment->open(nullptr, -1);
  return BufferBuilder(segment);
}

TEST(DataTypes, HaveFlinksOrdinalsAndRules) {
  EXPECT_EQ(static_cast<int>(DataType::PRIORITIZED_EVENT_BUFFER), 3);
  EXPECT_EQ(static_cast<int>(DataType::RECOVERY_COMPLETION), 6);
  EXPECT_EQ(static_cast<int>(DataType::UNALIGNED_WATERMARK_EVENT), 13);
  std::string buffers, events, blocking, priority, announced;
  for (int i = 0; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    const std::string number = std::to_string(i) + " ";
    if (isBuffer(type)) buffers += number;
    if (isEvent(type)) events += number;
    if (isBlockingUpstream(type)) blocking += number;
    if (hasPriority(type)) priority += number;
    if (requiresAnnouncement(type)) announced += number;
  }
  EXPECT_EQ(buffers, "1 8 ");
  EXPECT_EQ(events, "2 3 4 5 6 7 9 10 11 12 13 ");
  EXPECT_EQ(blocking, "4 5 6 12 ");
  EXPECT_EQ(priority, "3 ");
  EXPECT_EQ(announced, "5 ");
}

TEST(Buffer, CopiesShareTheBytesAndTheLastOneFreesThem) {
  Buffer first = Buffer::copyOf(bytes("event"), DataType::EVENT_BUFFER);
  {
    const Buffer second = first;
    EXPECT_EQ(second.data(), first.data());
    EXPECT_EQ(first.segment()->references(), 2u);
  }
  EXPECT_EQ(first.segment()->references(), 1u);
  EXPECT_EQ(text(first), "event");
}

TEST(Buffer, ASliceOfASliceCountsFromItsOwnStart) {
  const Buffer whole = Buffer::copyOf(bytes("0123456789"), DataType::DATA_BUFFER);
  const Buffer slice = whole.slice(2, 6).slice(1, 3);
  EXPECT_EQ(text(slice), "345");
  EXPECT_EQ(slice.dataType(), DataType::DATA_BUFFER);
}

TEST(Buffer, ASliceBeyondItsEndIsRefused) {
  const Buffer whole = Buffer::copyOf(bytes("0123"), DataType::DATA_BUFFER);
  EXPECT_DEATH(whole.slice(3, 2), "slice of 2 at 3 out of 4 bytes");
}

TEST(BufferBuilder, AppendsWhatFitsAndIsFullThen) {
  BufferBuilder builder = builderOf(8);
  EXPECT_EQ(builder.append(bytes("hello")), 5u);
  EXPECT_FALSE(builder.isFull());
  EXPECT_EQ(builder.append(bytes("world")), 3u);
  EXPECT_TRUE(builder.isFull());
}

TEST(BufferBuilder, AClosedOneHasNoRoom) {
  BufferBuilder builder = builderOf(8);
  EXPECT_EQ(builder.finish(), 0u);
  EXPECT_FALSE(builder.isOpen());
  EXPECT_EQ(builder.writable(), 0u);
}

TEST(BufferBuilder, TrimNeverCutsWrittenBytesNorGrowsTheSegment) {
  BufferBuilder builder = builderOf(16);
  builder.append(bytes("hello"));
  builder.trim(2);
  EXPECT_EQ(builder.maxCapacity(), 5u);
  EXPECT_TRUE(builder.isFull());
  builder.trim(100);
  EXPECT_EQ(builder.maxCapacity(), 16u);
}

TEST(BufferConsumer, SeesOnlyWhatIsCommitted) {
  BufferBuilder builder = builderOf(16);
  BufferConsumer consumer = builder.createConsumer();
  EXPECT_FALSE(consumer.isDataAvailable());
  builder.append(bytes("ab"));
  EXPECT_TRUE(consumer.isDataAvailable());
  EXPECT_EQ(text(consumer.build().buffer), "ab");
  EXPECT_FALSE(consumer.isDataAvailable());
}

TEST(BufferConsumer, SlicesFollowEachOtherOverTheSameMemory) {
  BufferBuilder builder = builderOf(16);
  BufferConsumer consumer = builder.createConsumer();
  builder.append(bytes("ab"));
  const auto first = consumer.build();
  builder.append(bytes("cde"));
  builder.finish();
  const auto second = consumer.build();
  EXPECT_EQ(text(first.buffer), "ab");
  EXPECT_FALSE(first.finished);
  EXPECT_EQ(text(second.buffer), "cde");
  EXPECT_TRUE(second.finished);
  EXPECT_EQ(first.buffer.data() + 2, second.buffer.data());
}

TEST(BufferConsumer, AnEmptyLastSliceStillSaysThatItIsTheEnd) {
  BufferBuilder builder = builderOf(16);
  BufferConsumer consumer = builder.createConsumer();
  builder.append(bytes("ab"));
  (void)consumer.build();
  builder.finish();
  const auto last = consumer.build();
  EXPECT_EQ(last.buffer.size(), 0u);
  EXPECT_TRUE(last.finished);
}

TEST(BufferConsumer, PeekingDoesNotMoveOn) {
  BufferBuilder builder = builderOf(16);
  BufferConsumer consumer = builder.createConsumer();
  builder.append(bytes("ab"));
  EXPECT_EQ(text(consumer.peek()), "ab");
  EXPECT_EQ(text(consumer.build().buffer), "ab");
}

TEST(BufferConsumer, OfAWholeBufferIsFinishedAndStartsAtItsOffset) {
  const Buffer whole = Buffer::copyOf(bytes("0123456789"), DataType::EVENT_BUFFER);
  BufferConsumer consumer(whole.slice(4, 3));
  EXPECT_TRUE(consumer.isFinished());
  EXPECT_EQ(text(consumer.build().buffer), "456");
}

TEST(BufferConsumer, SeveralReadEachFromTheStart) {
  BufferBuilder builder = builderOf(16);
  BufferConsumer one = builder.createConsumer();
  builder.append(bytes("ab"));
  EXPECT_EQ(text(one.build().buffer), "ab");
  BufferConsumer two = builder.createConsumer();
  EXPECT_EQ(text(two.build().buffer), "ab");
}

}  // namespace
}  // namespace weir
