#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "weir/base/check.h"

namespace weir {

/// A queue whose first elements may have priority: they stand in order among themselves, in front of all others.
///
/// Flink: PrioritizedDeque. Differs: a ring with room for one element inside itself, that takes memory for the second and grows by
/// doubling, so that an idle channel is cheap and a barrier on it touches no other memory; a std::deque would start with over half a KiB.
/// Threads: none of its own. Requires: T is default constructible and nothrow movable; a moved-from T holds nothing.
template <class T>
class PrioritizedDeque {
 public:
  PrioritizedDeque() = default;
  PrioritizedDeque(PrioritizedDeque&& other) noexcept { swap(other); }
  PrioritizedDeque& operator=(PrioritizedDeque&& other) noexcept {
    swap(other);
    return *this;
  }
  void swap(PrioritizedDeque& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(slots_, other.slots_);
    std::swap(capacity_, other.capacity_);
    std::swap(head_, other.head_);
    std::swap(size_, other.size_);
    std::swap(priority_, other.priority_);
  }

  bool empty() const { return size_ == 0; }
  uint32_t size() const { return size_; }
  uint32_t prioritySize() const { return priority_; }
  bool hasPriority() const { return priority_ > 0; }
  T& at(uint32_t i) { return capacity_ == 1 ? first_ : slots_[(head_ + i) & (capacity_ - 1)]; }
  const T& at(uint32_t i) const { return capacity_ == 1 ? first_ : slots_[(head_ + i) & (capacity_ - 1)]; }
  T& front() { return at(0); }
  const T& front() const { return at(0); }
  T& back() { return at(size_ - 1); }
  const T& back() const { return at(size_ - 1); }

  void pushBack(T value) {
    if (size_ == capacity_) grow();
    at(size_++) = std::move(value);
  }
  /// Behind the elements that have priority already, in front of all others.
  void pushPriority(T value) {
    if (size_ == capacity_) grow();
    head_ = (head_ + capacity_ - 1) & (capacity_ - 1);
    for (uint32_t i = 0; i < priority_; ++i) at(i) = std::move(at(i + 1));
    at(priority_++) = std::move(value);
    ++size_;
  }
  /// Requires: not empty.
  T popFront() {
    WEIR_CHECK(size_ > 0);
    T value = std::exchange(front(), T());
    forgetFront();
    return value;
  }
  /// The same for a first element that was moved from. Requires: not empty.
  void forgetFront() {
    head_ = (head_ + 1) & (capacity_ - 1);
    --size_;
    if (priority_ > 0) --priority_;
  }
  /// Takes out the element at `i`; the others keep their order.
  T remove(uint32_t i) {
    WEIR_CHECK_LT(i, size_);
    T value = std::move(at(i));
    for (uint32_t j = i; j + 1 < size_; ++j) at(j) = std::move(at(j + 1));
    back() = T();
    --size_;
    if (i < priority_) --priority_;
    return value;
  }
  void clear() {
    while (!empty()) (void)popFront();
  }

 private:
  void grow() {
    const uint32_t capacity = capacity_ == 1 ? 4 : capacity_ * 2;
    std::unique_ptr<T[]> slots(new T[capacity]());
    for (uint32_t i = 0; i < size_; ++i) slots[i] = std::move(at(i));
    slots_ = std::move(slots);
    capacity_ = capacity;
    head_ = 0;
  }

  T first_{};                   ///< the only slot while the capacity is 1
  std::unique_ptr<T[]> slots_;  ///< those of a larger capacity
  uint32_t capacity_ = 1;       ///< a power of two
  uint32_t head_ = 0;
  uint32_t size_ = 0;
  uint32_t priority_ = 0;
};

}  // namespace weir
