#pragma once

#include <memory>
#include <utility>

#include "weir/api/data_stream.h"
#include "weir/operators/broadcast.h"

namespace weir {

/// A stream that every subtask of what it is connected to gets, to keep it in broadcast state. Flink: BroadcastStream.
template <class T>
class BroadcastStream {
 public:
  explicit BroadcastStream(DataStream<T> stream) : stream_(std::move(stream)) {}
  const DataStream<T>& stream() const { return stream_; }

 private:
  DataStream<T> stream_;
};

/// A stream beside a broadcast one. Flink: BroadcastConnectedStream.
template <class T, class T2>
class BroadcastConnectedStream {
 public:
  BroadcastConnectedStream(DataStream<T> stream, BroadcastStream<T2> broadcast)
      : stream_(std::move(stream)), broadcast_(std::move(broadcast)) {}
  /// An object with processElement(const T&, ReadOnlyBroadcastContext&, Collector<Out>&) and
  /// processBroadcastElement(const T2&, BroadcastContext&, Collector<Out>&).
  template <class Out, class F>
  DataStream<Out> process(F f) {
    auto factory = makeOperatorFactory(Batching::kOneByOne, [f](OperatorSetup setup) {
      return std::make_unique<BroadcastProcessOperator<T, T2, Out, F>>(std::move(setup), f);
    });
    const auto& program = stream_.program();
    const int32_t node = program->add("Co-Process-Broadcast", std::move(factory), &ElementTypeOf<T>::instance());
    stream_.feed(node, 0);
    broadcast_.stream().feed(node, 1);
    return DataStream<Out>(program, node);
  }

 private:
  DataStream<T> stream_;
  BroadcastStream<T2> broadcast_;
};

template <class T, class KeyFn, class T2>
class KeyedBroadcastConnectedStream {
 public:
  KeyedBroadcastConnectedStream(KeyedStream<T, KeyFn> stream, BroadcastStream<T2> broadcast)
      : stream_(std::move(stream)), broadcast_(std::move(broadcast)) {}
  /// An object with processElement(const T&, KeyedReadOnlyBroadcastContext<K>&, Collector<Out>&),
  /// processBroadcastElement(const T2&, KeyedBroadcastContext<K>&, Collector<Out>&), and perhaps open and onTimer as in process() of a
  /// keyed stream.
  template <class Out, class F>
  DataStream<Out> process(F f) {
    using K = KeyOf<T, KeyFn>;
    auto factory = makeOperatorFactory(Batching::kOneByOne, [f, keyFn = stream_.keyFn()](OperatorSetup setup) {
      return std::make_unique<KeyedBroadcastProcessOperator<T, T2, Out, KeyFn, F>>(std::move(setup), keyFn, f, heapKeyedStateBackend<K>());
    });
    const auto& program = stream_.stream().program();
    const int32_t node = program->add("Co-Process-Broadcast-Keyed", std::move(factory), &ElementTypeOf<T>::instance());
    stream_.stream().feed(node, 0);
    broadcast_.stream().feed(node, 1);
    return DataStream<Out>(program, node);
  }

 private:
  KeyedStream<T, KeyFn> stream_;
  BroadcastStream<T2> broadcast_;
};

template <class T>
template <class UK, class UV, class... More>
BroadcastStream<T> DataStream<T>::broadcast(const BroadcastStateDescriptor<UK, UV>&, const More&...) const {
  return BroadcastStream<T>(broadcast());
}
template <class T>
template <class T2>
BroadcastConnectedStream<T, T2> DataStream<T>::connect(const BroadcastStream<T2>& other) const {
  return {*this, other};
}
template <class T, class KeyFn>
template <class T2>
KeyedBroadcastConnectedStream<T, KeyFn, T2> KeyedStream<T, KeyFn>::connect(const BroadcastStream<T2>& other) const {
  return {*this, other};
}

}  // namespace weir
