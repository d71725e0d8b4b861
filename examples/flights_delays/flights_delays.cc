#include "flights_delays.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>

#include "weir/cli/terminal.h"
#include "weir/config/execution_options.h"
#include "weir/operators/file_reader.h"
#include "weir/operators/transactional_collect_sink.h"

namespace weir {
namespace {

struct Flight {
  std::string carrier, tailnum;
  std::optional<int32_t> dep_delay;  // minutes, negative is early; empty: cancelled
  WEIR_FIELDS(carrier, tailnum, dep_delay)
};

/// One flight under the key that it is counted by; after the reduction, all flights of that key so far.
struct Delays {
  std::string key;
  int64_t flights = 0, departed = 0, late = 0, minutes = 0, worst = 0;
  WEIR_FIELDS(key, flights, departed, late, minutes, worst)
  bool operator==(const Delays&) const = default;

  static Delays of(std::string key, const std::optional<int32_t>& delay) {
    Delays one{std::move(key), 1};
    if (delay) one = {std::move(one.key), 1, 1, *delay > 0, *delay, std::max(0, *delay)};
    return one;
  }
  void add(const Delays& other) {
    flights += other.flights;
    departed += other.departed;
    late += other.late;
    minutes += other.minutes;
    worst = std::max(worst, other.worst);
  }
};

using Planes = std::map<std::string, std::string, std::less<>>;
using Totals = std::map<std::string, Delays>;
using Collected = TransactionalCollectResult<Delays>;

constexpr const char* kUnknownEngine = "UNKNOWN";  // no such plane, or no tail number

const std::string& engineOf(const Planes& planes, const std::string& tailnum) {
  static const std::string unknown = kUnknownEngine;
  const auto found = planes.find(tailnum);
  return found == planes.end() ? unknown : found->second;
}

/// The cells of a file without quoting, row by row: all that the oracle needs, and on purpose none of the engine's readers. An error
/// where one of `columns` is missing.
Result<std::vector<std::map<std::string, std::string>>> plainRows(FileSystem& files, const std::string& path,
                                                                  const std::vector<std::string>& columns) {
  WEIR_ASSIGN(LineReader lines, openSourceFile(files, path, {}));
  std::vector<std::string> header;
  std::vector<std::map<std::string, std::string>> rows;
  std::string_view line;
  for (int64_t number = 1; lines.next(line); ++number) {
    if (line.empty()) continue;
    std::vector<std::string> cells;
    std::stringstream in{std::string(line)};
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    if (line.ends_with(',')) cells.emplace_back();
    if (header.empty()) {
      header = cells;
      for (const std::string& column : columns)
        if (std::find(header.begin(), header.end(), column) == header.end())
          return Error{ErrorCode::kInvalidArgument,
                       fmt::format("{} has no column \"{}\"; its columns are \"{}\"", path, column, fmt::join(header, "\", \""))};
      continue;
    }
    if (cells.size() != header.size())
      return Error{ErrorCode::kInvalidArgument, fmt::format("{} line {} has {} cells where the header names {} columns; correct it", path,
                                                            number, cells.size(), header.size())};
    auto& row = rows.emplace_back();
    for (size_t i = 0; i < header.size(); ++i) row[header[i]] = cells[i];
  }
  if (lines.error()) return *lines.error();
  if (header.empty()) return Error{ErrorCode::kInvalidArgument, path + " is empty: its first line has to name the columns"};
  return rows;
}

class Run final : public ExampleRun {
 public:
  Run(FileSystem& files, std::string flightsPath, std::string planesPath, int64_t flights)
      : files_(files), flightsPath_(std::move(flightsPath)), planesPath_(std::move(planesPath)), flights_(flights) {}

  int64_t inputRecords() const override { return flights_; }

  void printResults(std::ostream& out, bool colour) const override {
    print(out, colour, "engine", totals(*byEngine));
    out << '\n';
    print(out, colour, "carrier", totals(*byCarrier));
  }

  Result<void> compareWithOracle() const override {
    WEIR_ASSIGN(const auto planeRows, plainRows(files_, planesPath_, {"tailnum", "engine"}));
    Planes planes;
    for (const auto& row : planeRows) planes[row.at("tailnum")] = row.at("engine");
    WEIR_ASSIGN(const auto flightRows, plainRows(files_, flightsPath_, {"carrier", "tailnum", "dep_delay"}));
    Totals engines, carriers;
    for (const auto& row : flightRows) {
      const std::string& delay = row.at("dep_delay");
      std::optional<int32_t> minutes;
      if (!delay.empty()) {
        const char* const end = delay.data() + delay.size();
        if (std::from_chars(delay.data(), end, minutes.emplace()).ptr != end)
          return Error{ErrorCode::kFailed, fmt::format("the oracle cannot read the delay \"{}\" in {}", delay, flightsPath_)};
      }
      const std::string& engine = engineOf(planes, row.at("tailnum"));
      add(engines, Delays::of(engine, minutes));
      add(carriers, Delays::of(row.at("carrier"), minutes));
    }
    WEIR_TRY(compare("engine", totals(*byEngine), engines));
    return compare("carrier", totals(*byCarrier), carriers);
  }

  const std::shared_ptr<Collected> byEngine = std::make_shared<Collected>(), byCarrier = std::make_shared<Collected>();

 private:
  static void add(Totals& totals, const Delays& one) {
    const auto [at, isNew] = totals.try_emplace(one.key, one);
    if (!isNew) at->second.add(one);
  }
  /// The last row of each key: rows of a key come from one subtask, in order.
  static Totals totals(const Collected& collected) {
    Totals last;
    for (const Delays& row : collected.values()) last[row.key] = row;
    return last;
  }
  static Result<void> compare(const std::string& what, const Totals& got, const Totals& expected) {
    for (const auto& [key, row] : expected) {
      const auto found = got.find(key);
      if (found == got.end()) return Error{ErrorCode::kFailed, what + " '" + key + "' is missing from the results"};
      if (!(found->second == row))
        return Error{ErrorCode::kFailed, fmt::format("{} '{}': {} flights and {} minutes of delay, the oracle says {} and {}", what, key,
                                                     found->second.flights, found->second.minutes, row.flights, row.minutes)};
    }
    if (got.size() != expected.size()) return Error{ErrorCode::kFailed, "the results have a " + what + " that the oracle does not know"};
    return {};
  }
  static void print(std::ostream& out, bool colour, const std::string& key, const Totals& totals) {
    using Align = TextTable::Align;
    TextTable table({{key}, {"flights", Align::kRight}, {"share", Align::kRight}, {"departed", Align::kRight}, {"late", Align::kRight},
                     {"mean delay", Align::kRight}, {"worst", Align::kRight}});
    int64_t all = 0;
    std::vector<Delays> rows;
    for (const auto& [name, row] : totals) {
      all += row.flights;
      rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Delays& a, const Delays& b) { return a.flights > b.flights; });
    for (const Delays& row : rows) {
      const double departed = static_cast<double>(std::max<int64_t>(1, row.departed));
      table.addRow({row.key, withThousands(row.flights),
                    fmt::format("{:.2f} %", 100.0 * static_cast<double>(row.flights) / static_cast<double>(all)),
                    withThousands(row.departed), withThousands(row.late),
                    fmt::format("{:.2f} min", static_cast<double>(row.minutes) / departed), withThousands(row.worst) + " min"});
    }
    table.print(out, colour);
  }

  FileSystem& files_;
  const std::string flightsPath_, planesPath_;
  const int64_t flights_;
};

/// Lines behind the header.
Result<int64_t> countRows(FileSystem& files, const std::string& path) {
  WEIR_ASSIGN(LineReader lines, openSourceFile(files, path, {}));
  int64_t rows = -1;
  for (std::string_view line; lines.next(line);) rows += line.empty() ? 0 : 1;
  if (lines.error()) return *lines.error();
  return std::max<int64_t>(0, rows);
}

Result<std::unique_ptr<ExampleRun>> build(StreamExecutionEnvironment& env, const ExampleOptions& options) {
  const std::string flightsPath = options.dataDirectory + "/flights.csv.gz", planesPath = options.dataDirectory + "/planes.csv";
  CsvReader<Flight> flights(flightsPath);
  WEIR_TRY(flights.validate(options.files));
  WEIR_ASSIGN(const auto planeRows, plainRows(options.files, planesPath, {"tailnum", "engine"}));
  auto planes = std::make_shared<Planes>();
  for (const auto& row : planeRows) (*planes)[row.at("tailnum")] = row.at("engine");

  if (!env.configuration().contains(kDefaultParallelism)) env.setParallelism(4);
  WEIR_ASSIGN(const int64_t rows, countRows(options.files, flightsPath));
  auto run = std::make_unique<Run>(options.files, flightsPath, planesPath, rows);
  auto source = env.fromSource(flights, "flights", options.recordsPerSecond).uid("flights").setParallelism(2);
  const auto fold = [](Delays& all, const Delays& one) { all.add(one); };

  source.map([planes](const Flight& f) { return Delays::of(engineOf(*planes, f.tailnum), f.dep_delay); })
      .name("join planes")
      .keyBy(&Delays::key)
      .reduce(fold)
      .name("by-engine")
      .uid("by-engine")
      .sinkTo("engines", Batching::kBatches, TransactionalCollectSink<Delays>(run->byEngine).ignoreEarlierRuns())
      .uid("engines");
  source.map([](const Flight& f) { return Delays::of(f.carrier, f.dep_delay); })
      .name("carrier")
      .keyBy(&Delays::key)
      .reduce(fold)
      .name("by-carrier")
      .uid("by-carrier")
      .sinkTo("carriers", Batching::kBatches, TransactionalCollectSink<Delays>(run->byCarrier).ignoreEarlierRuns())
      .uid("carriers");
  return std::unique_ptr<ExampleRun>(std::move(run));
}

}  // namespace

Example flightsDelays() {
  return {"flights-delays", "delays per engine type and per carrier over 336,776 flights joined with their planes", build};
}

}  // namespace weir
