#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/error.h"
#include "weir/graph/execution_graph.h"

namespace weir {

/// A failure as the exceptions page shows it. Flink: ExceptionHistoryEntry, RootExceptionHistoryEntry.
struct ExceptionHistoryEntry {
  int64_t timestampMs = 0;
  std::shared_ptr<const Throwable> failure;
  std::string taskName;       ///< `enrich (2/2) - execution #1`; empty: a global failure
  std::string location;       ///< `tm1 @ localhost (dataPort=43433)`; empty: global, or never in a slot
  ExecutionAttemptID attempt; ///< zero: a global failure
  std::vector<ExceptionHistoryEntry> concurrent;  ///< failures that fell into the same restart
};

/// The latest failures of a job, newest last. Bounded: web.exception-history-size roots, kMaxConcurrent others under each.
class ExceptionHistory {
 public:
  explicit ExceptionHistory(size_t capacity) : capacity_(capacity) {}
  /// `isNewAttempt`: it starts a restart of its own; otherwise it goes with the latest one.
  void add(ExceptionHistoryEntry entry, bool isNewAttempt);
  const std::deque<ExceptionHistoryEntry>& entries() const { return entries_; }

 private:
  static constexpr size_t kMaxConcurrent = 100;
  size_t capacity_;
  std::deque<ExceptionHistoryEntry> entries_;
};

/// The entry of a failed task, or with no task of a global failure.
ExceptionHistoryEntry historyEntryOf(const ExecutionVertex* task, std::shared_ptr<const Throwable> failure, int64_t nowMs);

}  // namespace weir
