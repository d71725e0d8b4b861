#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/api/stream_execution_environment.h"
#include "weir/operators/file_reader.h"
#include "weir/operators/transactional_collect_sink.h"
#include "weir/scenario/scenario_file.h"

namespace weir {

/// What is left of a job file after its job has been written into an environment.
struct BuiltJob {
  std::map<std::string, Schema> schemas;  ///< by stream
  int64_t inputRecords = 0;               ///< of all sources; 0: not known
  std::map<std::string, std::shared_ptr<BadRowCounter>> badRows;       ///< by source
  std::map<std::string, std::shared_ptr<TransactionalCollectResult<Row>>> printed;  ///< by print sink, where they were to be collected
};

struct BuildOptions {
  bool collectPrints = false;  ///< print sinks gather rows instead of printing them
  bool stampPrints = false;    ///< and have one more column: when they came, in milliseconds of processing time
  double recordsPerSecond = StreamExecutionEnvironment::kUnlimited;  ///< of sources that have no rate of their own
};

/// Writes the job of a file into `env`: checks names, columns, types and expressions on the way, opens the files of the sources to see that
/// they are there. Errors name the place in the job file. The environment is to have the configuration of the file.
Result<BuiltJob> buildJob(const ScenarioFile& file, StreamExecutionEnvironment& env, FileSystem& files, const BuildOptions& options = {});

}  // namespace weir
