#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/operators/functions.h"

namespace weir {

/// 32 hex digits that no other transaction has.
std::string randomTransactionName(Random& random);

/// What a two-phase commit sink keeps in a checkpoint. Flink: TwoPhaseCommitSinkFunction.State.
template <class Transaction>
struct TransactionState {
  std::optional<Transaction> current;  ///< begun after the checkpoint's barrier; none after the end of the input
  std::vector<Transaction> pending;    ///< pre-committed, oldest first
  WEIR_FIELDS(current, pending)
};

/// A sink whose records become visible exactly once: in transactions that end with a checkpoint and are committed when the checkpoint has
/// completed, which is when all of the job is sure never to produce these records again.
///
///   start       begin.
///   snapshot n  preCommit the current transaction, which is pending for n from now on; begin another one, unless the input has ended.
///   complete n  commit what is pending for n and for older checkpoints, whose notifications may be lost, in order. Where one fails go on,
///               then throw the first failure.
///   abort n     nothing: the transaction is committed with the next checkpoint that completes.
///   restore     recoverAndCommit all pending ones, recoverAndAbort the one that was current; begin.
///   close       also after a failure: abort the current one. The pending ones belong to their checkpoints.
///
/// After the end of the input the last transaction is committed by the final checkpoint. Without checkpointing nothing can fail and come
/// back, so it is committed at the end of the input.
///
/// Derived classes say what a transaction is. commit must be repeatable: it is called again where the job failed right after it. Records
/// that are buffered are written in preCommit. Called by the task alone; may block on files; errors are thrown. Set-up before the first
/// begin goes into onStart. Flink: TwoPhaseCommitSinkFunction (legacy). Differs: no transaction timeouts.
template <class In, Serializable Transaction>
class TwoPhaseCommitSink : public OneInputOperator<In> {
 public:
  using OneInputOperator<In>::OneInputOperator;

  void finish() override {
    finished_ = true;
    if (this->environment().settings.checkpointingEnabled || !current_) return;
    preCommit(*current_);
    commit(*current_);
    current_.reset();
  }
  void notifyCheckpointComplete(int64_t checkpointId) override {
    std::exception_ptr first;
    int64_t failed = 0;
    while (!pending_.empty() && pending_.begin()->first <= checkpointId) {
      auto done = pending_.extract(pending_.begin());
      try {
        commit(done.mapped());
      } catch (const TaskCancelled&) {
        throw;
      } catch (...) {
        if (!first) {
          first = std::current_exception();
          failed = done.key();
        }
      }
    }
    if (!first) return;
    throw Throwable("org.apache.flink.util.FlinkRuntimeException",
                    "the transaction of checkpoint " + std::to_string(failed) + " could not be committed; a restart tries again",
                    Throwable::from(first));
  }
  void close() override {
    if (!current_) return;
    Transaction current = std::move(*current_);
    current_.reset();
    abort(current);
  }

 protected:
  virtual void onStart() {}
  virtual Transaction beginTransaction() = 0;
  virtual void write(Transaction& current, std::span<StreamRecord<In>> records) = 0;
  /// Everything is where commit finds it, even after a crash of this task.
  virtual void preCommit(Transaction& transaction) = 0;
  virtual void commit(Transaction& transaction) = 0;
  virtual void abort(Transaction& transaction) = 0;
  virtual void recoverAndCommit(Transaction& transaction) { commit(transaction); }
  virtual void recoverAndAbort(Transaction& transaction) { abort(transaction); }

  void process(std::span<StreamRecord<In>> records) final { write(*current_, records); }

  void onInitializeState(bool) final {
    states_ = stateOrThrow(this->operatorState().template listState<TransactionState<Transaction>>("state"));
    onStart();
    for (auto& state : states_->elements()) {
      for (Transaction& transaction : state.pending) recoverAndCommit(transaction);
      if (state.current) recoverAndAbort(*state.current);
    }
    states_->elements().clear();
    current_ = beginTransaction();
  }

  void onSnapshotState(int64_t checkpointId) final {
    if (current_) {
      preCommit(*current_);
      pending_.emplace(checkpointId, std::move(*current_));
      current_.reset();
      if (!finished_) current_ = beginTransaction();
    }
    TransactionState<Transaction> state{current_, {}};
    for (const auto& [id, transaction] : pending_) state.pending.push_back(transaction);
    states_->elements().assign(1, std::move(state));
  }

 private:
  OperatorListState<TransactionState<Transaction>>* states_ = nullptr;  ///< owned by the operator state backend
  std::optional<Transaction> current_;
  std::map<int64_t, Transaction> pending_;  ///< by checkpoint id
  bool finished_ = false;
};

}  // namespace weir
