#pragma once

#include <cstdint>
#include <functional>

#include "weir/backend/time_window.h"
#include "weir/record/serializer.h"

namespace weir {

/// A moment for which a key, and within it a namespace (nothing, or a window), wants to be called. Flink: InternalTimer.
template <class K, class N>
struct InternalTimer {
  int64_t timestamp = 0;
  K key{};
  N nameSpace{};
};

/// The timers of one name and one notion of time, of all keys of a backend, each timer once; first the earliest, of equal ones the one that
/// was added first. Part of the backend's snapshots. Owned by the backend, used by the task alone. All in O(log n), and without an
/// allocation of its own per timer. Flink: KeyGroupedInternalPriorityQueue.
template <class K, class N>
class TimerQueue {
 public:
  virtual ~TimerQueue() = default;
  /// False: it was there already.
  virtual bool add(int64_t timestamp, const K& key, const N& nameSpace) = 0;
  /// False: there was none.
  virtual bool remove(int64_t timestamp, const K& key, const N& nameSpace) = 0;
  virtual bool isEmpty() const = 0;
  /// Of the first timer. Requires: not empty.
  virtual int64_t headTimestamp() const = 0;
  /// Takes the first timer into `into`, unless it is later than `time`.
  virtual bool pollUntil(int64_t time, InternalTimer<K, N>& into) = 0;
  virtual int64_t size() const = 0;
  /// Each timer, in no order. The queue must not change meanwhile.
  virtual void visit(const std::function<void(const InternalTimer<K, N>&)>& each) const = 0;
};

}  // namespace weir
