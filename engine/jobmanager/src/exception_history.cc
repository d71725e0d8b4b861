#include "weir/jobmanager/exception_history.h"

namespace weir {

void ExceptionHistory::add(ExceptionHistoryEntry entry, bool isNewAttempt) {
  if (!isNewAttempt && !entries_.empty()) {
    auto& concurrent = entries_.back().concurrent;
    if (concurrent.size() < kMaxConcurrent) concurrent.push_back(std::move(entry));
    return;
  }
  entries_.push_back(std::move(entry));
  if (entries_.size() > capacity_) entries_.pop_front();
}

ExceptionHistoryEntry historyEntryOf(const ExecutionVertex* task, std::shared_ptr<const Throwable> failure, int64_t nowMs) {
  ExceptionHistoryEntry entry;
  entry.timestampMs = nowMs;
  entry.failure = std::move(failure);
  if (task) {
    entry.taskName = fmt::format("{} - execution #{}", task->name, task->current.id.attempt);
    entry.location = task->current.location;
    entry.attempt = task->current.id;
  }
  return entry;
}

}  // namespace weir
