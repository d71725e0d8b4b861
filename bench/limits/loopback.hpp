// Loopback TCP with blocking sockets: a writer thread and a reader thread; a ping-pong of 64 bytes.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <thread>
#include "common.hpp"
namespace loopback {
static const size_t B = 32768;

static int sockbuf = 0;  // SO_SNDBUF and SO_RCVBUF when not 0 (set before connect, so the window follows)
static void pair_tcp(int& a, int& b) {
  int l = socket(AF_INET, SOCK_STREAM, 0);
  if (sockbuf) setsockopt(l, SOL_SOCKET, SO_RCVBUF, &sockbuf, sizeof sockbuf);
  sockaddr_in s{};
  s.sin_family = AF_INET;
  s.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t n = sizeof s;
  if (bind(l, reinterpret_cast<sockaddr*>(&s), n) || listen(l, 1)) abort();
  getsockname(l, reinterpret_cast<sockaddr*>(&s), &n);
  a = socket(AF_INET, SOCK_STREAM, 0);
  if (sockbuf) setsockopt(a, SOL_SOCKET, SO_SNDBUF, &sockbuf, sizeof sockbuf);
  if (connect(a, reinterpret_cast<sockaddr*>(&s), n)) abort();
  b = accept(l, nullptr, nullptr);
  int one = 1;
  setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(b, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  close(l);
}
static bool rd(int f, char* p, size_t n) {
  while (n) {
    ssize_t k = recv(f, p, n, 0);
    if (k <= 0) return false;
    p += k, n -= size_t(k);
  }
  return true;
}
static void wr(int f, const char* p, size_t n) {
  while (n) {
    ssize_t k = send(f, p, n, MSG_NOSIGNAL);
    if (k <= 0) abort();
    p += k, n -= size_t(k);
  }
}
// one connection, writer thread and reader thread
static double thr_block(size_t wsize, double secs, bool header, bool pinned) {
  int a, b;
  pair_tcp(a, b);
  uint64_t got = 0;
  double tr = 0;
  std::thread r([&] {
    if (pinned) pin(1);
    std::vector<char> buf(wsize);
    double t0 = now_s();
    while (rd(b, buf.data(), wsize)) got += wsize;
    tr = now_s() - t0;
  });
  if (pinned) pin(0);
  std::vector<char> buf(wsize, 1);
  double t0 = now_s();
  char h[16] = {};
  while (now_s() - t0 < secs)
    for (int i = 0; i < 32; i++) {
      if (!header) wr(a, buf.data(), wsize);
      else {
        iovec v[2] = {{h, 16}, {buf.data(), wsize - 16}};
        ssize_t k = writev(a, v, 2);
        if (k < ssize_t(wsize)) {
          size_t off = size_t(k);
          if (off < 16) abort();
          wr(a, buf.data() + (off - 16), wsize - off);
        }
      }
    }
  shutdown(a, SHUT_WR);
  r.join();
  close(a), close(b);
  return double(got) / tr / 1e9;
}
// One way, of `n` round trips of 64 bytes.
static std::vector<uint64_t> pp_block(int n, bool spin, bool pinned) {
  int a, b;
  pair_tcp(a, b);
  if (spin) {
    fcntl(a, F_SETFL, O_NONBLOCK);
    fcntl(b, F_SETFL, O_NONBLOCK);
  }
  auto rdn = [&](int f, char* p) {
    size_t k = 0;
    while (k < 64) {
      ssize_t r = recv(f, p + k, 64 - k, 0);
      if (r > 0) k += size_t(r);
      else if (r == 0) return false;
    }
    return true;
  };
  std::thread t([&] {
    if (pinned) pin(1);
    char m[64];
    for (int i = 0; i < n; i++) {
      if (!rdn(b, m)) return;
      wr(b, m, 64);
    }
  });
  if (pinned) pin(0);
  char m[64] = {};
  std::vector<uint64_t> v;
  for (int i = 0; i < n; i++) {
    uint64_t t0 = now_ns();
    wr(a, m, 64);
    rdn(a, m);
    if (i > n / 10) v.push_back((now_ns() - t0) / 2);
  }
  t.join();
  close(a), close(b);
  return v;
}
}  // namespace loopback
