#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "weir/api/stream_execution_environment.h"

namespace weir {

/// An example that has been built into a program, and what is known of its outcome.
class ExampleRun {
 public:
  virtual ~ExampleRun() = default;
  /// Records that its sources will read in all; 0: not known.
  virtual int64_t inputRecords() const = 0;
  /// The results as tables, once the job has finished.
  virtual void printResults(std::ostream& out, bool colour) const = 0;
  /// Whether the job itself has printed its results while it ran: then standard output is theirs, and all else is talk.
  virtual bool printsItself() const { return false; }
  /// The results as a JSON object, for a report; empty: none.
  virtual std::string jsonResults() const { return ""; }
  /// Compares the results with those of a plain loop over the same input, in one thread and without Weir's runtime. The error names
  /// the first difference.
  virtual Result<void> compareWithOracle() const = 0;
};

struct ExampleOptions {
  FileSystem& files;
  std::string dataDirectory;  ///< holds the files of examples/data
  double recordsPerSecond = StreamExecutionEnvironment::kUnlimited;
  bool json = false;  ///< the results go into a report
};

/// What `weir run` runs: a built-in job, or a job file made into one.
struct Example {
  std::string name;
  std::string summary;  ///< one line
  /// Writes the program into `env`. Mistakes of the user's (a missing file) are errors.
  std::function<Result<std::unique_ptr<ExampleRun>>(StreamExecutionEnvironment& env, const ExampleOptions& options)> build;
  bool isFile = false;  ///< a job file: it has no folder of data and no oracle
};

}  // namespace weir
