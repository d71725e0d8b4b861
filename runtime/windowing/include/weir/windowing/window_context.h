#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "weir/operators/keyed.h"
#include "weir/time/internal_timer_service.h"

namespace weir {

/// What a function of windows gets beside the key and the elements. Valid during the call only. Flink: ProcessWindowFunction.Context.
template <class K>
class ProcessWindowContext {
 public:
  /// kGlobalWindow where windows have no time.
  const TimeWindow& window() const { return window_; }
  int64_t currentWatermark() const { return timers_->currentWatermark(); }
  int64_t currentProcessingTime() const { return timers_->currentProcessingTime(); }

  /// State of this key and window, by any descriptor. The function's clear() has to clear it.
  template <class Descriptor>
  auto windowState(Descriptor descriptor) {
    if (merging_) {
      throw Throwable("java.lang.UnsupportedOperationException", "Per-window state is not allowed when using merging windows.");
    }
    descriptor.per = StateNamespace::kTimeWindow;
    auto state = stateOrThrow(backend_->state(descriptor));
    state.setCurrentNamespace(window_);
    return state;
  }
  /// State of this key, all windows together.
  template <class Descriptor>
  auto globalState(const Descriptor& descriptor) {
    return stateOrThrow(backend_->state(descriptor));
  }
  /// Emits to a side output, with the window's last millisecond as its timestamp; dropped where nobody reads it.
  template <class T>
  void output(const OutputTag<T>& tag, T value) {
    const auto found = sides_->find(tag.id);
    if (found == sides_->end()) return;
    StreamRecord<T> record(std::move(value), window_.maxTimestamp());
    static_cast<Output<T>*>(found->second)->collect({&record, 1});
  }

  /// By the operator, not by user code.
  void bind(KeyedStateBackend<K>& backend, InternalTimerService<K, TimeWindow>& timers, const std::map<std::string, OutputBase*>& sides,
            bool merging) {
    backend_ = &backend;
    timers_ = &timers;
    sides_ = &sides;
    merging_ = merging;
  }
  void setWindow(const TimeWindow& window) { window_ = window; }
  const K& currentKey() const { return backend_->currentKey(); }

 private:
  KeyedStateBackend<K>* backend_ = nullptr;
  InternalTimerService<K, TimeWindow>* timers_ = nullptr;
  const std::map<std::string, OutputBase*>* sides_ = nullptr;
  TimeWindow window_;
  bool merging_ = false;
};

/// Emits what the window's state gives, as it is. Flink: PassThroughWindowFunction.
struct PassThrough {};

/// Calls a function of windows: `f(const K&, ProcessWindowContext<K>&, std::span<const E> elements, Collector<Out>&)`, or a member process
/// of that shape. With a reduce or aggregate in front, `elements` is its one result.
template <class F, class K, class E, class Out>
void callWindowFunction(F& f, ProcessWindowContext<K>& context, std::span<const E> elements, Collector<Out>& out) {
  if constexpr (std::is_same_v<F, PassThrough>) {
    for (const E& element : elements) out.collect(element);
  } else if constexpr (requires { f.process(context.currentKey(), context, elements, out); }) {
    f.process(context.currentKey(), context, elements, out);
  } else {
    std::invoke(f, context.currentKey(), context, elements, out);
  }
}

}  // namespace weir
