#include "weir/aggregate/aggregate_function.h"

namespace weir {

std::string toString(const AggregateTraits& traits) {
  std::string text;
  auto say = [&](bool holds, const char* name) {
    if (!holds) return;
    if (!text.empty()) text += ", ";
    text += name;
  };
  say(traits.associative, "associative");
  say(traits.commutative, "commutative");
  say(traits.mergeable, "mergeable");
  say(traits.exact, "exact");
  say(traits.orderSensitive, "order-sensitive");
  return text.empty() ? "no promise" : text;
}

}  // namespace weir
