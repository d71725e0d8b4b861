#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weir/base/executor.h"

namespace weir {

/// A deadline in a TimerHeap; base of whoever waits for it.
struct TimerNode {
  Nanos at{};
  uint64_t tie = 0;  ///< decides between equal deadlines
  Deadline::Kind kind = Deadline::Kind::kWork;
  int32_t heapIndex = -1;
};

/// A binary heap of nodes that know their place, so that who is woken before his deadline can leave it: a wait for a buffer with a
/// deadline far away is ended by its signal most of the time, and would otherwise leave its deadline behind. One thread.
class TimerHeap {
 public:
  bool empty() const { return nodes_.empty(); }
  bool hasWork() const { return work_ > 0; }
  TimerNode* top() const { return nodes_.front(); }

  void push(TimerNode* node) {
    work_ += node->kind == Deadline::Kind::kWork;
    nodes_.push_back(node);
    up(nodes_.size() - 1);
  }
  void remove(TimerNode* node) {
    const auto hole = static_cast<size_t>(node->heapIndex);
    work_ -= node->kind == Deadline::Kind::kWork;
    node->heapIndex = -1;
    TimerNode* const last = nodes_.back();
    nodes_.pop_back();
    if (last == node) return;
    nodes_[hole] = last;
    up(hole);
    down(static_cast<size_t>(last->heapIndex));
  }

 private:
  static bool before(const TimerNode* a, const TimerNode* b) { return a->at != b->at ? a->at < b->at : a->tie < b->tie; }
  void place(size_t i, TimerNode* node) {
    nodes_[i] = node;
    node->heapIndex = static_cast<int32_t>(i);
  }
  void up(size_t i) {
    TimerNode* const node = nodes_[i];
    for (; i > 0 && before(node, nodes_[(i - 1) / 2]); i = (i - 1) / 2) place(i, nodes_[(i - 1) / 2]);
    place(i, node);
  }
  void down(size_t i) {
    TimerNode* const node = nodes_[i];
    for (size_t child = 2 * i + 1; child < nodes_.size(); child = 2 * i + 1) {
      if (child + 1 < nodes_.size() && before(nodes_[child + 1], nodes_[child])) ++child;
      if (!before(nodes_[child], node)) break;
      place(i, nodes_[child]);
      i = child;
    }
    place(i, node);
  }

  std::vector<TimerNode*> nodes_;
  int work_ = 0;
};

}  // namespace weir
