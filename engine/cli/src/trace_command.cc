#include "weir/cli/trace_command.h"

#include <fmt/format.h>

#include <iostream>

#include "trace_report.h"

namespace weir {

ExitCode showTrace(FileSystem& files, const TraceOptions& options, std::ostream& out, bool colour) {
  const auto wrong = [](const std::string& message) {
    std::cerr << "weir: " << message << '\n';
    return kExitUsage;
  };
  const auto trace = readBarrierTrace(files, options.file);
  if (trace.has_error()) return wrong(trace.error().message);
  auto stories = storiesOf(*trace);
  if (options.checkpoint) {
    const auto found = stories.find(*options.checkpoint);
    if (found == stories.end() && stories.empty()) return wrong(fmt::format("{}: the trace has no checkpoint", options.file));
    if (found == stories.end())
      return wrong(fmt::format("{}: the trace has no checkpoint {}, it has {} to {}", options.file, *options.checkpoint,
                               stories.begin()->first, stories.rbegin()->first));
    std::erase_if(stories, [&](const auto& entry) { return entry.first != *options.checkpoint; });
  }
  switch (options.format) {
    case TraceOptions::Format::kJson: printTraceJson(out, *trace, stories); break;
    case TraceOptions::Format::kPerfetto: printPerfetto(out, *trace, stories); break;
    case TraceOptions::Format::kText:
      if (options.checkpoint)
        printTimeline(out, *trace, stories.begin()->second, colour);
      else
        printTraceOverview(out, *trace, stories, colour);
  }
  out.flush();
  return kExitOk;
}

}  // namespace weir
