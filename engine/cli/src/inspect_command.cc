#include "weir/cli/inspect_command.h"

#include <iostream>

#include "inspect_report.h"

namespace weir {

ExitCode showInspection(FileSystem& files, const InspectOptions& options, std::ostream& out, bool colour) {
  const auto inspection = inspectCheckpoint(files, options.path, {.heaviestKeys = options.keys, .examples = options.entries});
  if (inspection.has_error()) {
    std::cerr << "weir: " << inspection.error().message << '\n';
    return kExitUsage;
  }
  if (options.json)
    printInspectionJson(out, *inspection);
  else
    printInspection(out, *inspection, options.listFiles, colour);
  return inspection->isWhole() ? kExitOk : kExitFailed;
}

}  // namespace weir
