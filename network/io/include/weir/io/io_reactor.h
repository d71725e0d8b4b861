#pragma once

#include <memory>

#include "weir/base/executor.h"

namespace boost::asio {
class io_context;
}

namespace weir {

/// Lets an actor wait in an io_context: the handlers of its sockets run on its own thread, inside its waits.
///
///     auto reactor = std::make_shared<IoReactor>();
///     executor.spawn({.name = "data client", .reactor = reactor}, [loop](ExecutionContext& context) { loop->run(context); });
///     loop->post({"connect", [reactor] { ... boost::asio::ip::tcp::socket(reactor->context()) ... }});
///
/// Flink: the event loop of a Netty channel. Threads: context() and what is made of it - the actor alone; from outside, post to its loop.
/// Life: ends on the actor's thread, with the last reference that its executor holds; handlers that have not run are destroyed then, with
/// what they own. What else holds a socket lets go of it before, or holds the reactor.
/// Costs: nothing while nothing happens: no timer, no polling.
class IoReactor final : public Reactor {
 public:
  IoReactor();
  ~IoReactor() override;

  boost::asio::io_context& context();

  bool poll() override;
  void waitUntil(Nanos until) override;
  void wake() override;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace weir
