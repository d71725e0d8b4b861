// The smallest file that a checkpoint can be: created, written, closed, renamed; not synced.
#pragma once
#include <fcntl.h>
#include <unistd.h>
#include "common.hpp"

inline std::vector<uint64_t> create_rename_ns(const std::string& prefix, int rounds) {
  std::vector<uint64_t> ns;
  char blk[4096] = {1};
  for (int i = 0; i < rounds; i++) {
    std::string n = prefix + std::to_string(i & 63), m = n + ".tmp";
    uint64_t t = now_ns();
    int x = open(m.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0644);
    if (write(x, blk, 4096) != 4096) abort();
    close(x);
    if (rename(m.c_str(), n.c_str())) abort();
    ns.push_back(now_ns() - t);
  }
  for (int i = 0; i < 64; i++) unlink((prefix + std::to_string(i)).c_str());
  return ns;
}
