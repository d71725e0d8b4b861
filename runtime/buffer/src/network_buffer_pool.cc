#include "weir/buffer/network_buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>

#include "weir/buffer/local_buffer_pool.h"

namespace weir {
namespace {

struct SetupWaiter final : GlobalPoolListener {
  Signal signal;
  void onSegmentAvailable() override { signal.set(); }
};

}  // namespace

LocalBufferPoolOptions LocalBufferPoolOptions::forResultPartition(int32_t subpartitions, const NetworkBufferSettings& settings) {
  return {.required = subpartitions + 1,
          .max = std::max(subpartitions * settings.buffersPerChannel + settings.floatingBuffersPerGate, subpartitions + 1),
          .subpartitions = subpartitions,
          .maxBuffersPerChannel = settings.maxBuffersPerChannel,
          .maxOverdraft = settings.maxOverdraftBuffersPerGate};
}

Result<std::shared_ptr<NetworkBufferPool>> NetworkBufferPool::create(int32_t segments, uint32_t segmentSize, Millis requestTimeout) {
  if (segments <= 0 || segmentSize == 0 || segmentSize >= MemorySegment::kFinished)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("network memory of {} segments of {} bytes: give at least one segment (taskmanager.memory.network.*)",
                             segments, segmentSize)};
  // Reserved, not touched: a page costs memory when its first byte is written.
  void* arena = ::mmap(nullptr, size_t(segments) * segmentSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED)
    return Error{ErrorCode::kFailed,
                 fmt::format("could not map {} network segments of {} bytes: lower taskmanager.memory.network.max", segments, segmentSize)};
  return std::shared_ptr<NetworkBufferPool>(new NetworkBufferPool(segments, segmentSize, requestTimeout, arena));
}

NetworkBufferPool::NetworkBufferPool(int32_t segments, uint32_t segmentSize, Millis requestTimeout, void* arena)
    : total_(segments), segmentSize_(segmentSize), requestTimeout_(requestTimeout), arena_(arena), segments_(new MemorySegment[segments]) {
  free_.reserve(segments);
  for (int32_t i = segments; i-- > 0;) {
    segments_[i].data_ = static_cast<uint8_t*>(arena) + size_t(i) * segmentSize;
    segments_[i].capacity_ = segmentSize;
    free_.push_back(&segments_[i]);
  }
}

NetworkBufferPool::~NetworkBufferPool() {
  WEIR_CHECK_EQ(availableSegments(), total_);
  ::munmap(arena_, size_t(total_) * segmentSize_);
}

std::string NetworkBufferPool::configDescription() const {
  return fmt::format(
      "The total number of network buffers is currently set to {} of {} bytes each. You can increase this number by setting the "
      "configuration "
      "keys 'taskmanager.memory.network.fraction', 'taskmanager.memory.network.min', and 'taskmanager.memory.network.max'",
      total_, segmentSize_);
}

Result<void> NetworkBufferPool::reserve(int32_t count) {
  if (required_ + count > total_)
    return Error{ErrorCode::kFailed, fmt::format("Insufficient number of network buffers: required {}, but only {} available. {}.", count,
                                                 total_ - required_, configDescription())};
  required_ += count;
  return {};
}

Result<std::shared_ptr<LocalBufferPool>> NetworkBufferPool::createBufferPool(const LocalBufferPoolOptions& options) {
  WEIR_CHECK(options.required >= 1 && options.max >= options.required, "a pool of {} to {} segments", options.required, options.max);
  Lock lock(factoryMutex_);
  WEIR_TRY(reserve(options.required));
  std::shared_ptr<LocalBufferPool> pool(new LocalBufferPool(shared_from_this(), options));
  pools_.push_back(pool);
  bool secured;
  {
    Lock freeLock(mutex_);
    secured = unsecured_.empty() && secureLocked(*pool);
    if (!secured) unsecured_.push_back(pool);
  }
  if (secured) (void)pool->onSecured();  // fetches the first segment; nobody waits for it yet
  redistribute(std::move(lock));
  return pool;
}

bool NetworkBufferPool::secureLocked(const LocalBufferPool& pool) {
  const int32_t required = pool.options().required;
  if (static_cast<int32_t>(free_.size()) - owed_ < required) return false;
  owed_ += required;
  return true;
}

void NetworkBufferPool::redistribute(Lock factoryLock) {
  std::vector<std::shared_ptr<LocalBufferPool>> live, becameAvailable;
  for (const auto& weak : pools_)
    if (auto pool = weak.lock(); pool && pool->options().max > pool->options().required) live.push_back(std::move(pool));
  const auto resize = [&](const std::shared_ptr<LocalBufferPool>& pool, int32_t size) {
    if (pool->setNumBuffers(size)) becameAvailable.push_back(pool);
  };

  // Headrooms up to here and shares up to here: the integer parts of running sums add up exactly, those of single shares would not.
  const int64_t surplus = total_ - required_;
  const auto headroom = [&](const LocalBufferPool& pool) {
    return std::min<int64_t>(surplus, pool.options().max - pool.options().required);
  };
  int64_t totalHeadroom = 0, headroomSoFar = 0, sharedSoFar = 0;
  for (const auto& pool : live) totalHeadroom += headroom(*pool);
  const int64_t toShare = std::min(surplus, totalHeadroom);
  for (const auto& pool : live) {
    headroomSoFar += headroom(*pool);
    const int64_t upToHere = totalHeadroom == 0 ? 0 : toShare * headroomSoFar / totalHeadroom;
    resize(pool, pool->options().required + static_cast<int32_t>(upToHere - sharedSoFar));
    sharedSoFar = upToHere;
  }
  factoryLock.unlock();
  for (const auto& pool : becameAvailable) pool->available().set();
  notifyListeners();
}

void NetworkBufferPool::remove(LocalBufferPool& pool, int32_t owed) {
  Lock lock(factoryMutex_);
  std::erase_if(pools_, [&](const auto& weak) { return weak.expired() || weak.lock().get() == &pool; });
  required_ -= pool.options().required;
  {
    Lock freeLock(mutex_);
    owed_ -= owed;
    std::erase_if(unsecured_, [&](const auto& waiting) { return waiting.get() == &pool; });
    std::erase_if(waiting_, [&](const auto& listener) { return listener.get() == static_cast<GlobalPoolListener*>(&pool); });
  }
  redistribute(std::move(lock));
}

MemorySegment* NetworkBufferPool::takeLocked(Claim claim) {
  if (claim == Claim::kOwed) {
    --owed_;
  } else if (static_cast<int32_t>(free_.size()) <= owed_ || !unsecured_.empty()) {
    return nullptr;
  }
  WEIR_CHECK(!free_.empty(), "segments are owed that are not there");
  MemorySegment* segment = free_.back();
  free_.pop_back();
  return segment;
}

MemorySegment* NetworkBufferPool::tryTake(Claim claim) {
  Lock lock(mutex_);
  return takeLocked(claim);
}

MemorySegment* NetworkBufferPool::takeOrSubscribe(const std::shared_ptr<GlobalPoolListener>& listener, Claim claim) {
  Lock lock(mutex_);
  MemorySegment* segment = takeLocked(claim);
  if (!segment) waiting_.push_back(listener);
  return segment;
}

int32_t NetworkBufferPool::owedSegments() const {
  Lock lock(mutex_);
  return owed_;
}

bool NetworkBufferPool::give(MemorySegment* segment) {
  Lock lock(mutex_);
  free_.push_back(segment);
  return !waiting_.empty() || !unsecured_.empty();
}

void NetworkBufferPool::notifyListeners() {
  std::vector<std::shared_ptr<GlobalPoolListener>> listeners;
  std::vector<std::shared_ptr<LocalBufferPool>> secured;
  {
    Lock lock(mutex_);
    while (!unsecured_.empty() && secureLocked(*unsecured_.front())) {
      secured.push_back(std::move(unsecured_.front()));
      unsecured_.pop_front();
    }
    if (!free_.empty()) listeners.swap(waiting_);
  }
  for (const auto& pool : secured) {
    if (pool->onSecured()) continue;
    Lock lock(mutex_);
    owed_ -= pool->options().required;
  }
  for (const auto& listener : listeners) listener->onSegmentAvailable();
}

Error NetworkBufferPool::timeoutError() const {
  return Error{
      ErrorCode::kFailed,
      fmt::format("Timeout triggered when requesting exclusive buffers: {},  or you may increase the timeout which is {}ms by setting "
                  "the key 'taskmanager.network.memory.buffers-request-timeout'.",
                  configDescription(), requestTimeout_.count())};
}

Result<void> NetworkBufferPool::takeBlocking(ExecutionContext& context, int32_t count, std::vector<MemorySegment*>& into) {
  const auto waiter = std::make_shared<SetupWaiter>();
  const Deadline deadline = Deadline::work(context.clock().monotonic() + requestTimeout_);
  const auto giveBack = [&] {
    for (MemorySegment* segment : into) (void)give(segment);
    into.clear();
    notifyListeners();
  };
  for (int32_t taken = 0; taken < count;) {
    waiter->signal.reset();
    if (MemorySegment* segment = takeOrSubscribe(waiter, Claim::kSurplus)) {
      into.push_back(segment);
      ++taken;
      continue;
    }
    try {
      if (context.wait(WaitReason::kSetupBuffers, {&waiter->signal}, deadline) == WaitOutcome::kSignalled) continue;
    } catch (...) {
      giveBack();
      throw;
    }
    giveBack();
    return timeoutError();
  }
  return {};
}

Result<std::vector<MemorySegment*>> NetworkBufferPool::requestUnpooledSegments(ExecutionContext& context, int32_t count) {
  {
    Lock lock(factoryMutex_);
    WEIR_TRY(reserve(count));
    redistribute(std::move(lock));
  }
  const auto release = [&] {
    Lock lock(factoryMutex_);
    required_ -= count;
    redistribute(std::move(lock));
  };
  std::vector<MemorySegment*> segments;
  segments.reserve(count);
  try {
    if (auto taken = takeBlocking(context, count, segments); taken.has_error()) {
      release();
      return taken.error();
    }
  } catch (...) {
    release();
    throw;
  }
  for (MemorySegment* segment : segments) segment->open(this, -1);
  return segments;
}

void NetworkBufferPool::recycleUnpooledSegments(std::vector<MemorySegment*> segments) {
  for (MemorySegment* segment : segments) (void)give(segment);
  Lock lock(factoryMutex_);
  required_ -= static_cast<int32_t>(segments.size());
  redistribute(std::move(lock));
}

void NetworkBufferPool::recycle(MemorySegment& segment) {
  recycleUnpooledSegments({&segment});
}

int32_t NetworkBufferPool::availableSegments() const {
  Lock lock(mutex_);
  return static_cast<int32_t>(free_.size());
}

int32_t NetworkBufferPool::requiredSegments() const {
  Lock lock(factoryMutex_);
  return required_;
}

int32_t NetworkBufferPool::bufferPools() const {
  Lock lock(factoryMutex_);
  return static_cast<int32_t>(pools_.size());
}

}  // namespace weir
