#pragma once

#include <boost/system/result.hpp>

#include "weir/base/error.h"

namespace weir {

/// A value, or the Error that explains why there is none.
template <class T>
using Result = boost::system::result<T, Error>;

/// Result::value() of a failed result: found by argument-dependent lookup.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& where);

}  // namespace weir

#define WEIR_CONCAT_(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_(a, b)

/// Leaves the function with the error of `expr` (a Result<void> or Result<T> whose value is not needed), if it has one.
#define WEIR_TRY(expr)                                     \
  do {                                                     \
    if (auto&& weirTry = (expr); weirTry.has_error()) return weirTry.error(); \
  } while (false)

/// WEIR_ASSIGN(auto x, f()): x becomes the value of f(), or the function returns its error.
#define WEIR_ASSIGN(target, expr) WEIR_ASSIGN_(WEIR_CONCAT(weirResult, __LINE__), target, expr)
#define WEIR_ASSIGN_(name, target, expr)       \
  auto name = (expr);                          \
  if (name.has_error()) return name.error();   \
  target = std::move(*name)
