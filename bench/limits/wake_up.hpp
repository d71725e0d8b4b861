// What a hand-off between two pinned threads takes: by any means, by futex, and a barrier through P rings. Shared by the limit programs
// and the benchmarks that state their ratio to it.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <memory>
#include <thread>
#include "common.hpp"
#include "spsc.hpp"

// One-way times. send(dir), recv(dir).
template <class Send, class Recv>
inline std::vector<uint64_t> pingpong_ns(int n, Send send, Recv recv) {
  std::thread t([&] {
    pin(1);
    for (int i = 0; i < n; i++) recv(0), send(1);
  });
  pin(0);
  std::vector<uint64_t> v;
  v.reserve(size_t(n));
  for (int i = 0; i < n; i++) {
    uint64_t t0 = now_ns();
    send(0);
    recv(1);
    if (i > n / 10) v.push_back((now_ns() - t0) / 2);
  }
  t.join();
  return v;
}
struct alignas(64) A {
  std::atomic<uint32_t> v{0};
};
inline void fwait(std::atomic<uint32_t>* p, uint32_t x) { syscall(SYS_futex, p, FUTEX_WAIT_PRIVATE, x, nullptr, nullptr, 0); }
inline void fwake(std::atomic<uint32_t>* p) { syscall(SYS_futex, p, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }
// A thread that sleeps is woken.
inline std::vector<uint64_t> futex_ns(int n) {
  static A f[2];
  return pingpong_ns(n, [](int d) { f[d].v.store(1, std::memory_order_release), fwake(&f[d].v); },
                     [](int d) {
                       while (!f[d].v.load(std::memory_order_acquire)) fwait(&f[d].v, 0);
                       f[d].v.store(0, std::memory_order_relaxed);
                     });
}
// Barrier through P rings: the producer pushes one event into each, the consumer collects all P, then replies.
inline std::vector<uint64_t> barrier_ns(size_t P, bool ready_list, int rounds) {
  std::vector<std::unique_ptr<Spsc<uint64_t>>> r;
  for (size_t i = 0; i < P; i++) r.push_back(std::make_unique<Spsc<uint64_t>>(16));
  Spsc<uint32_t> ready(4096);
  A done;
  std::thread t([&] {
    pin(1);
    for (int k = 0; k < rounds; k++) {
      size_t got = 0;
      uint64_t x;
      if (ready_list)
        while (got < P) {
          uint32_t c;
          if (ready.pop(c)) { r[c]->pop(x); got++; }
        }
      else
        for (size_t i = 0; got < P; i = i + 1 == P ? 0 : i + 1) if (r[i]->pop(x)) got++;
      done.v.store(uint32_t(k + 1), std::memory_order_release);
    }
  });
  pin(0);
  std::vector<uint64_t> v;
  for (int k = 0; k < rounds; k++) {
    uint64_t t0 = now_ns();
    for (size_t i = 0; i < P; i++) {
      r[i]->push(uint64_t(k));
      if (ready_list) while (!ready.push(uint32_t(i))) _mm_pause();
    }
    while (done.v.load(std::memory_order_acquire) != uint32_t(k + 1)) _mm_pause();
    v.push_back(now_ns() - t0);
  }
  t.join();
  return v;
}
