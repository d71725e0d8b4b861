#include "weir/taskmanager/output_flusher.h"

#include "weir/base/check.h"

namespace weir {

void OutputFlusher::start(Executor& executor, ActorOptions options) {
  clock_ = options.clock ? options.clock : &executor.clock();
  executor.spawn(std::move(options), [self = shared_from_this()](ExecutionContext& context) { self->loop_.run(context); });
}

void OutputFlusher::add(const ExecutionAttemptID& task, std::vector<std::shared_ptr<ResultPartition>> partitions, Millis interval) {
  WEIR_CHECK_GT(interval.count(), 0);
  loop_.post({"flush a task", [this, task, partitions = std::move(partitions), interval]() mutable {
                Entry& entry = entries_[task];
                entry = {std::move(partitions), interval, clock_->monotonic() + interval, {}};
                schedule(task, entry);
              }});
}

void OutputFlusher::remove(const ExecutionAttemptID& task) {
  loop_.post({"flush a task no more", [this, task] {
                const auto found = entries_.find(task);
                if (found == entries_.end()) return;
                loop_.cancel(found->second.timer);
                entries_.erase(found);
              }});
}

void OutputFlusher::schedule(const ExecutionAttemptID& task, Entry& entry) {
  entry.timer = loop_.postAt(Deadline::housekeeping(entry.next), {"flush", [this, task] { flush(task); }});
}

void OutputFlusher::flush(const ExecutionAttemptID& task) {
  const auto found = entries_.find(task);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  for (const auto& partition : entry.partitions) partition->flushAll();
  // Late once, it does not hurry: what was missed needs no second flush.
  entry.next = std::max(entry.next, clock_->monotonic()) + entry.interval;
  schedule(task, entry);
}

}  // namespace weir
