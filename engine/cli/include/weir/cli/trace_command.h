#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "weir/base/file_system.h"
#include "weir/cli/command_line.h"

namespace weir {

/// `weir trace FILE`: what the barriers of a run did, as its trace tells (`-D weir.trace.path=FILE`).
struct TraceOptions {
  enum class Format { kText, kJson, kPerfetto };
  std::string file{};
  std::optional<int64_t> checkpoint{};  ///< none: an overview of all as text, all of them otherwise
  Format format = Format::kText;
};

ExitCode showTrace(FileSystem& files, const TraceOptions& options, std::ostream& out, bool colour);

}  // namespace weir
