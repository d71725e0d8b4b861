#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace weir {

/// Which memory running snapshots still read. Time of a backend is cut into epochs: each snapshot ends one. A chunk carries the epoch in
/// which it was made, so that a snapshot sees exactly the chunks made in its epoch or before, and taking one counts no references.
///
/// Used by the task; a snapshot job only marks its end, from any thread.
class SnapshotEpochs {
 public:
  struct Running {
    explicit Running(uint64_t e) : epoch(e) {}
    const uint64_t epoch;
    std::atomic<bool> done{false};
  };

  /// What is made now carries this epoch.
  uint64_t current() const { return current_; }
  /// Memory of this epoch and before is read by a snapshot, as far as known: see refresh().
  uint64_t sharedUpTo() const { return sharedUpTo_; }

  std::shared_ptr<Running> begin() {
    refresh();
    running_.push_back(std::make_shared<Running>(current_));
    sharedUpTo_ = current_++;
    return running_.back();
  }

  /// Takes note of snapshots that have ended.
  void refresh() {
    ended_ += std::erase_if(running_, [](const auto& r) { return r->done.load(std::memory_order_acquire); });
    sharedUpTo_ = running_.empty() ? 0 : running_.back()->epoch;
  }

  /// Snapshots that have ended so far: who has replaced memory looks again when it grows.
  uint64_t ended() const { return ended_; }

  /// Whether a running snapshot sees memory made in epoch `made` and replaced in epoch `replaced`.
  bool isRead(uint64_t made, uint64_t replaced) const {
    return std::any_of(running_.begin(), running_.end(), [&](const auto& r) { return r->epoch >= made && r->epoch < replaced; });
  }

 private:
  uint64_t current_ = 1;
  uint64_t sharedUpTo_ = 0;
  uint64_t ended_ = 0;
  std::vector<std::shared_ptr<Running>> running_;  ///< by epoch
};

}  // namespace weir
