// Cost of one record on the wire: serialize, frame and read back; and of its key's hash. Bytes per second count framed bytes.
#include <benchmark/benchmark.h>

#include "weir/exchange/key_groups.h"
#include "weir/record/record_deserializer.h"

namespace weir {
namespace {

constexpr size_t kBufferBytes = 32768;

template <class T>
T sample(size_t i);
template <>
int64_t sample<int64_t>(size_t i) {
  return static_cast<int64_t>(i);
}
using KeyAndCount = std::tuple<std::string, int64_t>;
template <>
KeyAndCount sample<KeyAndCount>(size_t i) {
  return {"user-" + std::to_string(i % 1000), static_cast<int64_t>(i)};
}
struct Flight {
  std::string carrier, origin, destination;
  int32_t number = 0;
  double delay = 0;
  WEIR_FIELDS(carrier, origin, destination, number, delay)
};
template <>
Flight sample<Flight>(size_t i) {
  return {"AA", "JFK", "\u00d8RD", static_cast<int32_t>(i), 0.5};
}

/// A buffer full of framed records, and how many there are.
template <class T>
std::pair<std::vector<uint8_t>, size_t> fullBuffer() {
  DataOutput out;
  size_t count = 0;
  for (; out.size() < kBufferBytes - 256; ++count) writeFramed(out, StreamRecord<T>(sample<T>(count), 1543488224622));
  return {out.toVector(), count};
}

template <class T>
void writeRecords(benchmark::State& state) {
  std::vector<StreamRecord<T>> records;
  for (size_t i = 0; i < 1000; ++i) records.emplace_back(sample<T>(i), 1543488224622);
  std::vector<uint8_t> buffer(kBufferBytes);
  size_t next = 0, bytes = 0, count = 0;
  for (auto _ : state) {
    uint8_t* at = buffer.data();
    uint8_t* const end = at + buffer.size();
    for (; static_cast<size_t>(end - at) >= kLengthBytes + elementMaxSize(records[next]); ++count) {
      at = writeFramed(at, records[next]);
      next = next + 1 == records.size() ? 0 : next + 1;
    }
    bytes += static_cast<size_t>(at - buffer.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(count));
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}

template <class T>
void readRecordsInBatches(benchmark::State& state) {
  auto [buffer, count] = fullBuffer<T>();
  RecordDeserializer deserializer("bench");
  std::vector<StreamRecord<T>> batch(64);
  ControlElement control;
  Error error;
  size_t read = 0;
  for (auto _ : state) {
    deserializer.setNextBuffer(buffer);
    ReadResult result;
    do {
      result = readRecords<T>(deserializer, batch, control, error);
      read += result.count;
      benchmark::DoNotOptimize(batch.data());
    } while (result.stop == ReadStop::kFull);
  }
  if (read != count * static_cast<size_t>(state.iterations())) state.SkipWithError("records were lost");
  state.SetItemsProcessed(static_cast<int64_t>(read));
  state.SetBytesProcessed(static_cast<int64_t>(buffer.size()) * state.iterations());
}

BENCHMARK(writeRecords<int64_t>);
BENCHMARK(writeRecords<KeyAndCount>);
BENCHMARK(writeRecords<Flight>);
BENCHMARK(readRecordsInBatches<int64_t>);
BENCHMARK(readRecordsInBatches<KeyAndCount>);
BENCHMARK(readRecordsInBatches<Flight>);

int32_t hashByteByByte(std::string_view text) {
  uint32_t hash = 0;
  for (char c : text) hash = 31 * hash + static_cast<uint8_t>(c);
  return static_cast<int32_t>(hash);
}

template <int32_t (*Hash)(std::string_view)>
void hashStrings(benchmark::State& state) {
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) keys.emplace_back(static_cast<size_t>(state.range(0)), static_cast<char>('a' + i % 26));
  for (auto _ : state) {
    uint32_t sum = 0;
    for (const std::string& key : keys) sum += static_cast<uint32_t>(Hash(key));
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(keys.size()));
}
BENCHMARK(hashStrings<hashByteByByte>)->Name("hash byte by byte")->Arg(3)->Arg(8)->Arg(16)->Arg(32)->Arg(64)->Arg(256)->Arg(1024);
BENCHMARK(hashStrings<javaHash>)->Name("javaHash")->Arg(3)->Arg(8)->Arg(16)->Arg(32)->Arg(64)->Arg(256)->Arg(1024);

void subtaskOfKey(benchmark::State& state) {
  KeyGroupAssigner assigner(100, 4096);
  int64_t key = 0;
  uint32_t sum = 0;
  for (auto _ : state) sum += static_cast<uint32_t>(assigner.subtaskOf(key++));
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(subtaskOfKey);

}  // namespace
}  // namespace weir
