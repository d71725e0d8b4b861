#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/seeds.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/random.h"
#include "weir/scenario/job_builder.h"

// Job files as people and broken disks make them: a good one with a few random changes. Each is taken or refused with its place.
namespace weir {
namespace {

using ::testing::StartsWith;

const std::string kGood = R"yaml(name: hot-key
title: A hot key
job:
  - orders: {source: generator, records: 100, rate: 6000/s, keys: {cardinality: 401, hot: {count: 1, share: 0.6}}, record-size: 60 b,
             event-time: {start: "2026-01-01T00:00:00Z", step: 1 ms, out-of-orderness: 200 ms, idleness: 1 s}}
  - rows:   {source: csv, path: in.csv, columns: {at: timestamp, key: string, amount: optional long}, bad-rows: skip,
             event-time: {column: at, watermarks: every-record}}
  - big:    {input: orders, filter: "amount > 3 and not (key in ('a', 'b'))"}
  - mapped: {input: rows, keep: all, map: {twice: "coalesce(amount, 0) * 2 + 1", name: "upper(substring(key, 1, 2)) || '!'"}}
  - sums:   {input: big, key: key, window: {sliding-event-time: {size: 1 min, slide: 10 s}, offset: 1 s, allowed-lateness: 2 s, late: late},
             aggregate: {n: count, total: {sum: amount}, p95: {percentile: amount, at: 0.95}}, two-stage: {salts: 8, hot: {share: 0.05}}}
  - both:   {join: {left: orders, right: mapped}, key: key, within: {lower: -5 s, upper: 10 s}}
  - all:    {union: [late, big], exchange: rebalance}
  - files:  {input: both, sink: csv, path: out, parallelism: 2}
  - lines:  {input: all, sink: json-lines, path: out2}
  - out:    {input: sums, sink: print}
config:
  parallelism.default: 2
  execution: {checkpointing: {interval: 1 s}}
)yaml";

/// What people put where something else belongs.
const std::vector<std::string> kPieces = {
    "",   "0",   "-1",  "99999999999999999999", "1e999",  "nan", "~",    "null", "true", "''",  "\"",  "'",    "{",
    "}",  "[",   "]",   "{}",                   "[]",     ":",   ",",    "&a ",  "*a",   "!!int ", "|", ">",    "#",
    "\t", "\r",  "\n",  "  ",                   "- ",     "---", "key",  "amount", "source", "window", "1 s", "1 ms", "0.5",
    "(",  ")",   " / 0", " + ",                 "\xff",   "\xef\xbb\xbf", "/", "..",  "%",  "ä",    std::string(1, '\0')};
const std::string kWordChars = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

/// The word that `at` lies in, or the one sign.
std::pair<size_t, size_t> wordAt(const std::string& text, size_t at) {
  const auto isWord = [&](size_t i) { return kWordChars.find(text[i]) != std::string::npos; };
  if (!isWord(at)) return {at, 1};
  size_t begin = at, end = at;
  while (begin > 0 && isWord(begin - 1)) --begin;
  while (end < text.size() && isWord(end)) ++end;
  return {begin, end - begin};
}

std::string mutated(Random& random) {
  std::string text = kGood;
  for (auto changes = random.between(1, 4); changes > 0 && !text.empty(); --changes) {
    const size_t at = random.below(text.size());
    const auto [begin, length] = wordAt(text, at);
    const std::string& piece = kPieces[random.below(kPieces.size())];
    switch (random.below(6)) {
      case 0: text.replace(begin, length, piece); break;
      case 1: text.insert(at, piece); break;
      case 2: text.erase(at, random.below(4) + 1); break;
      case 3: text.replace(begin, length, "some" + text.substr(begin, length)); break;
      case 4: text.insert(begin, text, random.below(text.size()), random.below(200)); break;
      case 5: {
        const auto [other, size] = wordAt(text, random.below(text.size()));
        text.replace(begin, length, std::string(text, other, size));
        break;
      }
    }
  }
  if (random.oneIn(50)) text.resize(random.below(text.size() + 1));
  return text;
}

/// What is wrong with it, or nothing.
std::string mistakeOf(const std::string& text) {
  MemoryFileSystem files;
  auto input = files.create("in.csv", FileSystem::Create::kTruncate);
  const std::string rows = "at,key,amount\n1000,a,1\n2000,b,\n";
  EXPECT_TRUE((*input)->append(std::as_bytes(std::span(rows))).has_value());
  EXPECT_TRUE((*input)->close().has_value());
  const auto file = ScenarioFile::parse(text, "job.yaml");
  if (file.has_error()) return file.error().message;
  StreamExecutionEnvironment env;
  const auto built = buildJob(*file, env, files);
  return built.has_error() ? built.error().message : "";
}

TEST(MutatedFiles, TheGoodOneIsTaken) { EXPECT_EQ(mistakeOf(kGood), ""); }

TEST(MutatedFiles, AreTakenOrRefusedWithTheirPlaceInOneLine) {
  uint64_t refused = 0;
  const auto seeds = testing::seeds(3000);
  for (const uint64_t seed : seeds) {
    Random random(seed);
    const std::string text = mutated(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ":\n" + text);
    std::string mistake;
    ASSERT_NO_THROW(mistake = mistakeOf(text));
    if (mistake.empty()) continue;
    ++refused;
    ASSERT_THAT(mistake, StartsWith("job.yaml:"));
    ASSERT_EQ(mistake.find('\n'), std::string::npos) << mistake;
    ASSERT_LT(mistake.size(), 1000u) << mistake;
  }
  EXPECT_GT(refused, seeds.size() / 2) << "most changes are mistakes";
}

}  // namespace
}  // namespace weir
