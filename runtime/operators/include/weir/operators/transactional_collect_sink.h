#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/operators/two_phase_commit_sink.h"

namespace weir {

/// A store with transactions outside the job: survives its failures. Any thread.
template <class T>
class TransactionalCollectResult {
 public:
  void begin(const std::string& id) {
    Lock lock(mutex_);
    open_[id];
    begun_.insert(id);
  }
  void add(const std::string& id, std::span<StreamRecord<T>> records) {
    Lock lock(mutex_);
    auto& values = open_.at(id);
    for (auto& record : records) values.push_back(std::move(record.value));
  }
  /// False where there never was such a transaction, or it was aborted. Again is as good as once.
  bool commit(const std::string& id) {
    Lock lock(mutex_);
    if (committed_.count(id) > 0) return true;
    auto transaction = open_.extract(id);
    if (transaction.empty()) return false;
    committed_.insert(id);
    for (T& value : transaction.mapped()) visible_.push_back(std::move(value));
    return true;
  }
  /// Whether there ever was such a transaction here.
  bool knows(const std::string& id) const {
    Lock lock(mutex_);
    return begun_.count(id) > 0;
  }
  void abort(const std::string& id) {
    Lock lock(mutex_);
    open_.erase(id);
  }
  /// What was committed, in the order of the commits.
  std::vector<T> values() const {
    Lock lock(mutex_);
    return visible_;
  }
  /// Transactions that are neither committed nor aborted.
  size_t openTransactions() const {
    Lock lock(mutex_);
    return open_.size();
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::vector<T>> open_;
  std::set<std::string> begun_, committed_;
  std::vector<T> visible_;
};

template <class T>
class TransactionalCollectOperator final : public TwoPhaseCommitSink<T, std::string> {
 public:
  TransactionalCollectOperator(OperatorSetup setup, std::shared_ptr<TransactionalCollectResult<T>> result, bool ignoresEarlierRuns)
      : TwoPhaseCommitSink<T, std::string>(std::move(setup)), result_(std::move(result)), ignoresEarlierRuns_(ignoresEarlierRuns) {}

 protected:
  std::string beginTransaction() override {
    std::string id = this->environment().attempt.toString() + "-" + randomTransactionName(this->context().random());
    result_->begin(id);
    return id;
  }
  void write(std::string& current, std::span<StreamRecord<T>> records) override { result_->add(current, records); }
  void preCommit(std::string&) override {}
  void commit(std::string& id) override {
    if (result_->commit(id)) return;
    throw Throwable("java.lang.IllegalStateException",
                    "transaction " + id + " is unknown to the store it was written to: its records are lost");
  }
  void abort(std::string& id) override { result_->abort(id); }
  void recoverAndCommit(std::string& id) override {
    if (!ignoresEarlierRuns_ || result_->knows(id)) return commit(id);
    Logger(this->environment().world.log, "org.apache.flink.streaming.api.functions.sink.TwoPhaseCommitSinkFunction")
        .info("{}: transaction {} was shown by an earlier run, or ended with it.", this->environment().taskName(), id);
  }

 private:
  std::shared_ptr<TransactionalCollectResult<T>> result_;
  const bool ignoresEarlierRuns_;
};

/// Collects records exactly once: `stream.sinkTo("collect", Batching::kBatches, TransactionalCollectSink<T>(result))`.
template <class T>
class TransactionalCollectSink {
 public:
  explicit TransactionalCollectSink(std::shared_ptr<TransactionalCollectResult<T>> result) : result_(std::move(result)) {}
  /// For a result that lives as long as one run: a checkpoint of an earlier run may name transactions whose records ended with it. Without
  /// this, a transaction that the store does not know fails the job.
  TransactionalCollectSink& ignoreEarlierRuns() { return ignoresEarlierRuns_ = true, *this; }
  std::unique_ptr<StreamOperator> operator()(OperatorSetup setup) const {
    return std::make_unique<TransactionalCollectOperator<T>>(std::move(setup), result_, ignoresEarlierRuns_);
  }

 private:
  std::shared_ptr<TransactionalCollectResult<T>> result_;
  bool ignoresEarlierRuns_ = false;
};

}  // namespace weir
