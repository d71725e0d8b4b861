#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/memory_channel_state_writer.h"
#include "unit/taskmanager/cluster.h"

// A job of tasks that number what they send and note what they get, so that afterwards every checkpoint can be taken apart: for each
// channel, what its consumer had seen at its snapshot, then the stored input, then the stored output, must be what its producer had sent at
// its own snapshot; nothing twice, nothing missing, in order.
namespace weir::cut {

/// Who a task is.
using Who = std::pair<std::string, int32_t>;  ///< vertex and subtask

/// What a task was like when it took a snapshot.
struct Snapshot {
  int64_t sent = 0;
  std::map<Who, int64_t> seen;  ///< records by who sent them
};
struct Journal {
  Mutex mutex;
  std::map<Who, std::map<Who, std::vector<std::string>>> received;  ///< consumer, producer: in order
  std::map<Who, std::map<int64_t, Snapshot>> snapshots;
};

struct Vertex {
  std::string name;
  int32_t parallelism = 2;
  int64_t records = 0;  ///< a source, if not 0: so many over all subtasks
  double perSecond = std::numeric_limits<double>::infinity();
  int32_t fanOut = 1;          ///< records sent for each that comes
  int32_t largest = 0;         ///< bytes of padding, at most
  Nanos cost{};                ///< per record
  bool batches = false;        ///< takes its records in batches, as operators do that are built in
};
struct Link {
  int32_t from = 0, to = 0;
  PartitionerKind kind = PartitionerKind::kRebalance;
};
struct Job {
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  uint64_t seed = 1;
  uint32_t segmentSize = 64;
  int32_t spareSegments = 8;
  int32_t overdraft = 20;
  Millis interval{10};
  Millis alignedTimeout{0};
  Millis timeout{600'000};
  int32_t taskManagers = 1;

  std::string name(int32_t vertex) const {
    return (vertices[static_cast<size_t>(vertex)].records > 0 ? "Source: " : "") + vertices[static_cast<size_t>(vertex)].name;
  }
};

/// One checkpoint of the whole job, and what in it is in flight on one channel.
struct Channel {
  int32_t link = 0;
  Who producer, consumer;
  int64_t seen = 0;  ///< by the consumer at its snapshot
  int64_t sent = 0;  ///< by the producer at its own, on this channel
  std::vector<std::string> input, output;  ///< records
  size_t inputBytes = 0, outputBytes = 0;
};

struct Outcome {
  JobStatus status{};
  std::vector<std::string> problems;
  std::map<int64_t, std::vector<Channel>> checkpoints;  ///< those that every task has completed
  std::vector<std::shared_ptr<const CheckpointStats>> history;
  std::map<Who, std::shared_ptr<MemoryChannelStateWriter>> writers;
  std::string log;

  size_t storedBytes() const {
    size_t sum = 0;
    for (const auto& [id, channels] : checkpoints)
      for (const Channel& channel : channels) sum += channel.inputBytes + channel.outputBytes;
    return sum;
  }
};

/// Runs the job to its end on the executor and takes its checkpoints apart.
Outcome run(const Job& job, Executor& executor, const std::function<void(tmtest::Cluster&)>& meanwhile = nullptr);
/// In virtual time.
Outcome simulate(const Job& job, const std::function<void(tmtest::Cluster&)>& meanwhile = nullptr);

}  // namespace weir::cut
