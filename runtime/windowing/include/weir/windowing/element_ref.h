#pragma once

#include <typeinfo>

#include "weir/base/check.h"

namespace weir {

/// A look at one record's value for those who are no templates: assigners and triggers. Valid during the call that it is handed to.
class ElementRef {
 public:
  template <class T>
  explicit ElementRef(const T& value) : value_(&value), type_(&typeid(T)) {}
  /// Requires: T is the type of the stream's records.
  template <class T>
  const T& as() const {
    WEIR_CHECK(*type_ == typeid(T), "an assigner or trigger for {} got a {}", typeid(T).name(), type_->name());
    return *static_cast<const T*>(value_);
  }

 private:
  const void* value_;
  const std::type_info* type_;
};

/// Java's long addition and subtraction: they wrap around.
constexpr int64_t plusLong(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
constexpr int64_t minusLong(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }

}  // namespace weir
