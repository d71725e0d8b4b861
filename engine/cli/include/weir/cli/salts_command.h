#pragma once

#include <iosfwd>
#include <string>

#include "weir/base/file_system.h"
#include "weir/cli/command_line.h"

namespace weir {

/// `weir salts`: how many salts balance a given skew.
struct SaltsOptions {
  int32_t parallelism = 16;
  int32_t maxParallelism = 0;  ///< 0: Flink's default for the parallelism
  double share = 0;            ///< of the hot key; 0: not given
  std::string key = "hot";     ///< its text, with --share
  std::string weights;         ///< CSV file `key,count`; empty: none
  std::string form = "tuple";
  double target = 1.5;  ///< most over mean that is good enough
  bool json = false;
};
ExitCode showSalts(FileSystem& files, const SaltsOptions& options, std::ostream& out, bool colour);

}  // namespace weir
