#pragma once

#include <pthread.h>

namespace weir::bench {

/// The limits pin the thread that calls them; what is measured after them must not inherit that.
template <class F>
double unpinnedAfter(F f) {
  cpu_set_t before;
  pthread_getaffinity_np(pthread_self(), sizeof before, &before);
  const double result = f();
  pthread_setaffinity_np(pthread_self(), sizeof before, &before);
  return result;
}

}  // namespace weir::bench
