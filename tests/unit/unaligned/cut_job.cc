#include "unit/unaligned/cut_job.h"

#include "weir/record/record_deserializer.h"

namespace weir::cut {
namespace {

/// `vertex/subtask/number/padding`
std::string makeRecord(const Who& who, int64_t number, int32_t largest) {
  std::string record = who.first + "/" + std::to_string(who.second) + "/" + std::to_string(number) + "/";
  if (largest > 0) record.append(static_cast<size_t>((number * 2654435761) % (largest + 1)), 'x');
  return record;
}
Who senderOf(const std::string& record) {
  const size_t first = record.find('/', 0), second = record.find('/', first + 1);
  return {record.substr(0, first), std::stoi(record.substr(first + 1, second - first - 1))};
}
int64_t numberOf(const std::string& record) {
  const size_t second = record.find('/', record.find('/') + 1);
  return std::stoll(record.substr(second + 1));
}

/// Numbers what it sends, notes what it gets.
class Relay final : public OneInputOperator<std::string> {
 public:
  Relay(OperatorSetup setup, Vertex vertex, std::shared_ptr<Journal> journal)
      : OneInputOperator(std::move(setup)),
        vertex_(std::move(vertex)),
        journal_(std::move(journal)),
        self_{vertex_.name, environment().subtask()} {}

 protected:
  void process(std::span<StreamRecord<std::string>> records) override {
    for (auto& record : records) {
      note(record.value);
      if (!hasOutput()) continue;
      for (int32_t i = 0; i < vertex_.fanOut; ++i) {
        out_.value = makeRecord(self_, ++now_.sent, vertex_.largest);
        output<std::string>().collect({&out_, 1});
      }
    }
  }
  void onSnapshotState(int64_t checkpointId) override {
    Lock lock(journal_->mutex);
    journal_->snapshots[self_][checkpointId] = now_;
  }

 private:
  void note(const std::string& record) {
    if (record == "tick") return;  // of the source in this task
    const Who sender = senderOf(record);
    ++now_.seen[sender];
    Lock lock(journal_->mutex);
    journal_->received[self_][sender].push_back(record);
  }
  const Vertex vertex_;
  const std::shared_ptr<Journal> journal_;
  const Who self_;
  Snapshot now_;
  StreamRecord<std::string> out_{};
};


std::shared_ptr<const EdgePartitioner> partitionerOf(PartitionerKind kind) {
  if (kind != PartitionerKind::kHash) return std::make_shared<UnkeyedEdge<std::string>>(kind);
  const auto key = [](const std::string& record) { return numberOf(record) % 7; };
  return std::make_shared<KeyedEdge<std::string, decltype(key)>>(key);
}

std::shared_ptr<const JobGraph> graphOf(const Job& job, const std::shared_ptr<Journal>& journal) {
  const auto* type = &ElementTypeOf<std::string>::instance();
  StreamGraph graph;
  std::vector<int32_t> nodes;
  for (const Vertex& vertex : job.vertices) {
    StreamNode relay;
    relay.name = relay.uid = vertex.name;
    relay.parallelism = vertex.parallelism;
    relay.inputType = type;
    relay.bufferTimeout = {1};
    relay.chaining = ChainingStrategy::kHead;
    if (vertex.cost.count() > 0) relay.cost = RecordCost{vertex.cost, CostMode::kSleep};
    relay.factory = makeOperatorFactory(vertex.batches ? Batching::kBatches : Batching::kOneByOne, [vertex, journal](OperatorSetup setup) {
      return std::make_unique<Relay>(std::move(setup), vertex, journal);
    });
    if (vertex.records == 0) {
      nodes.push_back(graph.addNode(std::move(relay)));
      continue;
    }
    const auto generate = [](int64_t) { return std::string("tick"); };
    using Reader = GeneratorReader<decltype(generate)>;
    StreamNode source;
    source.name = source.uid = vertex.name + " ticks";
    source.parallelism = vertex.parallelism;
    source.bufferTimeout = {1};
    source.chaining = ChainingStrategy::kHead;
    source.factory = makeOperatorFactory(
        Batching::kBatches,
        [vertex, generate](OperatorSetup setup) {
          return std::make_unique<SourceOperator<Reader>>(std::move(setup), Reader(vertex.records, generate), vertex.perSecond);
        },
        true);
    const int32_t from = graph.addNode(std::move(source));
    relay.chaining = ChainingStrategy::kAlways;
    nodes.push_back(graph.addNode(std::move(relay)));
    StreamEdge chained;
    chained.source = from;
    chained.target = nodes.back();
    chained.type = type;
    chained.partitioner = partitionerOf(PartitionerKind::kForward);
    graph.addEdge(std::move(chained));
  }
  for (const Link& link : job.links) {
    StreamEdge edge;
    edge.source = nodes[static_cast<size_t>(link.from)];
    edge.target = nodes[static_cast<size_t>(link.to)];
    edge.type = type;
    edge.partitioner = partitionerOf(link.kind);
    graph.addEdge(std::move(edge));
  }
  auto made = graph.toJobGraph("cut");
  if (made.has_error()) throw std::logic_error(made.error().message);
  return std::make_shared<const JobGraph>(std::move(*made));
}

int32_t segmentsOf(const Job& job) {
  int32_t segments = job.spareSegments;
  for (const Link& link : job.links) {
    const int32_t from = job.vertices[static_cast<size_t>(link.from)].parallelism,
                  to = job.vertices[static_cast<size_t>(link.to)].parallelism;
    segments += from * (to + 1) + to;
  }
  return segments;
}

std::vector<std::string> recordsOf(const std::string& bytes, const std::string& where, std::vector<std::string>& problems) {
  RecordDeserializer deserializer(where);
  deserializer.setNextBuffer({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  std::vector<StreamRecord<std::string>> read(1);
  std::vector<std::string> records;
  ControlElement control;
  Error error;
  for (;;) {
    const ReadResult result = readRecords<std::string>(deserializer, read, control, error);
    if (result.count > 0) records.push_back(read[0].value);
    if (result.stop == ReadStop::kNeedBuffer) break;
    if (result.stop == ReadStop::kFull) continue;
    // The end of event time is in flight like any record; nothing else is.
    if (result.stop == ReadStop::kControl && control == ControlElement(Watermark{kMaxWatermark})) continue;
    problems.push_back(where + ": " + (result.stop == ReadStop::kCorrupt ? error.message : "no record is stored"));
    return records;
  }
  if (deserializer.getUnconsumedBuffer().size() > 0) problems.push_back(where + ": what is stored ends inside a record");
  return records;
}

class Autopsy {
 public:
  Autopsy(const Job& job, Journal& journal, Outcome& outcome) : job_(job), journal_(journal), outcome_(outcome) {}

  void all() {
    for (const auto& [who, writer] : outcome_.writers)
      for (const std::string& problem : writer->problems()) outcome_.problems.push_back(who.first + ": " + problem);
    std::map<int64_t, int32_t> snapshots;
    int32_t tasks = 0;
    for (const Vertex& vertex : job_.vertices) tasks += vertex.parallelism;
    for (const auto& [who, taken] : journal_.snapshots)
      for (const auto& [id, snapshot] : taken) snapshots[id] += isComplete(who, id);
    for (const auto& [id, complete] : snapshots)
      if (complete == tasks) takeApart(id);
  }

 private:
  bool isComplete(const Who& who, int64_t id) const {
    const auto writer = outcome_.writers.at(who);
    const auto ids = writer->checkpoints();
    return std::find(ids.begin(), ids.end(), id) == ids.end() || writer->stored(id).complete;
  }

  void takeApart(int64_t id) {
    std::vector<Channel>& channels = outcome_.checkpoints[id];
    std::map<int32_t, int32_t> partitions, gates;  // so far, by vertex
    for (size_t l = 0; l < job_.links.size(); ++l) {
      const Link& link = job_.links[l];
      const int32_t partition = partitions[link.from]++, gate = gates[link.to]++;
      const Vertex &from = job_.vertices[static_cast<size_t>(link.from)], &to = job_.vertices[static_cast<size_t>(link.to)];
      const bool pointwise = traitsOf(link.kind).pointwise;
      for (int32_t p = 0; p < from.parallelism; ++p) {
        for (int32_t c = 0; c < to.parallelism; ++c) {
          if (pointwise && p != c) continue;
          Channel channel{static_cast<int32_t>(l), {from.name, p}, {to.name, c}, 0, 0, {}, {}, 0, 0};
          const std::string where = fmt::format("checkpoint {}, {}/{} to {}/{}", id, from.name, p, to.name, c);
          const std::string input = outcome_.writers.at(channel.consumer)->stored(id).input(gate, pointwise ? 0 : p);
          const std::string output = outcome_.writers.at(channel.producer)->stored(id).output(partition, pointwise ? 0 : c);
          check(id, channel, where, input, output);
          channels.push_back(std::move(channel));
        }
      }
    }
  }

  void check(int64_t id, Channel& channel, const std::string& where, const std::string& input, const std::string& output) {
    channel.inputBytes = input.size();
    channel.outputBytes = output.size();
    // A record may begin in the input and end in the output.
    std::vector<std::string> stored = recordsOf(input + output, where, outcome_.problems);
    const std::vector<std::string>& received = journal_.received[channel.consumer][channel.producer];
    const Snapshot& consumer = journal_.snapshots[channel.consumer][id];
    const auto seen = consumer.seen.find(channel.producer);
    channel.seen = seen == consumer.seen.end() ? 0 : seen->second;
    const int64_t sent = journal_.snapshots[channel.producer][id].sent;
    while (static_cast<size_t>(channel.sent) < received.size() && numberOf(received[static_cast<size_t>(channel.sent)]) <= sent)
      ++channel.sent;
    if (channel.seen > channel.sent) {
      outcome_.problems.push_back(fmt::format("{}: its consumer has {} records in its state, its producer had sent {}", where, channel.seen,
                                              channel.sent));
      return;
    }
    const std::vector<std::string> missing(received.begin() + channel.seen, received.begin() + channel.sent);
    if (stored != missing)
      outcome_.problems.push_back(fmt::format("{}: in flight are the records {}, stored are {} ({} bytes of input, {} of output)", where,
                                              numbers(missing), numbers(stored), input.size(), output.size()));
    channel.input = std::move(stored);
  }
  static std::string numbers(const std::vector<std::string>& records) {
    std::string text = "[";
    for (const std::string& record : records) text += (text.size() > 1 ? " " : "") + std::to_string(numberOf(record));
    return text + "]";
  }

  const Job& job_;
  Journal& journal_;
  Outcome& outcome_;
};

}  // namespace

Outcome run(const Job& job, Executor& executor, const std::function<void(tmtest::Cluster&)>& meanwhile) {
  const auto journal = std::make_shared<Journal>();
  Outcome outcome;
  Mutex mutex;
  tmtest::Cluster cluster(executor, std::getenv("CUT_DEBUG") ? LogLevel::kDebug : LogLevel::kInfo);
  cluster.taskManagers = job.taskManagers;
  cluster.checkpointEvery = job.interval;
  cluster.coordinator.unalignedEnabled = true;
  cluster.coordinator.alignedCheckpointTimeout = job.alignedTimeout;
  cluster.coordinator.timeout = job.timeout;
  cluster.coordinator.tolerableFailedCheckpoints = 1'000'000;
  cluster.coordinator.historySize = 10'000;
  cluster.tmOptions.segmentSize = job.segmentSize;
  cluster.tmOptions.networkSegments = segmentsOf(job);
  cluster.tmOptions.network.buffers.maxOverdraftBuffersPerGate = job.overdraft;
  cluster.createChannelStateWriter = [&](const TaskEnvironment& environment) {
    const auto writer = std::make_shared<MemoryChannelStateWriter>();
    // The name of a vertex is that of its chain; a relay is its last operator.
    std::string name = environment.vertexName.substr(environment.vertexName.rfind(' ') + 1);
    Lock lock(mutex);
    outcome.writers[{name, environment.subtask()}] = writer;
    return writer;
  };
  try {
    cluster.run(graphOf(job, journal), [&] {
      if (meanwhile) meanwhile(cluster);
      outcome.status = cluster.result().status;
      if (const auto stats = cluster.books().checkpoints) outcome.history = stats->history;
      if (cluster.result().failure) outcome.problems.push_back(cluster.result().failure->trace());
    });
  } catch (const std::exception& stuck) {
    outcome.problems.push_back(std::string(stuck.what()).substr(0, 4000));
    outcome.log = cluster.log.text();
    return outcome;
  }
  if (cluster.usedSegments != 0) outcome.problems.push_back(std::to_string(cluster.usedSegments) + " buffers were not given back");
  outcome.log = cluster.log.text();
  Autopsy(job, *journal, outcome).all();
  return outcome;
}

Outcome simulate(const Job& job, const std::function<void(tmtest::Cluster&)>& meanwhile) {
  SimulatedExecutor executor(SimulationOptions{.seed = job.seed, .timeLimit = std::chrono::seconds(60)});
  return run(job, executor, meanwhile);
}

}  // namespace weir::cut
