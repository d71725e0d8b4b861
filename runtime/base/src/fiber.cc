#include "fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weir/base/check.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace weir {
namespace {

size_t guardBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Hands boost the stack that its Fiber owns.
struct BorrowedStack {
  char* stack;
  boost::context::stack_context allocate() const {
    boost::context::stack_context context;
    context.size = Fiber::kStackBytes;
    context.sp = stack + guardBytes() + Fiber::kStackBytes;
    return context;
  }
  void deallocate(boost::context::stack_context&) const noexcept {}
};

}  // namespace

Fiber::Fiber() {
  void* const memory = mmap(nullptr, guardBytes() + kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  WEIR_CHECK(memory != MAP_FAILED, "no memory for the stack of a fiber: {}", std::strerror(errno));
  stack_ = static_cast<char*>(memory);
  WEIR_CHECK_EQ(mprotect(stack_, guardBytes(), PROT_NONE), 0);
}

Fiber::~Fiber() {
  WEIR_CHECK(isIdle(), "a fiber is destroyed in the middle of its body");
#ifdef __SANITIZE_THREAD__
  // Its frames must not return: they were entered in its own context, and the sanitizer would count them out of this one. Nothing on the
  // stack needs to be destroyed, so that the handle is forgotten and the stack goes.
  if (inside_) {
    (void)new boost::context::fiber(std::move(inside_));
    __tsan_destroy_fiber(insideContext_);
  }
#else
  if (inside_) {
    quit_ = true;
    resume();
  }
#endif
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(stack_, guardBytes() + kStackBytes);
#endif
  munmap(stack_, guardBytes() + kStackBytes);
}

void Fiber::loop() {
  endSwitchIn();
  while (!quit_) {
    entry_(argument_);
    entry_ = nullptr;
    suspend();
  }
  beginSwitchOut();
}

// Both are flat: a call that was entered in one context and left in the other would confuse the thread sanitizer.
[[gnu::flatten]] void Fiber::resume() {
  swapExceptions();
  beginSwitchIn();
  if (inside_) {
    inside_ = std::move(inside_).resume();
  } else {
    inside_ = boost::context::fiber(std::allocator_arg, BorrowedStack{stack_}, [this](boost::context::fiber&& outside) {
      outside_ = std::move(outside);
      loop();
      return std::move(outside_);
    });
    inside_ = std::move(inside_).resume();
  }
  endSwitchOut();
  swapExceptions();
}

[[gnu::flatten]] void Fiber::suspend() {
  beginSwitchOut();
  outside_ = std::move(outside_).resume();
  endSwitchIn();
}

void Fiber::swapExceptions() {
  auto* const current = reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
  std::swap(*current, exceptions_);
}

#ifdef __SANITIZE_ADDRESS__
void Fiber::beginSwitchIn() { __sanitizer_start_switch_fiber(&outsideFake_, stack_ + guardBytes(), kStackBytes); }
void Fiber::endSwitchIn() { __sanitizer_finish_switch_fiber(insideFake_, &outerBottom_, &outerBytes_); }
// Without a place to keep it, the fake stack is given up: the fiber ends.
void Fiber::beginSwitchOut() { __sanitizer_start_switch_fiber(quit_ ? nullptr : &insideFake_, outerBottom_, outerBytes_); }
void Fiber::endSwitchOut() { __sanitizer_finish_switch_fiber(outsideFake_, nullptr, nullptr); }
#elif defined(__SANITIZE_THREAD__)
void Fiber::beginSwitchIn() {
  outerContext_ = __tsan_get_current_fiber();
  if (!insideContext_) insideContext_ = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(insideContext_, 0);
}
void Fiber::endSwitchIn() {}
void Fiber::beginSwitchOut() { __tsan_switch_to_fiber(outerContext_, 0); }
void Fiber::endSwitchOut() {}
#else
void Fiber::beginSwitchIn() {}
void Fiber::endSwitchIn() {}
void Fiber::beginSwitchOut() {}
void Fiber::endSwitchOut() {}
#endif

std::unique_ptr<Fiber> FiberPool::take() {
  if (idle_.empty()) return std::make_unique<Fiber>();
  auto fiber = std::move(idle_.back());
  idle_.pop_back();
  return fiber;
}

}  // namespace weir
