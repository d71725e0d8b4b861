#include "weir/exchange/input_channel.h"

#include <algorithm>

namespace weir {

std::optional<Millis> InputChannel::increaseBackoff() {
  if (backoff_ == Millis::zero()) backoff_ = descriptor_.initialBackoff;
  else if (backoff_ < descriptor_.maxBackoff) backoff_ = std::min(backoff_ * 2, descriptor_.maxBackoff);
  else return std::nullopt;
  return backoff_;
}

}  // namespace weir
