#include "weir/io/io_reactor.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace weir {

namespace asio = boost::asio;

struct IoReactor::State {
  asio::io_context context{1};  // one thread runs it; others only wake it
  asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
  asio::steady_timer timer{context};
  Nanos armed = Nanos::max();  ///< when the timer ends a wait

  void arm(Nanos until);
};

IoReactor::IoReactor() : state_(std::make_unique<State>()) {}
IoReactor::~IoReactor() = default;

asio::io_context& IoReactor::context() { return state_->context; }

bool IoReactor::poll() { return state_->context.poll_one() > 0; }

void IoReactor::State::arm(Nanos until) {
  // An earlier end of before stays: it costs one early return, and moving it would cost a call for each wait.
  if (until >= armed) return;
  armed = until;
  timer.expires_at(asio::steady_timer::time_point(until));
  timer.async_wait([this](const boost::system::error_code& error) {
    if (!error) armed = Nanos::max();  // else it was moved
  });
}

void IoReactor::waitUntil(Nanos until) {
  // Not run_one_until(): that wakes up every second.
  state_->arm(until);
  (void)state_->context.run_one();
}

void IoReactor::wake() {
  asio::post(state_->context, [] {});
}

}  // namespace weir
