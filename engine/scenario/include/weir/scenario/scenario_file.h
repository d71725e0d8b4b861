#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/file_system.h"
#include "weir/base/result.h"
#include "weir/config/configuration.h"
#include "weir/scenario/position.h"
#include "weir/scenario/schema.h"

namespace weir {

/// How the keys of a generator are drawn.
struct KeySpec {
  enum class Kind { kUniform, kZipf, kHot, kWeights };
  Kind kind = Kind::kUniform;
  int64_t cardinality = 100;
  double exponent = 1;     ///< zipf
  int64_t hotCount = 1;    ///< hot: so many keys
  double hotShare = 0.5;   ///< have so much of the records, and share it evenly
  Located<std::string> weights;  ///< CSV with the columns key and count
};

struct SourceSpec {
  enum class Kind { kCsv, kJsonLines, kGenerator };
  Kind kind = Kind::kCsv;
  Located<std::string> path;  ///< as written; beside the job file
  std::vector<Located<Column>> columns;
  bool skipBadRows = false;
  std::optional<double> rate;  ///< records a second; none: as fast as possible

  int64_t records = 0;  ///< generator; 0: without end
  KeySpec keys;
  int64_t recordSize = 0;
  uint64_t seed = 1;
  int64_t stepMillis = 1;     ///< event time from one record to the next
  int64_t startMillis = 0;    ///< event time of the first one
  std::optional<Located<std::string>> timestampColumn;  ///< none: no event time
  bool everyRecordWatermarks = false;                   ///< else periodic
  int64_t outOfOrdernessMillis = 0;
  int64_t idlenessMillis = 0;  ///< 0: never idle
};

struct WindowSpec {
  enum class Kind { kTumbling, kSliding, kSession, kCount };
  Kind kind = Kind::kTumbling;
  bool eventTime = true;
  int64_t sizeMillis = 0;  ///< the gap of a session, the number of records of a count window
  int64_t slideMillis = 0;
  int64_t offsetMillis = 0;
  int64_t latenessMillis = 0;
  std::optional<Located<std::string>> late;  ///< name of the stream of late records
  Position at;
};

/// One column of an aggregation.
struct AggregateSpec {
  Located<std::string> name;      ///< of the result
  Located<std::string> function;
  std::optional<Located<std::string>> column;  ///< none: of the rows themselves (count)
  std::map<std::string, Located<double>> parameters;
};

struct TwoStageSpec {
  /// All but the first are mistakes that are made by hand, for teaching and for `weir validate` to find.
  enum class Form {
    kAccumulators,    ///< ships accumulators, merges them
    kResults,         ///< aggregates the results of salted keys
    kStringKeys,      ///< the same with keys such as 3|AA, taken apart at the first |
    kMixedTime,       ///< the same with a second stage in processing time
    kSaltInKey,       ///< the same with the salt left in the key
    kSaltInSelector,  ///< one stage whose key selector draws a salt
  };
  Form form = Form::kAccumulators;
  int32_t salts = 4;
  int64_t flushMillis = 0, flushRecords = 0;  ///< without a window: when stage one ships; 0: not by this
  enum class Hot { kAll, kSketch, kListed };
  Hot hot = Hot::kAll;
  double hotShare = 0.01;  ///< sketch
  std::vector<std::string> hotKeys;
  Position at;
};

enum class Exchange { kDefault, kForward, kHash, kRebalance, kRescale, kShuffle, kBroadcast, kGlobal };

struct JoinSpec {
  Located<std::string> left, right;
  std::optional<std::pair<int64_t, int64_t>> withinMillis;  ///< an interval join: right - left between these
};

struct CostSpec {
  int64_t nanosPerRecord = 0;
  bool spin = false;
};

/// One stream of the job: a source, an operator or a sink.
struct NodeSpec {
  enum class Kind { kSource, kMap, kFilter, kAggregate, kUnion, kJoin, kSink };
  enum class Sink { kPrint, kCsv, kJsonLines, kDiscard };
  Kind kind = Kind::kSource;
  Located<std::string> name;
  std::vector<Located<std::string>> inputs;
  Exchange exchange = Exchange::kDefault;
  std::vector<Located<std::string>> key;
  std::optional<int32_t> parallelism, maxParallelism;
  std::optional<CostSpec> cost;
  std::optional<std::string> uid;

  SourceSpec source;
  bool keepColumns = false;  ///< map: the columns of the input stay
  std::vector<std::pair<Located<std::string>, Located<std::string>>> map;
  Located<std::string> filter;
  std::vector<AggregateSpec> aggregates;
  std::optional<WindowSpec> window;
  std::optional<TwoStageSpec> twoStage;
  JoinSpec join;
  Sink sink = Sink::kPrint;
  Located<std::string> path;  ///< csv, json-lines: the folder
};

/// A job file: what docs/scenario-file.md describes. A value.
class ScenarioFile {
 public:
  /// Errors name file, line, column and, for a word that is not known, the nearest that is. Streams stand behind their inputs in `job`.
  static Result<ScenarioFile> parse(std::string_view text, const std::string& file);
  static Result<ScenarioFile> read(FileSystem& files, const std::string& path);

  std::string name, title;
  std::vector<NodeSpec> job;
  Configuration config;
  std::vector<std::string> notes;  ///< what stands in the file and is not looked at, a sentence each
  std::string file;

  /// A path of the file, seen from where the command runs.
  std::string beside(const std::string& path) const;
};

}  // namespace weir
