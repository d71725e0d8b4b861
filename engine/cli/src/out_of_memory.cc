#include "weir/cli/out_of_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "weir/cli/command_line.h"

namespace weir {
namespace {

bool isOutOfMemory() {
  const std::exception_ptr current = std::current_exception();
  if (!current) return false;
  try {
    std::rethrow_exception(current);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

[[noreturn]] void onTerminate() {
  if (!isOutOfMemory()) std::abort();
  constexpr std::string_view kWhy =
      "weir: the engine failed: out of memory; give the process more, or the job less: parallelism, taskmanager.memory.network.min, "
      "state\n";
  const auto written = ::write(STDERR_FILENO, kWhy.data(), kWhy.size());  // nothing here may allocate
  (void)written;
  std::_Exit(kExitEngine);
}

}  // namespace

void explainOutOfMemory() { std::set_terminate(onTerminate); }

}  // namespace weir
