#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/operators/file_reader.h"
#include "weir/scenario/scenario_file.h"

namespace weir {

/// Reads the rows of a CSV or JSON-lines file by a schema, and their event time from one of its columns. Each subtask reads the whole file
/// and takes the rows of its splits. Fulfils SourceReader.
template <class Format>
class RowFileSource {
 public:
  using Element = Row;
  static constexpr bool kBatches = true;

  RowFileSource(std::string path, Schema schema, std::optional<size_t> timestampColumn, BadRows badRows);
  /// Finds mistakes before anything runs: opens the file, looks for the columns, and where bad rows fail also reads the first row.
  Result<void> validate(FileSystem& files) const;
  const std::shared_ptr<BadRowCounter>& badRowCounter() const { return counter_; }

  int32_t numberOfSplits(int32_t parallelism) const { return parallelism; }
  void open(SourceReaderContext context, std::vector<SourceSplit>& splits);
  size_t poll(std::span<StreamRecord<Row>> into, bool& end);
  void close() { scan_.reset(); }

 private:
  struct Scan {
    std::optional<ActorFileSystem> files;
    std::optional<LineReader> lines;
    std::optional<RowDealer> dealer;
    Format format;
    std::vector<Cell> cells;
  };
  /// Rows of other subtasks are passed quickly, but mail has to be looked at.
  static constexpr size_t kMaxRowsPerPoll = 1024;

  Result<void> begin(FileSystem& files, Scan& scan) const;
  static Result<void> ended(const Scan& scan);
  bool read(Scan& scan, std::string_view row, StreamRecord<Row>& into, std::string& problem) const;

  std::string path_;
  Schema schema_;
  std::optional<size_t> timestampColumn_;
  BadRows badRows_;
  std::shared_ptr<BadRowCounter> counter_ = std::make_shared<BadRowCounter>();  ///< shared by all copies
  std::shared_ptr<Scan> scan_;  ///< of this copy, from open to close
};

/// Draws the key of a record from its number alone, so that a run can be repeated, restored and split. Immutable, any thread.
class KeyDistribution {
 public:
  virtual ~KeyDistribution() = default;
  /// `draw`: 64 random bits.
  virtual void key(uint64_t draw, std::string& into) const = 0;
  /// `files`: for weights. An error names the file.
  static Result<std::shared_ptr<const KeyDistribution>> create(const KeySpec& spec, const ScenarioFile& file, FileSystem& files);
};

/// Makes records by their number: key, amount (1 to 100), ts, number and, where the record size says so, payload. Fulfils SourceReader.
class RowGenerator {
 public:
  using Element = Row;
  static constexpr bool kBatches = true;

  RowGenerator(const SourceSpec& spec, std::shared_ptr<const KeyDistribution> keys);
  int32_t numberOfSplits(int32_t parallelism) const { return parallelism; }
  void open(SourceReaderContext, std::vector<SourceSplit>& splits) { splits_ = &splits; }
  size_t poll(std::span<StreamRecord<Row>> into, bool& end);

 private:
  void make(int64_t number, StreamRecord<Row>& into) const;

  int64_t count_, stepMillis_, startMillis_, outOfOrdernessMillis_, recordSize_;
  uint64_t seed_;
  std::shared_ptr<const KeyDistribution> keys_;
  std::vector<SourceSplit>* splits_ = nullptr;
  size_t current_ = 0;  ///< splits before it are at their end
};

}  // namespace weir
