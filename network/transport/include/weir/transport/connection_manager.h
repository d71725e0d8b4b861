#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/log.h"
#include "weir/transport/partition_request_client.h"
#include "weir/transport/partition_request_server.h"

namespace weir {

struct ConnectionManagerOptions {
  std::string self;  ///< the name by which others reach this TaskManager
  Millis partitionRequestTimeout{10'000};  ///< taskmanager.network.partition-request-timeout
  const Clock* clock = nullptr;  ///< of its actors; the executor's own where null
  std::string process;           ///< of its actors, for Executor::kill
  LogSink* log = nullptr;        ///< what peers do wrong; null: nowhere
};

/// The data connections of one TaskManager: one to each that it reads from, made when the first channel asks; and those by which others
/// read from it.
///
/// Flink: NettyConnectionManager with PartitionRequestClientFactory. Differs: a connection stays until its TaskManager ends or it breaks.
/// Threads: any. Life: start, stop; each connection end is an actor that keeps the manager alive.
class ConnectionManager : public std::enable_shared_from_this<ConnectionManager> {
 public:
  ConnectionManager(Executor& executor, std::shared_ptr<Transport> transport, std::shared_ptr<ResultPartitionManager> partitions,
                    ConnectionManagerOptions options);

  Result<void> start();
  /// The one connection to `peer`, made anew where it broke.
  std::shared_ptr<PartitionRequestClient> clientTo(const std::string& peer);
  /// Closes all of them. `onStopped` is called once, by the last actor or at once, when nothing is left that holds a buffer.
  void stop(std::function<void()> onStopped);
  /// Ends of connections that live. For tests.
  size_t openEnds() const;
  const std::string& self() const { return options_.self; }
  /// Where others reach it, after start(): its name, or host and port.
  const std::string& address() const { return address_; }

 private:
  void spawn(const std::string& name, const ConnectionEnd& end, std::function<void()> stopEnd);
  void onEndGone(uint64_t number);
  /// Of an end that closes its connection because of what the peer sent.
  BrokenConnectionReport reporter(std::string connection) const;

  Executor& executor_;
  const std::shared_ptr<Transport> transport_;
  const std::shared_ptr<ResultPartitionManager> partitions_;
  const ConnectionManagerOptions options_;
  std::string address_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<PartitionRequestClient>> clients_;
  std::map<uint64_t, std::function<void()>> ends_;  ///< how each that lives is stopped
  uint64_t made_ = 0;
  bool stopping_ = false;
  std::function<void()> onStopped_;
};

}  // namespace weir
