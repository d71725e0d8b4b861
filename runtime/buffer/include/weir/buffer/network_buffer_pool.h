#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/executor.h"
#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/buffer/buffer.h"

namespace weir {

class LocalBufferPool;

/// taskmanager.network.memory.*: fixed in Flink 2.x at these values, settable in 1.x and here.
struct NetworkBufferSettings {
  int32_t buffersPerChannel = 2;
  int32_t floatingBuffersPerGate = 8;
  int32_t maxBuffersPerChannel = 10;
  int32_t maxOverdraftBuffersPerGate = 20;
};

/// What a local pool is made with. Flink's numbers for streaming: a result partition of n subpartitions requires n + 1 and has at most
/// max(2n + 8, n + 1), 10 per subpartition, 20 overdraft; the floating pool of an input gate requires 1 and has at most 8.
struct LocalBufferPoolOptions {
  static constexpr int32_t kUnbounded = std::numeric_limits<int32_t>::max();
  int32_t required = 1;
  int32_t max = kUnbounded;
  int32_t subpartitions = 0;                   ///< 0: nothing is counted per subpartition
  int32_t maxBuffersPerChannel = kUnbounded;   ///< a subpartition that holds as many makes the pool unavailable
  int32_t maxOverdraft = 0;                    ///< segments beyond the size, so that a record can be finished

  static LocalBufferPoolOptions forResultPartition(int32_t subpartitions, const NetworkBufferSettings& settings = {});
  static LocalBufferPoolOptions forInputGate(const NetworkBufferSettings& settings = {}) {
    return {.required = 1, .max = std::max(1, settings.floatingBuffersPerGate)};
  }
};

/// Somebody who waits until the global pool has a segment again. Called with no lock held, once per subscription.
class GlobalPoolListener {
 public:
  virtual void onSegmentAvailable() = 0;

 protected:
  ~GlobalPoolListener() = default;
};

/// All network memory of one TaskManager: a fixed number of segments in one mapping, shared out among local pools.
///
/// Flink: NetworkBufferPool. Differs: a local pool waits here in line as a listener instead of on a future.
/// Threads: any. Locks: factoryMutex_ (who has which share) before that of a local pool before mutex_ (free segments). A locked stack and
/// not a lock-free queue: local pools keep their segments, so it is touched rarely, and "take one or get in line" has to be one step. Life:
/// shared; local pools hold it, and segments hold local pools, so it is gone when the last segment is back. Errors: too few segments for a
/// requirement is a sentence with the keys to turn, as Flink prints it (an IOException there). Invariants: free + handed out = total; the
/// sum of requirements never exceeds total; free >= owed, which is what secured pools still lack of their requirements.
///
/// A pool is secured when its requirement can be met and from then on until it is destroyed; pools that come when others hold too much
/// surplus wait for it in line, and nobody gets surplus meanwhile. In Flink overdraft or surplus may take the last segment that somebody
/// requires, and a job whose tasks have just what they require may then stand still for ever.
class NetworkBufferPool : public std::enable_shared_from_this<NetworkBufferPool>, private BufferRecycler {
 public:
  static constexpr uint32_t kDefaultSegmentSize = 32 * 1024;

  static Result<std::shared_ptr<NetworkBufferPool>> create(int32_t segments, uint32_t segmentSize = kDefaultSegmentSize,
                                                           Millis requestTimeout = Millis(30'000));
  ~NetworkBufferPool();
  NetworkBufferPool(const NetworkBufferPool&) = delete;
  NetworkBufferPool& operator=(const NetworkBufferPool&) = delete;

  /// Shares the surplus anew among all pools.
  Result<std::shared_ptr<LocalBufferPool>> createBufferPool(const LocalBufferPoolOptions& options);

  /// `count` segments outside of any local pool, for the exclusive buffers of an input channel; they count as required. Waits for them up
  /// to the request timeout. They come with one reference each; give them back through recycleUnpooledSegments.
  Result<std::vector<MemorySegment*>> requestUnpooledSegments(ExecutionContext& context, int32_t count);
  void recycleUnpooledSegments(std::vector<MemorySegment*> segments);

  int32_t totalSegments() const { return total_; }
  int32_t availableSegments() const;
  int32_t usedSegments() const { return total_ - availableSegments(); }
  uint32_t segmentSize() const { return segmentSize_; }
  int32_t requiredSegments() const;
  int32_t bufferPools() const;

  int32_t owedSegments() const;

  // For local pools. ---------------------------------------------------------------------------------------------------------------
  /// What a segment is for: one that its taker is owed, or one that nobody is.
  enum class Claim { kOwed, kSurplus };
  MemorySegment* tryTake(Claim claim = Claim::kSurplus);
  /// Takes a segment, or puts `listener` in line and returns null: one step, so that no returned segment is missed.
  MemorySegment* takeOrSubscribe(const std::shared_ptr<GlobalPoolListener>& listener, Claim claim);
  /// Puts a segment back. True if somebody is in line: the caller then calls notifyListeners() once it holds no lock.
  [[nodiscard]] bool give(MemorySegment* segment);
  /// Secures pools that now can be, and asks everybody in line; who finds nothing gets in line again.
  void notifyListeners();
  Millis requestTimeout() const { return requestTimeout_; }
  /// What a request that waited in vain fails with.
  Error timeoutError() const;
  /// `pool` is gone: its requirement is free again, of which it was owed `owed` segments.
  void remove(LocalBufferPool& pool, int32_t owed);

 private:
  NetworkBufferPool(int32_t segments, uint32_t segmentSize, Millis requestTimeout, void* arena);
  void recycle(MemorySegment& segment) override;
  Result<void> reserve(int32_t count);
  MemorySegment* takeLocked(Claim claim);
  bool secureLocked(const LocalBufferPool& pool);
  Result<void> takeBlocking(ExecutionContext& context, int32_t count, std::vector<MemorySegment*>& into);
  std::string configDescription() const;
  /// Computes and sets all sizes, unlocks, and tells who became available.
  void redistribute(Lock factoryLock);

  const int32_t total_;
  const uint32_t segmentSize_;
  const Millis requestTimeout_;
  void* const arena_;
  std::unique_ptr<MemorySegment[]> segments_;

  mutable Mutex factoryMutex_;
  std::vector<std::weak_ptr<LocalBufferPool>> pools_;  ///< in order of creation: shares do not depend on addresses
  int32_t required_ = 0;

  mutable Mutex mutex_;
  std::vector<MemorySegment*> free_;
  int32_t owed_ = 0;
  std::deque<std::shared_ptr<LocalBufferPool>> unsecured_;  ///< oldest first
  std::vector<std::shared_ptr<GlobalPoolListener>> waiting_;
};

}  // namespace weir
