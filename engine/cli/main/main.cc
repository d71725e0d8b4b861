#include "examples.h"
#include "weir/cli/command_line.h"

int main(int argc, char** argv) { return weir::runCommandLine(argc, argv, weir::allExamples(), WEIR_EXAMPLE_DATA); }
