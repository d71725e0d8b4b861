// How fast a new file takes bytes: into the page cache, through it and synced, or past it. Shared by the limit program and the benchmarks.
#pragma once
#include <fcntl.h>
#include <unistd.h>
#include "common.hpp"

inline double file_write_gb_s(const std::string& f, size_t total, size_t chunk, bool sync, bool direct) {
  unlink(f.c_str());
  int fd = open(f.c_str(), O_CREAT | O_RDWR | (direct ? O_DIRECT : 0), 0644);
  if (fd < 0) return 0;
  char* b = static_cast<char*>(aligned_alloc(4096, chunk));
  uint64_t s = 99;
  for (size_t i = 0; i < chunk; i += 8) { uint64_t x = rng(s); memcpy(b + i, &x, 8); }
  double t = now_s();
  for (size_t o = 0; o < total; o += chunk) if (write(fd, b, chunk) != ssize_t(chunk)) abort();
  if (sync) fsync(fd);
  double r = double(total) / (now_s() - t) / 1e9;
  close(fd);
  free(b);
  return r;
}
