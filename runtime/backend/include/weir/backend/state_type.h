#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "weir/record/serializer.h"

namespace weir {

/// What kind of state a name stands for; a state file names it. Flink: StateDescriptor.Type.
enum class StateKind { kValue, kList, kMap, kReducing, kAggregating };
/// "VALUE", "LIST", ...
std::string_view toString(StateKind kind);

/// What a state is kept per, besides its key: nothing, or a window.
enum class StateNamespace { kVoid, kTimeWindow };

/// The stored type of one state, erased: what a backend needs to keep values in its own memory, copy them on write, and take them to and
/// from files. Immutable, any thread. None of it is called on the way to a value that exists.
class StateType {
 public:
  virtual ~StateType() = default;

  StateKind kind() const { return kind_; }
  size_t size() const { return size_; }
  size_t alignment() const { return alignment_; }
  /// Copying is memcpy and destroying is nothing.
  bool isTrivial() const { return trivial_; }
  const std::type_info& type() const { return *type_; }

  /// The value of a key that was never written.
  virtual void construct(void* at) const = 0;
  virtual void copy(void* at, const void* from) const = 0;
  virtual void destroy(void* at) const = 0;
  virtual void write(const void* value, DataOutput& out) const = 0;
  /// Overwrites `into`, a constructed value. False where the input has failed.
  virtual bool read(DataInput& in, void* into) const = 0;
  virtual SerializerSnapshot snapshot() const = 0;

 protected:
  StateType(StateKind kind, size_t size, size_t alignment, bool trivial, const std::type_info& type)
      : kind_(kind), size_(size), alignment_(alignment), trivial_(trivial), type_(&type) {}

 private:
  StateKind kind_;
  size_t size_, alignment_;
  bool trivial_;
  const std::type_info* type_;
};

/// A collection that is copied when it is changed while somebody else (a running snapshot) still holds it. Copying one costs a count.
/// Changed by one thread; the copies may be read and destroyed by others.
template <class T>
class CopyOnWrite {
 public:
  CopyOnWrite() = default;
  CopyOnWrite(const CopyOnWrite& other) : node_(other.node_) {
    if (node_) node_->references.fetch_add(1, std::memory_order_relaxed);
  }
  CopyOnWrite(CopyOnWrite&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  CopyOnWrite& operator=(CopyOnWrite other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~CopyOnWrite() { release(); }

  const T& get() const { return node_ ? node_->value : empty(); }
  T& mutate() {
    if (!node_) {
      node_ = new Node;
    } else if (node_->references.load(std::memory_order_acquire) > 1) {
      Node* mine = new Node{{1}, node_->value};
      release();
      node_ = mine;
    }
    return node_->value;
  }

 private:
  struct Node {
    std::atomic<int> references{1};
    T value{};
  };
  static const T& empty() {
    static const T nothing{};
    return nothing;
  }
  void release() {
    if (node_ && node_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node_;
  }
  Node* node_ = nullptr;
};

template <Serializable T>
struct Serializer<CopyOnWrite<T>> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const CopyOnWrite<T>& value) { return Serializer<T>::maxSize(value.get()); }
  static uint8_t* write(uint8_t* at, const CopyOnWrite<T>& value) { return Serializer<T>::write(at, value.get()); }
  static bool read(DataInput& in, CopyOnWrite<T>& into) { return Serializer<T>::read(in, into.mutate()); }
  static SerializerSnapshot snapshot() { return Serializer<T>::snapshot(); }
};

/// The StateType of a type with a Serializer.
template <class T>
class StateTypeOf final : public StateType {
 public:
  explicit StateTypeOf(StateKind kind, T initial = T{})
      : StateType(kind, sizeof(T), alignof(T), std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>, typeid(T)),
        initial_(std::move(initial)) {}
  void construct(void* at) const override { new (at) T(initial_); }
  void copy(void* at, const void* from) const override { new (at) T(*static_cast<const T*>(from)); }
  void destroy(void* at) const override { static_cast<T*>(at)->~T(); }
  void write(const void* value, DataOutput& out) const override { serialize(out, *static_cast<const T*>(value)); }
  bool read(DataInput& in, void* into) const override { return Serializer<T>::read(in, *static_cast<T*>(into)); }
  SerializerSnapshot snapshot() const override { return Serializer<T>::snapshot(); }

 private:
  T initial_;
};

}  // namespace weir
