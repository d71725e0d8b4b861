#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/random.h"
#include "weir/base/clock.h"

namespace weir::sim {

/// What an operator of a simulated job does. Each gives the same records in whatever order its input comes.
enum class Op {
  kSource,
  kMap,
  kRekey,
  kFilter,
  kFlatMap,
  kListCounter,    ///< counts in split list state
  kUnionCounter,   ///< counts in union list state
  kKeyedSum,       ///< a process function with value state, and a check of the key's subtask
  kKeyedReduce,    ///< the built-in reduction, in batches
  kConnect,        ///< two inputs
  kKeyedConnect,   ///< two keyed inputs with one state
  kBroadcastState,  ///< its second input is broadcast and fills broadcast state
  kBundle,          ///< holds records back until a barrier or the end, and checks that the barrier leaves before its snapshot
  kHold,            ///< keeps each record in state until an event-time timer
  kHoldConnect,     ///< the same with two inputs
  kDelay,           ///< keeps each record in state until a processing-time timer; its output gets timestamps and watermarks anew
  kWindow,
  kWatch            ///< looks at the watermarks themselves
};

enum class Edge { kDefault, kForward, kRebalance, kRescale, kShuffle, kGlobal, kBroadcast, kCustom, kHash };

struct Input {
  std::vector<int32_t> from;  ///< nodes; several are a union
  Edge edge = Edge::kDefault;
};

/// When the records of a source happened, and what it says of it.
struct EventTimes {
  int64_t startMs = 0, stepMs = 1;  ///< the i-th happened at start + i * step
  int64_t disorderMs = 0;           ///< or up to this later
  int64_t boundMs = 0;              ///< of out-of-orderness; less than the disorder: some are late
  bool everyRecord = false;         ///< brings a watermark; else they come periodically
  bool silent = false;              ///< no watermark before the end
  int64_t idleMs = 0;               ///< without records it is idle; 0: never
  int64_t driftMs = 0;              ///< it waits where it is this far ahead of the slowest source; 0: never
};

enum class WindowKind { kTumbling, kSliding, kSession };

/// What an operator does with time.
struct Timing {
  int64_t delayMs = 0, gridMs = 4;  ///< how long records are held back, and to what times that is rounded up
  WindowKind window = WindowKind::kTumbling;
  int64_t sizeMs = 20;      ///< the slide of sliding windows, the gap of sessions
  int64_t slides = 1;       ///< of a sliding window: in how many of them each record is
  int64_t offsetMs = 0;
  int64_t latenessMs = 0;   ///< where no record can be late; else there is always enough of it
  bool purging = true;      ///< asked for anyway where records can be late
};

struct Node {
  Op op = Op::kMap;
  int32_t group = 0;  ///< index into Scenario::parallelism
  std::vector<Input> inputs;
  int64_t records = 0;        ///< sources
  double recordsPerSecond = 0;  ///< sources, all subtasks together; 0: no limit
  Nanos cost{};               ///< per record
  bool newChain = false;
  bool ordered = false;       ///< records of one split and key arrive in the order of the split
  EventTimes event;           ///< sources, and operators that give timestamps anew
  Timing timing;
};

struct Sink {
  int32_t from = 0;
  Edge edge = Edge::kDefault;
  int32_t group = 0;
  bool audit = false;  ///< fed by a keyed operator: counts and sums are checked
};

/// Where user code throws.
enum class Spot { kRecord, kOpen, kSnapshot, kComplete, kFinish, kTimer };

/// The `call`-th time, over all subtasks and attempts, that the job passes a spot.
struct Bomb {
  Spot spot = Spot::kRecord;
  int64_t call = 0;
};

/// From outside: a subtask, or the whole job, fails at a time.
struct Kill {
  Millis at{0};
  uint64_t pick = 0;  ///< which of the tasks that run then
  bool whole = false;
};

enum class DiskTrouble { kError, kFull, kTorn, kSlow };
struct DiskFault {
  DiskTrouble trouble = DiskTrouble::kError;
  int32_t operation = -1;  ///< a FileOperation; -1: any
  std::string path = "*";
  uint64_t afterCalls = 0;
  uint64_t times = 1;
  Nanos latency{};
};

/// One run of the job; later ones start from the checkpoint that the one before left.
struct Incarnation {
  std::vector<int32_t> parallelism;  ///< of each group
  std::optional<Millis> stopAt;      ///< cancelled then; none: runs to its end
  bool claim = false;                ///< takes the checkpoint over
};

/// Everything a simulated run depends on, drawn from one seed.
struct Scenario {
  uint64_t seed = 1;
  std::vector<Node> nodes;
  std::vector<Sink> sinks;
  int32_t maxParallelism = 128;
  std::vector<Incarnation> incarnations;
  bool chaining = true;
  bool timed = false;  ///< sources give timestamps and watermarks
  int64_t watermarkIntervalMs = 200;
  bool interruptible = false;  ///< an unaligned checkpoint may come between two timers that are due

  uint32_t segmentSize = 64;
  int32_t spareSegments = 0;  ///< beyond what the tasks require
  int32_t taskManagers = 1;
  int32_t buffersPerChannel = 2;  ///< exclusive ones of remote channels
  bool debloat = false;           ///< buffers shrink and grow with what is read
  int64_t bufferTimeoutMs = 0;
  int32_t cores = 0;

  int64_t intervalMs = 10, timeoutMs = 60'000, minPauseMs = 0;
  int32_t maxConcurrent = 1, tolerable = 1'000'000, retained = 1;
  bool exactlyOnce = true;
  bool unaligned = false;
  int64_t alignedTimeoutMs = 0;  ///< before an aligned checkpoint turns unaligned; 0: it is unaligned at once
  int32_t subtasksPerFile = 5;   ///< of in-flight data
  bool independentAcks = false;  ///< of subtasks that share such a file
  int64_t inlineBytes = 0;
  int64_t restartDelayMs = 0;
  bool fullRestart = false;

  std::vector<Bomb> bombs;
  std::vector<Kill> kills;
  std::vector<DiskFault> disk;
  int32_t lostPercent = 0;  ///< of the notices that a checkpoint was completed or aborted

  /// Readable, a line per fact.
  std::string describe() const;
  int32_t parallelismOf(int32_t group, size_t incarnation = 0) const {
    return incarnations[incarnation].parallelism[static_cast<size_t>(group)];
  }
};

/// What a property asks of its scenarios.
struct Taste {
  bool linear = false;         ///< one source, one chain of operators
  bool atLeastOnce = false;
  bool failures = true;
  bool rescale = false;
  bool disk = false;
  bool unevenEnds = false;     ///< sources end at very different times
  bool shortTimeouts = false;
  bool unaligned = false;      ///< checkpoints that are unaligned, or turn so
  bool losses = false;         ///< notices that a checkpoint was completed or aborted get lost
  bool timed = false;          ///< watermarks, timers and windows
};

Scenario drawScenario(uint64_t seed, const Taste& taste);

}  // namespace weir::sim
