#include <numeric>

#include "support/golden_dir.h"
#include "support/gzip.h"
#include "unit/operators/file_reader_fixture.h"
#include "weir/base/real_file_system.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FileReaderSplitsTest : public testing::FileReaderTest {
 protected:
  using Numbers = CsvReader<int64_t>;
  /// Rows 0 to rows - 1.
  Numbers numbers(int64_t rows) {
    std::string text = "value\n";
    for (int64_t i = 0; i < rows; ++i) text += std::to_string(i) + "\n";
    machine_.write("/numbers.csv", text);
    return Numbers("/numbers.csv", {"value"});
  }
  static std::vector<int64_t> sequence(int64_t rows) {
    std::vector<int64_t> values(static_cast<size_t>(rows));
    std::iota(values.begin(), values.end(), 0);
    return values;
  }
};

TEST_F(FileReaderSplitsTest, RowsAreDealtToTheSubtasksInTurn) {
  const auto reader = numbers(8);
  std::vector<std::vector<int64_t>> bySubtask;
  for (int32_t subtask = 0; subtask < 3; ++subtask) {
    auto harness = source(reader, {.subtask = subtask, .parallelism = 3});
    harness->start();
    while (poll(*harness)) continue;
    bySubtask.push_back(harness->output());
  }
  EXPECT_THAT(bySubtask, ElementsAre(ElementsAre(0, 3, 6), ElementsAre(1, 4, 7), ElementsAre(2, 5)));
}

TEST_F(FileReaderSplitsTest, SubtaskWithSeveralSplitsReadsTheirRowsInTheOrderOfTheFile) {
  auto harness = source(numbers(10).splits(4), {.subtask = 0, .parallelism = 2});
  harness->start();
  while (poll(*harness)) continue;
  EXPECT_THAT(harness->output(), ElementsAre(0, 2, 4, 6, 8));
}

TEST_F(FileReaderSplitsTest, SubtaskWithoutSplitsEndsAndDoesNotOpenTheFile) {
  auto harness = source(Numbers("/nothing.csv", {"value"}));
  harness->restore({});
  EXPECT_FALSE(poll(*harness));
  EXPECT_THAT(harness->output(), IsEmpty());
}

TEST_F(FileReaderSplitsTest, BatchIsNeverLargerThanAskedFor) {
  auto harness = source(numbers(10));
  harness->start();
  for (size_t i = 1; i <= 10; ++i) {
    poll(*harness, 1);
    EXPECT_THAT(harness->output(), SizeIs(i));
  }
}

TEST_F(FileReaderSplitsTest, PassingManyRowsOfOthersGivesTheTaskATurnInBetween) {
  auto harness = source(numbers(100'000), {.subtask = 1, .parallelism = 50'000});
  harness->start();
  int polls = 1;
  while (poll(*harness)) ++polls;
  EXPECT_THAT(harness->output(), ElementsAre(1, 50'001));
  EXPECT_GT(polls, 50);
}

TEST_F(FileReaderSplitsTest, SkippedRowsCountForThePositionSoThatARestoreRepeatsAndLosesNothing) {
  machine_.write("/numbers.csv", "value\n0\nx\n2\n3\ny\n5\n");
  auto reader = Numbers("/numbers.csv", {"value"}).badRows(BadRows::kSkipAndCount);
  auto first = source(reader);
  first->start();
  poll(*first, 2);
  const auto state = first->snapshot(1);
  auto second = source(reader);
  second->restore(state);
  while (poll(*second)) continue;
  EXPECT_THAT(first->output(), ElementsAre(0, 2));
  EXPECT_THAT(second->output(), ElementsAre(3, 5));
}

TEST_F(FileReaderSplitsTest, SplitsThatDoNotBelongTogetherAreRefused) {
  std::vector<SourceSplit> mixed{{0, 2, 0}, {1, 3, 0}}, twice{{0, 2, 0}, {0, 2, 1}}, outside{{2, 2, 0}};
  EXPECT_THROW(RowDealer{mixed}, Throwable);
  EXPECT_THROW(RowDealer{twice}, Throwable);
  EXPECT_THROW(RowDealer{outside}, Throwable);
}

/// Any number of splits, any parallelism, snapshots and rescales at any time: each row exactly once, in order within a split.
TEST_F(FileReaderSplitsTest, EachRowExactlyOnceOverAnyRescaling) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const int64_t rows = random.between(0, 300);
    auto reader = numbers(rows).splits(static_cast<int32_t>(random.between(0, 9)));
    int32_t parallelism = static_cast<int32_t>(random.between(1, 5));
    std::vector<OperatorSubtaskState> states;
    std::vector<int64_t> emitted;
    int64_t checkpoint = 0;
    for (bool more = true; more;) {
      std::vector<OperatorSubtaskState> next;
      more = false;
      for (int32_t subtask = 0; subtask < parallelism; ++subtask) {
        auto harness = source(reader, {.subtask = subtask, .parallelism = parallelism});
        if (states.empty())
          harness->start();
        else
          harness->restore(states[static_cast<size_t>(subtask)]);
        for (uint64_t polls = random.below(4); polls > 0; --polls) poll(*harness, random.below(kMaxBatch) + 1);
        next.push_back(harness->snapshot(++checkpoint));
        emitted.insert(emitted.end(), harness->output().begin(), harness->output().end());
        for (size_t after = random.below(3); after > 0; --after) poll(*harness);  // lost: it is not in the snapshot
        while (poll(*harness)) continue;
        more |= harness->output().size() > 0;
      }
      parallelism = static_cast<int32_t>(random.between(1, 5));
      states = testing::rescaled(next, parallelism);
    }
    std::sort(emitted.begin(), emitted.end());
    ASSERT_EQ(emitted, sequence(rows)) << "seed " << seed;
  }
}

TEST_F(FileReaderSplitsTest, TextLinesAreStrings) {
  machine_.write("/text", testing::gzip("In the beginning\r\n\nGod\n"));
  EXPECT_THAT(readAll(TextLineReader("/text")), ElementsAre("In the beginning", "", "God"));
  machine_.write("/text", "fine\n\xff\n");
  EXPECT_THAT(failure(TextLineReader("/text")), HasSubstr("/text line 2 is not valid UTF-8"));
}

struct Departure {
  int64_t sched_ms = 0;
  std::string carrier;
  int32_t flight = 0;
  std::string tailnum, origin, dest;
  std::optional<int32_t> dep_delay;
  int32_t distance = 0;
  WEIR_FIELDS(sched_ms, carrier, flight, tailnum, origin, dest, dep_delay, distance)
};

TEST_F(FileReaderSplitsTest, ReadsAllFlightsOfNewYork) {
  RealFileSystem disk;
  CsvReader<Departure> reader(golden::folder() + "/../../examples/data/flights.csv.gz");
  ASSERT_FALSE(reader.validate(disk).has_error()) << reader.validate(disk).error().message;
  testing::NoWaitContext context;
  std::vector<SourceSplit> splits{{0, 1, 0}};
  reader.open({disk, context}, splits);
  std::vector<StreamRecord<Departure>> batch(kMaxBatch);
  int64_t rows = 0, cancelled = 0, noTail = 0, delay = 0, distance = 0, numbers = 0, first = INT64_MAX, last = 0, ewr = 0;
  for (bool end = false; !end;) {
    const size_t count = reader.poll(batch, end);
    rows += static_cast<int64_t>(count);
    for (size_t i = 0; i < count; ++i) {
      const Departure& d = batch[i].value;
      cancelled += !d.dep_delay;
      noTail += d.tailnum.empty();
      delay += d.dep_delay.value_or(0);
      distance += d.distance;
      numbers += d.flight;
      first = std::min(first, d.sched_ms);
      last = std::max(last, d.sched_ms);
      ewr += d.origin == "EWR";
    }
  }
  EXPECT_EQ(rows, 336'776);
  EXPECT_EQ(splits[0].position, 336'776);
  EXPECT_EQ(cancelled, 8'255);
  EXPECT_EQ(noTail, 2'512);
  EXPECT_EQ(first, 1'357'035'300'000);
  EXPECT_EQ(last, 1'388'552'340'000);
  EXPECT_EQ(delay, 4152200);
  EXPECT_EQ(distance, 350217607);
  EXPECT_EQ(numbers, 664096549);
  EXPECT_EQ(ewr, 120835);
}

}  // namespace
}  // namespace weir
