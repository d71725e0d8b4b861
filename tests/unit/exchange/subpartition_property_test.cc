#include <gtest/gtest.h>

#include <deque>

#include "unit/exchange/exchange_fixture.h"

// Random sequences of operations on one subpartition against a model that is a plain list.
namespace weir {
namespace {

using namespace testing;

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      step();
      check();
      readerTurn(random_.oneIn(2));
    }
    // Quiescence: once everything is closed, flushed and resumed, the reader gets the rest without another look of its own accord.
    closeBuilder();
    sub_.finish();
    expected_.push_back("END_OF_PARTITION");
    while (sub_.queue.isBlocked() || readerWillPoll()) readerTurn(true);
    EXPECT_TRUE(expected_.empty()) << expected_.size() << " elements were never reported to the reader";
    EXPECT_EQ(sub_.queue.queueLength(), 0);
  }

 private:
  void step() {
    switch (random_.below(8)) {
      case 0:
      case 1: return write();
      case 2: return closeBuilder();
      case 3: return sub_.flush();
      case 4:
        closeBuilder();
        return event(CancelCheckpointMarker{++id_});
      case 5:
        closeBuilder();
        return event(barrier(++id_));
      case 6:
        if (!random_.oneIn(4)) return;
        closeBuilder();
        sub_.addEvent(barrier(++id_, AlignmentType::kUnaligned), true);
        priorities_.push_back(id_);
        return;
      default: return;
    }
  }
  void write() {
    if (!builder_.isOpen()) {
      builder_ = BufferBuilder(MemorySegment::allocate(16));
      builder_.trim(16);
      (void)builder_.append({});
      sub_.add(builder_.createConsumer());
    }
    const std::string text(1 + random_.below(5), static_cast<char>('a' + random_.below(26)));
    const uint32_t written = builder_.append(asBytes(text));
    for (uint32_t i = 0; i < written; ++i) expected_.push_back(std::string(1, text[i]));
    if (builder_.isFull()) closeBuilder();
  }
  void closeBuilder() {
    if (builder_.isOpen()) builder_.finish();
  }
  void event(const RuntimeEvent& event) {
    sub_.addEvent(event);
    expected_.push_back(std::string(toString(dataTypeOf(event, false))));
  }

  bool readerWillPoll() {
    if (sub_.notified() > 0 || !sub_.notifiedPriorities().empty()) mayPoll_ = true;
    return mayPoll_;
  }
  void readerTurn(bool resume) {
    if (sub_.queue.isBlocked() && resume) {
      sub_.queue.resumeConsumption();
      if (sub_.queue.isAvailable(true)) mayPoll_ = true;
    }
    if (!readerWillPoll()) return;
    const bool wasBlocked = sub_.queue.isBlocked();
    const auto next = sub_.queue.poll();
    mayPoll_ = false;
    if (!next) return;
    ASSERT_EQ(next->sequenceNumber, sequence_++);
    const DataType type = next->buffer.dataType();
    if (hasPriority(type)) {
      ASSERT_FALSE(priorities_.empty());
      priorities_.pop_front();
    } else {
      ASSERT_FALSE(wasBlocked) << "only priority events pass a blocked subpartition";
      ASSERT_TRUE(priorities_.empty()) << "data in front of a priority event";
      take(next->buffer);
    }
    ASSERT_EQ(sub_.queue.isBlocked(), wasBlocked || isBlockingUpstream(type));
    if (sub_.queue.isBlocked()) {
      ASSERT_EQ(next->buffersInBacklog, 0);
      ASSERT_EQ(next->nextDataType, DataType::NONE);
    }
    mayPoll_ = next->nextDataType != DataType::NONE;
  }
  void take(const Buffer& buffer) {
    if (!buffer.isBuffer()) {
      ASSERT_EQ(expected_.front(), toString(buffer.dataType()));
      expected_.pop_front();
      return;
    }
    ASSERT_GT(buffer.size(), 0u);
    for (const char c : asText(buffer)) {
      ASSERT_EQ(expected_.front(), std::string(1, c));
      expected_.pop_front();
    }
  }
  void check() {
    ASSERT_GE(sub_.queue.backlog(), 0);
    ASSERT_LE(sub_.queue.backlog(), sub_.queue.queueLength());
    if (sub_.queue.isBlocked()) {
      ASSERT_EQ(sub_.queue.backlog(), 0);
    }
  }

  Random random_;
  Subpartition sub_;
  BufferBuilder builder_;
  std::deque<std::string> expected_;   ///< a byte of data, or the type of an event
  std::deque<int64_t> priorities_;
  int64_t id_ = 0;
  int32_t sequence_ = 0;
  bool mayPoll_ = false;  ///< the reader was told, or the last poll said that there is more
};

TEST(SubpartitionProperty, AReaderThatOnlyFollowsNotificationsGetsEverythingInOrder) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model(seed).run(200);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SubpartitionProperty, TheBacklogIsARecountOfTheQueue) {
  Random random(9);
  Subpartition sub;
  std::deque<bool> model;  // is data
  for (int i = 0; i < 5000; ++i) {
    switch (random.below(3)) {
      case 0:
        sub.addData("x");
        model.push_back(true);
        break;
      case 1:
        sub.addEvent(CancelCheckpointMarker{1});
        model.push_back(false);
        break;
      default:
        EXPECT_EQ(sub.queue.poll().has_value(), !model.empty());
        if (!model.empty()) model.pop_front();
    }
    const auto data = static_cast<int32_t>(std::count(model.begin(), model.end(), true));
    ASSERT_EQ(sub.queue.backlog(), model.empty() || !model.back() ? data : data - 1);
  }
}

}  // namespace
}  // namespace weir
