#include "actor_base.h"

#include <algorithm>
#include <exception>
#include <new>
#include <random>

#include "weir/base/check.h"

namespace weir {

std::exception_ptr ActorBase::runBody(ExecutionContext& context) {
  std::exception_ptr failure;
  attach(&context);
  try {
    body_(context);
  } catch (const TaskCancelled&) {
  } catch (...) {
    failure = std::current_exception();
  }
  body_ = nullptr;
  attach(nullptr);
  return failure;
}

void ActorBase::runBodyOrDie(ExecutionContext& context) {
  const auto failure = runBody(context);
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    std::terminate();  // no bug: whoever assembles the process says what it means
  } catch (...) {
    checkFailed(__FILE__, __LINE__, "no exception leaves an actor", ActorFailure(name(), failure).what());
  }
}

void ActorBase::attach(ExecutionContext* context) {
  std::lock_guard lock(mutex_);
  context_ = context;
  if (context_ && cancelled_) context_->cancelFromExecutor(killed_);
}

void ActorBase::stop(bool kill) {
  std::lock_guard lock(mutex_);
  if (cancelled_ && killed_ >= kill) return;
  cancelled_ = true;
  killed_ |= kill;
  if (context_) context_->cancelFromExecutor(killed_);
}

uint64_t ActorRegistry::add(std::shared_ptr<ActorBase> actor) {
  std::lock_guard lock(mutex_);
  if (closing_) actor->cancel();
  live_.emplace(next_, std::move(actor));
  return next_++;
}

void ActorRegistry::remove(uint64_t id) {
  std::shared_ptr<ActorBase> last;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  const auto found = live_.find(id);
  last = std::move(found->second);
  live_.erase(found);
  removed_.notify_all();
}

std::vector<std::shared_ptr<ActorBase>> ActorRegistry::all() {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ActorBase>> actors;
  actors.reserve(live_.size());
  for (const auto& [id, actor] : live_) actors.push_back(actor);
  return actors;
}

void ActorRegistry::kill(std::string_view process) {
  for (const auto& actor : all())
    if (!process.empty() && actor->options().process == process) actor->kill();
}

void ActorRegistry::killAll() {
  for (const auto& actor : all()) actor->kill();
}

void ActorRegistry::runToEnd(const Actor& main) {
  {
    std::unique_lock lock(mutex_);
    removed_.wait(lock,
                  [&] { return std::none_of(live_.begin(), live_.end(), [&](const auto& entry) { return entry.second.get() == &main; }); });
  }
  unwind(kCancelGrace);
}

uint64_t drawSeed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

void ActorRegistry::beginClosing() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  for (const auto& actor : all()) actor->cancel();
}

void ActorRegistry::reopen() {
  std::lock_guard lock(mutex_);
  closing_ = false;
}

bool ActorRegistry::empty() {
  std::lock_guard lock(mutex_);
  return live_.empty();
}

void ActorRegistry::unwind(Nanos grace) {
  const auto none = [this] { return live_.empty(); };
  beginClosing();
  std::unique_lock lock(mutex_);
  while (!removed_.wait_for(lock, grace, none)) {
    lock.unlock();
    killAll();
    lock.lock();
  }
  closing_ = false;
}

}  // namespace weir
