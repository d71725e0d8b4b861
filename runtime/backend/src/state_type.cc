#include "weir/backend/state_type.h"

#include "weir/base/check.h"

namespace weir {

std::string_view toString(StateKind kind) {
  switch (kind) {
    case StateKind::kValue:
      return "VALUE";
    case StateKind::kList:
      return "LIST";
    case StateKind::kMap:
      return "MAP";
    case StateKind::kReducing:
      return "REDUCING";
    case StateKind::kAggregating:
      return "AGGREGATING";
  }
  WEIR_CHECK(false, "state kind {}", static_cast<int>(kind));
  __builtin_unreachable();
}

}  // namespace weir
