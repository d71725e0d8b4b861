#include "examples.h"
#include "weir/cli/command_line.h"
#include "weir/cli/out_of_memory.h"

int main(int argc, char** argv) {
  weir::explainOutOfMemory();
  return weir::runCommandLine(argc, argv, weir::allExamples(), WEIR_EXAMPLE_DATA);
}
