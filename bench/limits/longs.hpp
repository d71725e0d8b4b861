// 8-byte longs over many channels, between two threads: through a ring, or over one loopback TCP connection. Behind hashagg.cpp, whose
// buffers and rings it uses.
#pragma once

// One thread writes (u32 length, i64) frames round robin into `ch` channel buffers; a full buffer goes to the reader
// thread over a ring (local) or one loopback TCP connection; the reader parses every frame.
static double longs(size_t ch, bool tcp, uint64_t n) {
  std::vector<char> mem((ch + POOL) * B);
  Spsc<Buf> q(1024);
  Spsc<char*> fr(4096);
  for (size_t i = ch; i < ch + POOL; i++) fr.push(mem.data() + i * B);
  int a = -1, b = -1;
  if (tcp) {
    int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    sockaddr_in sa{};
    sa.sin_family = AF_INET;
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t sl = sizeof sa;
    if (bind(l, reinterpret_cast<sockaddr*>(&sa), sl) || listen(l, 1)) abort();
    getsockname(l, reinterpret_cast<sockaddr*>(&sa), &sl);
    a = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(a, reinterpret_cast<sockaddr*>(&sa), sl)) abort();
    b = accept(l, nullptr, nullptr);
    setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    close(l);
  }
  struct alignas(128) Cons { uint64_t seen = 0, sum = 0; std::atomic<bool> eof{false}; };
  auto c = std::make_unique<Cons>();
  auto parse = [](const char* p, size_t len, uint64_t& seen, uint64_t& sum) {
    const char* e = p + len;
    while (p < e) {
      uint32_t l;
      uint64_t v;
      memcpy(&l, p, 4);
      memcpy(&v, p + 4, 8);
      sum += __builtin_bswap64(v);
      p += 4 + __builtin_bswap32(l);
      seen++;
    }
  };
  std::thread t([&] {
    pin(1);
    uint64_t seen = 0, sum = 0;
    if (tcp) {
      std::vector<char> in(B);
      auto rd = [&](char* p, size_t k) {
        while (k) {
          ssize_t r = recv(b, p, k, 0);
          if (r <= 0) return false;
          p += r, k -= size_t(r);
        }
        return true;
      };
      uint32_t h[4];
      while (rd(reinterpret_cast<char*>(h), 16) && rd(in.data(), h[0])) parse(in.data(), h[0], seen, sum);
    } else {
      Buf x;
      for (;;) {
        if (q.pop(x)) { parse(x.p, x.n, seen, sum); while (!fr.push(x.p)) _mm_pause(); }
        else if (c->eof.load(std::memory_order_acquire)) { while (q.pop(x)) parse(x.p, x.n, seen, sum); break; }
        else _mm_pause();
      }
    }
    c->seen = seen, c->sum = sum;
  });
  pin(0);
  std::vector<char*> base(ch), w(ch);
  for (size_t i = 0; i < ch; i++) base[i] = w[i] = mem.data() + i * B;
  auto emit = [&](size_t i) {
    size_t k = size_t(w[i] - base[i]);
    if (tcp) {
      uint32_t h[4] = {uint32_t(k), uint32_t(i), 0, 0};
      iovec v[2] = {{h, 16}, {base[i], k}};
      size_t left = 16 + k;
      while (left) {
        ssize_t r = writev(a, v, 2);
        if (r <= 0) abort();
        left -= size_t(r);
        for (auto& x : v) {
          size_t d = std::min(size_t(r), x.iov_len);
          x.iov_base = static_cast<char*>(x.iov_base) + d, x.iov_len -= d, r -= ssize_t(d);
        }
      }
    } else {
      while (!q.push({base[i], uint32_t(k), uint32_t(i)})) _mm_pause();
      while (!fr.pop(base[i])) _mm_pause();
    }
    w[i] = base[i];
  };
  double t0 = now_s();
  size_t i = 0;
  for (uint64_t k = 0; k < n; k++) {
    if (w[i] + 12 > base[i] + B) emit(i);
    uint32_t l = __builtin_bswap32(8);
    uint64_t v = __builtin_bswap64(k);
    memcpy(w[i], &l, 4);
    memcpy(w[i] + 4, &v, 8);
    w[i] += 12;
    if (++i == ch) i = 0;
  }
  for (size_t k = 0; k < ch; k++) if (w[k] > base[k]) emit(k);
  c->eof.store(true, std::memory_order_release);
  if (tcp) shutdown(a, SHUT_WR);
  t.join();
  double dt = now_s() - t0;
  if (tcp) close(a), close(b);
  if (c->seen != n || c->sum != n * (n - 1) / 2) { fprintf(stderr, "wrong sum\n"); exit(1); }
  return double(n) / dt / 1e6;
}
