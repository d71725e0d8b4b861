#pragma once

#include <utility>
#include <vector>

#include "weir/windowing/window_context.h"

namespace weir {

/// A record of one of two streams that go through windows together. Flink: CoGroupedStreams.TaggedUnion, with its layout: a byte 1 or 2,
/// then the record.
template <class T1, class T2>
struct TaggedUnion {
  bool isOne = true;
  T1 one{};  ///< where isOne
  T2 two{};  ///< where not

  static TaggedUnion ofOne(T1 value) { return {true, std::move(value), {}}; }
  static TaggedUnion ofTwo(T2 value) { return {false, {}, std::move(value)}; }
};

template <Serializable T1, Serializable T2>
struct Serializer<TaggedUnion<T1, T2>> {
  using Union = TaggedUnion<T1, T2>;
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const Union& u) { return 1 + (u.isOne ? Serializer<T1>::maxSize(u.one) : Serializer<T2>::maxSize(u.two)); }
  static uint8_t* write(uint8_t* at, const Union& u) {
    *at++ = u.isOne ? 1 : 2;
    return u.isOne ? Serializer<T1>::write(at, u.one) : Serializer<T2>::write(at, u.two);
  }
  static bool read(DataInput& in, Union& into) {
    const uint8_t tag = in.readUnsignedByte();
    if (in.ok() && tag != 1 && tag != 2) return in.fail("holds a record of neither of two streams");
    into.isOne = tag == 1;
    return into.isOne ? Serializer<T1>::read(in, into.one) : Serializer<T2>::read(in, into.two);
  }
  static SerializerSnapshot snapshot() {
    SerializerSnapshot s;
    s.className = "org.apache.flink.streaming.api.datastream.CoGroupedStreams$UnionSerializerSnapshot";
    s.nested = {Serializer<T1>::snapshot(), Serializer<T2>::snapshot()};
    return s;
  }
};

/// The key of either stream. Both selectors give the same type.
template <class T1, class T2, class KeyFn1, class KeyFn2>
struct UnionKey {
  KeyFn1 first;
  KeyFn2 second;
  KeyOf<T1, KeyFn1> operator()(const TaggedUnion<T1, T2>& u) const {
    static_assert(std::same_as<KeyOf<T1, KeyFn1>, KeyOf<T2, KeyFn2>>, "Streams are joined on keys of the same type");
    if (u.isOne) return std::invoke(first, u.one);
    return std::invoke(second, u.two);
  }
};

/// Hands the records of both streams in a window to `f(std::span<const T1>, std::span<const T2>, Collector<Out>&)`, also where one side has
/// none. Flink: CoGroupWindowFunction.
template <class T1, class T2, class F>
struct CoGroupFunction {
  F function;
  template <class K, class Out>
  void operator()(const K&, ProcessWindowContext<K>&, std::span<const TaggedUnion<T1, T2>> elements, Collector<Out>& out) {
    std::vector<T1> ones;
    std::vector<T2> twos;
    for (const auto& element : elements) {
      if (element.isOne)
        ones.push_back(element.one);
      else
        twos.push_back(element.two);
    }
    std::invoke(function, std::span<const T1>(ones), std::span<const T2>(twos), out);
  }
};

/// Calls `f(const T1&, const T2&) -> Out`, or `f(const T1&, const T2&, Collector<Out>&)`, for each pair. Flink: JoinCoGroupFunction.
template <class T1, class T2, class F>
struct JoinFunction {
  F function;
  template <class Out>
  void operator()(std::span<const T1> ones, std::span<const T2> twos, Collector<Out>& out) {
    for (const T1& one : ones) {
      for (const T2& two : twos) {
        if constexpr (std::is_invocable_v<F&, const T1&, const T2&, Collector<Out>&>)
          std::invoke(function, one, two, out);
        else
          out.collect(std::invoke(function, one, two));
      }
    }
  }
};

}  // namespace weir
