#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "weir/record/data_output.h"
#include "weir/transport/messages.h"

namespace weir {

/// Messages on their way into a socket: the head of each frame encoded, its payload where it lies. A payload is let go of when its last
/// byte is taken.
///
/// Flink: ChannelOutboundBuffer of Netty. Threads: the owner's.
class OutputQueue {
 public:
  void push(NetworkMessage message, SocketTrace trace = {});
  /// The next bytes as pieces of memory, as many as fit into `pieces`; how many they are.
  size_t gather(std::span<iovec> pieces) const;
  /// The first `size` bytes are taken.
  void taken(size_t size);
  size_t bytes() const { return bytes_; }
  bool empty() const { return entries_.empty(); }
  void clear();

 private:
  /// Enough for data, credit and announcements: only requests and errors are longer.
  static constexpr size_t kShortHead = 64;
  struct Entry {
    std::array<uint8_t, kShortHead> shortHead;
    std::vector<uint8_t> longHead;
    size_t headSize = 0;
    Buffer payload;
    std::function<void()> onFlushed;
    std::span<const uint8_t> head() const { return {longHead.empty() ? shortHead.data() : longHead.data(), headSize}; }
    size_t size() const { return headSize + payload.size(); }
  };

  std::deque<Entry> entries_;
  size_t frontTaken_ = 0;  ///< of the first entry
  size_t bytes_ = 0;       ///< of all, without what is taken
  DataOutput scratch_;
};

}  // namespace weir
