#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "weir/record/data_input.h"
#include "weir/record/data_output.h"
#include "weir/record/serializer_snapshot.h"
#include "weir/record/string_value.h"

/// Inside a struct: makes it a tuple of the named members, in this order, for the wire, for state and for keys. Their names are the
/// columns of files.
#define WEIR_FIELDS(...)                                \
  auto fields() { return std::tie(__VA_ARGS__); }       \
  auto fields() const { return std::tie(__VA_ARGS__); } \
  static constexpr std::string_view fieldNames() { return #__VA_ARGS__; }

namespace weir {

/// How values of one type become bytes: Flink's layout of the same type, all static, chosen by the compiler.
///
/// Flink: TypeSerializer. Differs: no null except in std::optional; a struct has the layout of a tuple, not of a POJO.
/// A specialization has
///   kFixedSize                    bytes of every value, or 0 where they differ
///   size_t maxSize(value)         an upper bound
///   uint8_t* write(at, value)     requires maxSize(value) bytes at `at`; returns the end. Throws for a string that is no UTF-8.
///   bool read(DataInput&, into)   overwrites `into`, whose memory is reused; false where the input has failed
///   SerializerSnapshot snapshot() what a state file says about it
/// This general one only explains itself.
template <class T>
struct Serializer {
  static constexpr bool kSupported = false;
  static constexpr size_t kFixedSize = 0;
  template <class U = T>
  static constexpr size_t maxSize(const T&) {
    return unsupported<U>(), 0;
  }
  template <class U = T>
  static uint8_t* write(uint8_t* at, const T&) {
    return unsupported<U>(), at;
  }
  template <class U = T>
  static bool read(DataInput&, T&) {
    return unsupported<U>(), false;
  }
  template <class U = T>
  static SerializerSnapshot snapshot() {
    return unsupported<U>(), SerializerSnapshot{};
  }

 private:
  template <class U>
  static constexpr void unsupported() {
    static_assert(!std::same_as<U, T>,
                  "Weir cannot serialize this type: use bool, int8_t, int16_t, int32_t, int64_t, float, double, char16_t, std::string, "
                  "std::vector, std::map, std::optional, std::pair, std::tuple, or a struct with WEIR_FIELDS(member, ...)");
  }
};

/// Types that can travel between tasks and live in state.
template <class T>
concept Serializable = Serializer<T>::kSupported;

/// A struct that names its members with WEIR_FIELDS, or with a static fields(self) of its own.
template <class T>
concept HasFields = std::is_class_v<T> &&(
    requires(T& value) { T::fields(value); } || requires(T & value) { value.fields(); });

/// The members of such a struct, a pair or a tuple, as a tuple of references.
template <class T>
constexpr auto fieldsOf(T& value) {
  if constexpr (requires { T::fields(value); })
    return T::fields(value);
  else if constexpr (requires { value.fields(); })
    return value.fields();
  else
    return std::apply([](auto&... field) { return std::tie(field...); }, value);
}

namespace detail {

template <class T>
concept SignedInteger = std::signed_integral<T> && !std::same_as<T, char> && !std::same_as<T, wchar_t>;

/// Everything that is one number of fixed size on the wire.
template <class T>
struct NumberSerializer {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = sizeof(T);
  static constexpr size_t maxSize(const T&) { return sizeof(T); }
  static uint8_t* write(uint8_t* at, const T& value) { return storeBigEndian(at, value); }
  static bool read(DataInput& in, T& into) {
    into = in.template number<T>();
    return in.ok();
  }
};

inline SerializerSnapshot baseSnapshot(std::string_view type) {
  return SerializerSnapshot::simple("org.apache.flink.api.common.typeutils.base." + std::string(type) + "Serializer$" + std::string(type) +
                                    "SerializerSnapshot");
}

template <class T>
constexpr std::string_view javaNumberName() {
  if constexpr (std::floating_point<T>)
    return sizeof(T) == 4 ? "Float" : "Double";
  else
    return sizeof(T) == 1 ? "Byte" : sizeof(T) == 2 ? "Short" : sizeof(T) == 4 ? "Int" : "Long";
}

/// Fields back to back, nothing around or between them. `Tuple` is a std::tuple of references (see fieldsOf).
template <class Tuple>
struct FieldsLayout;
template <class... F>
struct FieldsLayout<std::tuple<F&...>> {
  static_assert(sizeof...(F) >= 1 && sizeof...(F) <= 25, "Weir cannot serialize this type: a tuple has 1 to 25 fields, as in Flink");
  static constexpr size_t kFixedSize =
      ((Serializer<std::remove_const_t<F>>::kFixedSize > 0) && ...) ? (Serializer<std::remove_const_t<F>>::kFixedSize + ...) : 0;
};

template <class T>
using FieldsOf = decltype(fieldsOf(std::declval<T&>()));

template <class T>
struct TupleSerializer {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = FieldsLayout<FieldsOf<T>>::kFixedSize;
  static constexpr size_t maxSize(const T& value) {
    if constexpr (kFixedSize > 0)
      return kFixedSize;
    else
      return std::apply([](const auto&... f) { return (Serializer<std::remove_cvref_t<decltype(f)>>::maxSize(f) + ...); }, fieldsOf(value));
  }
  static uint8_t* write(uint8_t* at, const T& value) {
    std::apply([&](const auto&... f) { ((at = Serializer<std::remove_cvref_t<decltype(f)>>::write(at, f)), ...); }, fieldsOf(value));
    return at;
  }
  static bool read(DataInput& in, T& into) {
    return std::apply([&](auto&... f) { return (Serializer<std::remove_cvref_t<decltype(f)>>::read(in, f) && ...); }, fieldsOf(into));
  }
  static SerializerSnapshot snapshot() {
    return []<class... F>(std::tuple<F&...>*) {
      return SerializerSnapshot::tuple({Serializer<std::remove_const_t<F>>::snapshot()...});
    }(static_cast<FieldsOf<T>*>(nullptr));
  }
};

/// A count that bytes announce: every element takes at least one byte, so a count above what is left is a lie.
inline size_t readCount(DataInput& in) {
  int32_t count = in.readInt();
  if (count >= 0 && static_cast<size_t>(count) <= in.remaining()) return static_cast<size_t>(count);
  in.fail("announces more elements than bytes");
  return 0;
}

}  // namespace detail

template <>
struct Serializer<bool> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 1;
  static constexpr size_t maxSize(bool) { return 1; }
  static uint8_t* write(uint8_t* at, bool value) { return *at = value ? 1 : 0, at + 1; }
  static bool read(DataInput& in, bool& into) {
    into = in.readBoolean();
    return in.ok();
  }
  static SerializerSnapshot snapshot() { return detail::baseSnapshot("Boolean"); }
};

/// Byte, Short, Integer, Long, Float, Double.
template <class T>
requires detail::SignedInteger<T> || std::same_as<T, float> || std::same_as<T, double>
struct Serializer<T> : detail::NumberSerializer<T> {
  static SerializerSnapshot snapshot() { return detail::baseSnapshot(detail::javaNumberName<T>()); }
};

/// Java's char: one UTF-16 code unit.
template <>
struct Serializer<char16_t> : detail::NumberSerializer<char16_t> {
  static SerializerSnapshot snapshot() { return detail::baseSnapshot("Char"); }
};

template <>
struct Serializer<std::string> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const std::string& value) { return stringValueMaxSize(value); }
  static uint8_t* write(uint8_t* at, const std::string& value) { return writeStringValue(at, value); }
  static bool read(DataInput& in, std::string& into) { return readStringValue(in, into); }
  static SerializerSnapshot snapshot() { return detail::baseSnapshot("String"); }
};

/// A string that may be null, which Flink's string layout has room for.
template <>
struct Serializer<std::optional<std::string>> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const std::optional<std::string>& value) { return value ? stringValueMaxSize(*value) : 1; }
  static uint8_t* write(uint8_t* at, const std::optional<std::string>& value) {
    if (value) return writeStringValue(at, *value);
    *at = 0;
    return at + 1;
  }
  static bool read(DataInput& in, std::optional<std::string>& into) {
    uint32_t length = readStringLength(in);
    if (in.failed()) return false;
    if (length == 0) {
      into.reset();
      return true;
    }
    if (!into) into.emplace();
    return readStringUnits(in, length - 1, *into);
  }
  static SerializerSnapshot snapshot() { return detail::baseSnapshot("String"); }
};

/// Any other type that may be null: Flink's NullableSerializer without padding, one byte (1 = null) and the value.
template <Serializable T>
struct Serializer<std::optional<T>> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const std::optional<T>& value) { return 1 + (value ? Serializer<T>::maxSize(*value) : 0); }
  static uint8_t* write(uint8_t* at, const std::optional<T>& value) {
    *at++ = value ? 0 : 1;
    return value ? Serializer<T>::write(at, *value) : at;
  }
  static bool read(DataInput& in, std::optional<T>& into) {
    bool isNull = in.readBoolean();
    if (in.failed()) return false;
    if (isNull) {
      into.reset();
      return true;
    }
    if (!into) into.emplace();
    return Serializer<T>::read(in, *into);
  }
  static SerializerSnapshot snapshot() { return SerializerSnapshot::nullable(Serializer<T>::snapshot()); }
};

/// byte[].
template <>
struct Serializer<std::vector<uint8_t>> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const std::vector<uint8_t>& value) { return 4 + value.size(); }
  static uint8_t* write(uint8_t* at, const std::vector<uint8_t>& value) {
    at = storeBigEndian(at, static_cast<int32_t>(value.size()));
    if (!value.empty()) std::memcpy(at, value.data(), value.size());
    return at + value.size();
  }
  static bool read(DataInput& in, std::vector<uint8_t>& into) {
    auto bytes = in.take(detail::readCount(in));
    into.assign(bytes.begin(), bytes.end());
    return in.ok();
  }
  static SerializerSnapshot snapshot() {
    return SerializerSnapshot::simple(
        "org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot");
  }
};

/// A list: the number of elements, then the elements.
template <Serializable T>
requires(!std::same_as<T, bool>) struct Serializer<std::vector<T>> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const std::vector<T>& value) {
    if constexpr (Serializer<T>::kFixedSize > 0) return 4 + value.size() * Serializer<T>::kFixedSize;
    size_t size = 4;
    for (const T& element : value) size += Serializer<T>::maxSize(element);
    return size;
  }
  static uint8_t* write(uint8_t* at, const std::vector<T>& value) {
    at = storeBigEndian(at, static_cast<int32_t>(value.size()));
    for (const T& element : value) at = Serializer<T>::write(at, element);
    return at;
  }
  static bool read(DataInput& in, std::vector<T>& into) {
    size_t count = detail::readCount(in);
    if (count < into.size()) into.resize(count);
    for (size_t i = 0; i < count && in.ok(); ++i) {
      if (i == into.size()) into.emplace_back();
      Serializer<T>::read(in, into[i]);
    }
    return in.ok();
  }
  static SerializerSnapshot snapshot() { return SerializerSnapshot::list(Serializer<T>::snapshot()); }
};

namespace detail {
/// The value of a map entry carries its own null flag, so an optional value needs no second one.
template <class V>
struct MapValue {
  using Plain = V;
  static const Plain* of(const V& value) { return &value; }
  static Plain* into(V& value) { return &value; }
  static bool setNull(DataInput& in, V&) { return in.fail("holds null as the value of a map; use std::optional"); }
};
template <class V>
struct MapValue<std::optional<V>> {
  using Plain = V;
  static const Plain* of(const std::optional<V>& value) { return value ? &*value : nullptr; }
  static Plain* into(std::optional<V>& value) { return &value.emplace(); }
  static bool setNull(DataInput&, std::optional<V>& value) { return value.reset(), true; }
};
}  // namespace detail

/// A map: the number of entries, then for each the key, one byte (1 = the value is null) and the value. In the order of its keys.
template <Serializable K, Serializable V, class Less>
struct Serializer<std::map<K, V, Less>> {
  using Value = detail::MapValue<V>;
  using ValueSerializer = Serializer<typename Value::Plain>;
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const std::map<K, V, Less>& map) {
    size_t size = 4;
    for (const auto& [key, value] : map) {
      auto plain = Value::of(value);
      size += Serializer<K>::maxSize(key) + 1 + (plain ? ValueSerializer::maxSize(*plain) : 0);
    }
    return size;
  }
  static uint8_t* write(uint8_t* at, const std::map<K, V, Less>& map) {
    at = storeBigEndian(at, static_cast<int32_t>(map.size()));
    for (const auto& [key, value] : map) {
      auto plain = Value::of(value);
      at = Serializer<K>::write(at, key);
      *at++ = plain ? 0 : 1;
      if (plain) at = ValueSerializer::write(at, *plain);
    }
    return at;
  }
  static bool read(DataInput& in, std::map<K, V, Less>& into) {
    into.clear();
    for (size_t left = detail::readCount(in); left > 0 && in.ok(); --left) {
      K key{};
      V value{};
      Serializer<K>::read(in, key);
      bool isNull = in.readBoolean();
      if (in.failed() || !(isNull ? Value::setNull(in, value) : ValueSerializer::read(in, *Value::into(value)))) return false;
      into.insert_or_assign(std::move(key), std::move(value));
    }
    return in.ok();
  }
  static SerializerSnapshot snapshot() { return SerializerSnapshot::map(Serializer<K>::snapshot(), ValueSerializer::snapshot()); }
};

template <Serializable A, Serializable B>
struct Serializer<std::pair<A, B>> : detail::TupleSerializer<std::pair<A, B>> {};

template <Serializable... F>
struct Serializer<std::tuple<F...>> : detail::TupleSerializer<std::tuple<F...>> {};

template <HasFields T>
struct Serializer<T> : detail::TupleSerializer<T> {};

/// The namespace of state that has none: one zero byte.
struct VoidNamespace {
  auto operator<=>(const VoidNamespace&) const = default;
};
template <>
struct Serializer<VoidNamespace> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 1;
  static constexpr size_t maxSize(const VoidNamespace&) { return 1; }
  static uint8_t* write(uint8_t* at, const VoidNamespace&) { return *at = 0, at + 1; }
  static bool read(DataInput& in, VoidNamespace&) { return in.readByte(), in.ok(); }
  static SerializerSnapshot snapshot() {
    return SerializerSnapshot::simple("org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot");
  }
};

/// Appends a value.
template <class T>
void serialize(DataOutput& out, const T& value) {
  uint8_t* at = out.prepare(Serializer<T>::maxSize(value));
  out.commit(Serializer<T>::write(at, value));
}

/// The value that `bytes` hold, all of them; `what` names them in the error.
template <class T>
Result<T> deserialize(std::span<const uint8_t> bytes, std::string_view what = "a value") {
  DataInput in(bytes);
  T value{};
  Serializer<T>::read(in, value);
  if (in.ok() && in.remaining() > 0) in.fail("has bytes behind its end");
  if (in.failed()) return in.error(what);
  return value;
}

}  // namespace weir
