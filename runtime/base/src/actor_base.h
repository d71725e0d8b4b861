#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "weir/base/executor.h"

namespace weir {

/// What an actor is on every executor: its options, its body, and the way from cancel() to the context of the running body.
class ActorBase : public Actor {
 public:
  using Body = std::function<void(ExecutionContext&)>;
  ActorBase(ActorOptions options, Body body) : options_(std::move(options)), body_(std::move(body)) {}

  void cancel() final { stop(false); }
  void kill() { stop(true); }
  bool isDone() const final { return done_.isSet(); }
  Signal& done() final { return done_; }
  const std::string& name() const final { return options_.name; }
  const ActorOptions& options() const { return options_; }
  /// By the executor, before the body runs.
  std::shared_ptr<Reactor> takeReactor() { return std::move(options_.reactor); }

  /// On the actor: runs the body to its end and destroys it. The exception that left it; null for none or TaskCancelled.
  std::exception_ptr runBody(ExecutionContext& context);
  /// As runBody; an exception ends the process.
  void runBodyOrDie(ExecutionContext& context);
  /// After runBody, as the last thing that its waiters depend on.
  void finish() { done_.set(); }

 private:
  void stop(bool kill);
  void attach(ExecutionContext* context);

  ActorOptions options_;
  Body body_;
  Signal done_{"actor done"};
  std::mutex mutex_;
  ExecutionContext* context_ = nullptr;  ///< while the body runs; guarded by mutex_, as are the two below
  bool cancelled_ = false, killed_ = false;
};

/// The live actors of an executor in the order of their spawns. Any thread.
class ActorRegistry {
 public:
  /// Numbers the actor. While the registry is closing it is born cancelled.
  uint64_t add(std::shared_ptr<ActorBase> actor);
  void remove(uint64_t id);
  void kill(std::string_view process);
  void killAll();
  /// Blocks a thread that is no actor until `main` has been removed, then unwinds the others.
  void runToEnd(const Actor& main);
  /// Cancels everybody, now and until reopen(); see unwind().
  void beginClosing();
  void reopen();
  /// Blocks until nobody is left: cancels all, kills them after the grace.
  void unwind(Nanos grace);
  bool empty();
  std::vector<std::shared_ptr<ActorBase>> all();

 private:
  std::mutex mutex_;
  std::condition_variable removed_;
  std::map<uint64_t, std::shared_ptr<ActorBase>> live_;
  uint64_t next_ = 0;
  bool closing_ = false;
};

/// Between cancelling actors and killing those who shield themselves, in real time.
constexpr Nanos kCancelGrace = std::chrono::seconds(1);

uint64_t drawSeed();

/// Runs `body` as an actor of `executor` and hands over what left it once `drive` has returned, which ends when the actor has.
template <class Drive>
void runAsActor(Executor& executor, std::string name, const ActorBase::Body& body, const Drive& drive) {
  std::exception_ptr failure;
  drive(executor.spawn({.name = std::move(name)}, [&body, &failure](ExecutionContext& context) {
    try {
      body(context);
    } catch (const TaskCancelled&) {
    } catch (...) {
      failure = std::current_exception();
    }
  }));
  if (failure) std::rethrow_exception(failure);
}

}  // namespace weir
