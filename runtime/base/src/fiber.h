#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <memory>
#include <vector>

namespace weir {

/// A stack of its own on which one body after the other runs, all on the same thread.
///
/// The stack is mapped lazily, with a guard page below. Each switch swaps the C++ exception globals (what is being caught, how many are
/// in flight), because two fibers that wait inside a catch block would otherwise rethrow each other's exception, and tells the
/// sanitizers: that of addresses where the stack is now, that of threads that another context runs.
class Fiber {
 public:
  using Entry = void (*)(void*);
  static constexpr size_t kStackBytes =
#ifdef __SANITIZE_ADDRESS__
      1024 * 1024;  // its red zones make frames several times larger
#else
      256 * 1024;
#endif
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  /// No body may be unfinished.
  ~Fiber();

  /// The next resume() begins `entry(argument)`. It must not throw.
  void start(Entry entry, void* argument) {
    entry_ = entry;
    argument_ = argument;
  }
  /// From outside: runs the body until it suspends or ends.
  void resume();
  /// From inside: returns when the body is resumed.
  void suspend();
  /// No body, or one that has ended.
  bool isIdle() const { return entry_ == nullptr; }

 private:
  /// What __cxa_get_globals points to (Itanium C++ ABI).
  struct ExceptionGlobals {
    void* caught = nullptr;
    unsigned uncaught = 0;
  };
  void loop();
  void swapExceptions();
  void beginSwitchIn();
  void endSwitchIn();
  void beginSwitchOut();
  void endSwitchOut();

  boost::context::fiber inside_, outside_;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  bool quit_ = false;
  ExceptionGlobals exceptions_;  ///< of the side that does not run
  char* stack_ = nullptr;        ///< guard page first
  // For the address sanitizer: the fake stack of the side that does not run, and where the outer stack is.
  void* insideFake_ = nullptr;
  void* outsideFake_ = nullptr;
  const void* outerBottom_ = nullptr;
  size_t outerBytes_ = 0;
  // For the thread sanitizer.
  void* insideContext_ = nullptr;
  void* outerContext_ = nullptr;
};

/// Idle fibers for reuse: their stacks are mapped and warm. One thread.
class FiberPool {
 public:
  std::unique_ptr<Fiber> take();
  void give(std::unique_ptr<Fiber> fiber) { idle_.push_back(std::move(fiber)); }

 private:
  std::vector<std::unique_ptr<Fiber>> idle_;
};

}  // namespace weir
