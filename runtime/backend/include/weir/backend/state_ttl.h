#pragma once

#include <cstdint>
#include <utility>

#include "weir/base/clock.h"
#include "weir/record/serializer.h"

namespace weir {

/// How long a state lives after it was last touched. Kept in a descriptor. Flink: StateTtlConfig; its UpdateType Disabled is no config
/// here.
struct StateTtlConfig {
  enum class UpdateType { kOnCreateAndWrite, kOnReadAndWrite };
  enum class StateVisibility {
    kNeverReturnExpired,
    kReturnExpiredIfNotCleanedUp,  ///< what has expired is still given once, by the access that finds and removes it
  };
  int64_t ttlMillis = 0;
  UpdateType updateType = UpdateType::kOnCreateAndWrite;
  StateVisibility visibility = StateVisibility::kNeverReturnExpired;
};

/// A value with time to live, as it is stored: an element of a list and an entry of a map have an age of their own. Flink: TtlValue.
template <Serializable V>
struct TtlValue {
  int64_t lastAccess = 0;  ///< epoch milliseconds
  V value{};
};
template <Serializable V>
struct Serializer<TtlValue<V>> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = Serializer<V>::kFixedSize > 0 ? 8 + Serializer<V>::kFixedSize : 0;
  static size_t maxSize(const TtlValue<V>& stored) { return 8 + Serializer<V>::maxSize(stored.value); }
  static uint8_t* write(uint8_t* at, const TtlValue<V>& stored) {
    return Serializer<V>::write(storeBigEndian(at, stored.lastAccess), stored.value);
  }
  static bool read(DataInput& in, TtlValue<V>& into) {
    into.lastAccess = in.readLong();
    return in.ok() && Serializer<V>::read(in, into.value);
  }
  static SerializerSnapshot snapshot() { return SerializerSnapshot::ttl(Serializer<V>::snapshot()); }
};

namespace detail {
/// The clock and the rule of one state; off where the descriptor has none.
class Ttl {
 public:
  Ttl() = default;
  Ttl(const StateTtlConfig& config, const Clock& clock) : config_(config), clock_(&clock) {}
  explicit operator bool() const { return clock_ != nullptr; }
  int64_t now() const { return clock_->epochMillis(); }
  bool isExpired(int64_t lastAccess) const {
    int64_t end;
    return !__builtin_add_overflow(lastAccess, config_.ttlMillis, &end) && end <= now();
  }
  bool updatesOnRead() const { return config_.updateType == StateTtlConfig::UpdateType::kOnReadAndWrite; }
  bool returnsExpired() const { return config_.visibility == StateTtlConfig::StateVisibility::kReturnExpiredIfNotCleanedUp; }

 private:
  StateTtlConfig config_;
  const Clock* clock_ = nullptr;
};
}  // namespace detail

}  // namespace weir
