#pragma once

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <string>

namespace weir {

/// Prints the failed check with its place and aborts. A failed check is a bug of Weir, never a mistake of its user.
[[noreturn, gnu::cold, gnu::noinline]] void checkFailed(const char* file, int line, const char* condition, const std::string& detail);

namespace detail {
template <class T>
std::string printed(const T& value) {
  if constexpr (std::is_enum_v<T>) return fmt::format("{}", static_cast<std::underlying_type_t<T>>(value));
  else if constexpr (fmt::is_formattable<T>::value) return fmt::format("{}", value);
  else return "?";
}
template <class A, class B>
[[noreturn, gnu::cold, gnu::noinline]] void checkOpFailed(const char* file, int line, const char* condition, const A& a, const B& b) {
  checkFailed(file, line, condition, printed(a) + " against " + printed(b));
}
}  // namespace detail
}  // namespace weir

/// Checks are on in every build. WEIR_CHECK(cond) or WEIR_CHECK(cond, "text {}", values...); the comparing forms print both values.
#define WEIR_CHECK(cond, ...)                                                                        \
  do {                                                                                               \
    if (__builtin_expect(!(cond), 0)) ::weir::checkFailed(__FILE__, __LINE__, #cond, fmt::format("" __VA_ARGS__)); \
  } while (false)
#define WEIR_CHECK_OP_(a, op, b)                                                                     \
  do {                                                                                               \
    auto&& weirA = (a);                                                                              \
    auto&& weirB = (b);                                                                              \
    if (__builtin_expect(!(weirA op weirB), 0))                                                      \
      ::weir::detail::checkOpFailed(__FILE__, __LINE__, #a " " #op " " #b, weirA, weirB);            \
  } while (false)
#define WEIR_CHECK_EQ(a, b) WEIR_CHECK_OP_(a, ==, b)
#define WEIR_CHECK_NE(a, b) WEIR_CHECK_OP_(a, !=, b)
#define WEIR_CHECK_LT(a, b) WEIR_CHECK_OP_(a, <, b)
#define WEIR_CHECK_LE(a, b) WEIR_CHECK_OP_(a, <=, b)
#define WEIR_CHECK_GT(a, b) WEIR_CHECK_OP_(a, >, b)
#define WEIR_CHECK_GE(a, b) WEIR_CHECK_OP_(a, >=, b)
