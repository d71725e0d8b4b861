#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// The keys by which salted records are partitioned. Where a key is not salted it stays as it is.
enum class SaltForm {
  kTuple,        ///< (salt, key): what two-stage aggregation does; salt 0 is hashed as the key alone
  kSaltBarKey,   ///< the text `3|key`
  kKeyBarSalt,   ///< `key|3`
  kKeyHashSalt,  ///< `key#3`
  kSaltAlone,    ///< the number
};
/// "tuple", "salt|key", "key|salt", "key#salt", "salt".
std::string_view toString(SaltForm form);
std::optional<SaltForm> saltFormNamed(std::string_view name);

/// How often a key comes, and whether it is salted.
struct KeyWeight {
  std::string key;
  int64_t count = 0;
  bool hot = false;
};

/// The load of each subtask once the records of every hot key were spread evenly over so many salts, with Flink's assignment of keys.
struct SaltBalance {
  int32_t salts = 1;
  std::vector<double> records;          ///< by subtask; an even share of a hot key is no whole number
  std::vector<int32_t> saltsOfSubtask;  ///< salted keys that it owns
  double most() const;
  double least() const;
  /// Of all subtasks: 1 is even.
  double mostOverMean() const;
  /// Infinity where a subtask has nothing.
  double mostOverLeast() const;
  int32_t subtasksWithoutSalt() const;
};

/// Requires: salts >= 1, 1 <= parallelism <= maxParallelism. `salts` 1: nothing is salted.
SaltBalance balanceSalts(std::span<const KeyWeight> keys, SaltForm form, int32_t salts, int32_t parallelism, int32_t maxParallelism);

/// Marks as hot what overloads a subtask by itself: keys with more than `share` of all records. Returns how many.
size_t markHotKeys(std::span<KeyWeight> keys, double share);

}  // namespace weir
