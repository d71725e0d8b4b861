#include "weir/base/check.h"

#include <boost/stacktrace.hpp>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace weir {

void checkFailed(const char* file, int line, const char* condition, const std::string& detail) {
  std::ostringstream stack;
  stack << boost::stacktrace::stacktrace();
  std::fprintf(stderr, "check failed at %s:%d: %s%s%s\n%s", file, line, condition, detail.empty() ? "" : ": ", detail.c_str(),
               stack.str().c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace weir
