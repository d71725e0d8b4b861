#include "weir/transport/memory_transport.h"

#include <algorithm>
#include <deque>

namespace weir {

MemoryTransportOptions MemoryTransportOptions::simulated(uint64_t seed) {
  static constexpr size_t kWindows[] = {1, 200, 4096, 64 * 1024};
  static constexpr Nanos kLongest[] = {Nanos(10'000), Nanos(100'000), Nanos(1'000'000)};
  Random random(seed, "network");
  return {kWindows[random.below(std::size(kWindows))], Nanos(1'000), kLongest[random.below(std::size(kLongest))], seed};
}

/// Both directions of one connection; direction i leads to end i.
class MemoryTransport::Link : public std::enable_shared_from_this<MemoryTransport::Link> {
 public:
  Link(const Clock& clock, const MemoryTransportOptions& options, std::string from, std::string to, uint64_t number)
      : clock_(clock), options_(options), names_{std::move(from), std::move(to)},
        random_{Random(options.seed, name(number, 0)), Random(options.seed, name(number, 1))} {}

  void open(ConnectionEnd first, ConnectionEnd second);
  bool isOpen() const {
    Lock lock(mutex_);
    return open_;
  }
  bool leadsTo(const std::string& name) const { return names_[0] == name || names_[1] == name; }
  bool isWritable(int side) const {
    Lock lock(mutex_);
    return ways_[1 - side].bytes < options_.windowBytes;
  }
  /// Null: the last message, behind which the connection is closed.
  void send(int side, std::unique_ptr<TransportMessage> message);
  /// `tellFirst`, `tellSecond`: which ends hear of it.
  void close(bool tellFirst, bool tellSecond);

 private:
  static constexpr int kAtATime = 16;
  struct UnderWay {
    Nanos due;
    size_t bytes;
    std::unique_ptr<TransportMessage> message;
  };
  struct Way {
    std::deque<UnderWay> messages;
    size_t bytes = 0;
    Nanos last{0};           ///< when the latest message arrives
    bool announced = false;  ///< without delays: a mail to take what is there is under way
    bool wasFull = false;    ///< the sender waits for room
  };

  std::string name(uint64_t number, int side) const {
    return "link " + std::to_string(number) + " " + names_[1 - side] + " to " + names_[side];
  }
  bool hasDelays() const { return options_.longestDelay.count() > 0; }
  /// False where the end's loop has stopped.
  bool post(int side, const char* what, std::function<void()> run);
  void receive(int side);
  std::optional<UnderWay> take(int side);

  const Clock& clock_;
  const MemoryTransportOptions options_;
  const std::string names_[2];
  ConnectionEnd ends_[2];  ///< set by open(), before anybody can use them
  mutable Mutex mutex_;
  Random random_[2];
  Way ways_[2];
  bool open_ = false;
};

class MemoryTransport::End final : public Connection {
 public:
  End(std::shared_ptr<Link> link, int side) : link_(std::move(link)), side_(side) {}
  bool isWritable() const override { return link_->isWritable(side_); }
  void send(std::unique_ptr<TransportMessage> message) override { link_->send(side_, std::move(message)); }
  void close() override { link_->close(side_ != 0, side_ != 1); }
  void closeWhenSent() override { link_->send(side_, nullptr); }

 private:
  const std::shared_ptr<Link> link_;
  const int side_;
};

void MemoryTransport::Link::open(ConnectionEnd first, ConnectionEnd second) {
  ends_[0] = std::move(first);
  ends_[1] = std::move(second);
  {
    Lock lock(mutex_);
    open_ = true;
  }
  // The accepting end first: it must be open before a message can reach it.
  for (const int side : {1, 0}) {
    const bool posted = post(side, "connection open", [self = shared_from_this(), side] {
      self->ends_[side].handler->onOpen(std::make_shared<End>(self, side));
    });
    if (!posted) return close(side != 0, side != 1);
  }
}

bool MemoryTransport::Link::post(int side, const char* what, std::function<void()> run) {
  return ends_[side].loop->post({what, std::move(run)});
}

void MemoryTransport::Link::send(int side, std::unique_ptr<TransportMessage> message) {
  const int to = 1 - side;
  Way& way = ways_[to];
  Nanos due{};
  {
    Lock lock(mutex_);
    if (!open_) return;
    if (hasDelays()) {
      const Nanos delay(random_[to].between(options_.shortestDelay.count(), options_.longestDelay.count()));
      due = way.last = std::max(way.last, clock_.monotonic() + delay);
    }
    const size_t bytes = message ? message->wireSize() : 0;
    way.messages.push_back({due, bytes, std::move(message)});
    way.bytes += bytes;
    way.wasFull = way.wasFull || way.bytes >= options_.windowBytes;
    if (!hasDelays() && std::exchange(way.announced, true)) return;
  }
  const auto arrive = [self = shared_from_this(), to] { self->receive(to); };
  const bool posted = hasDelays() ? bool(ends_[to].loop->postAt(Deadline::work(due), {"message", arrive})) : post(to, "message", arrive);
  if (!posted) close(to != 0, to != 1);  // the peer is gone
}

std::optional<MemoryTransport::Link::UnderWay> MemoryTransport::Link::take(int side) {
  Way& way = ways_[side];
  Lock lock(mutex_);
  if (way.messages.empty() || (hasDelays() && way.messages.front().due > clock_.monotonic())) {
    way.announced = false;
    return std::nullopt;
  }
  std::optional<UnderWay> next(std::move(way.messages.front()));
  way.messages.pop_front();
  way.bytes -= next->bytes;
  const bool hasRoom = way.wasFull && way.bytes * 2 < options_.windowBytes;
  if (hasRoom) way.wasFull = false;
  lock.unlock();
  if (hasRoom)
    (void)post(1 - side, "connection writable", [self = shared_from_this(), side] {
      if (self->isOpen()) self->ends_[1 - side].handler->onWritable();
    });
  return next;
}

void MemoryTransport::Link::receive(int side) {
  // A few at a time, so that what else the loop has to do gets its turn.
  for (int i = 0; i < kAtATime; ++i) {
    auto next = take(side);
    if (!next) return;
    if (!next->message) return close(true, true);
    ends_[side].handler->onMessage(std::move(next->message));
  }
  if (!hasDelays()) (void)post(side, "message", [self = shared_from_this(), side] { self->receive(side); });
}

void MemoryTransport::Link::close(bool tellFirst, bool tellSecond) {
  std::deque<UnderWay> dropped[2];
  {
    Lock lock(mutex_);
    if (!std::exchange(open_, false)) return;
    for (int side : {0, 1}) {
      dropped[side].swap(ways_[side].messages);
      ways_[side].bytes = 0;
    }
  }
  const bool tell[2] = {tellFirst, tellSecond};
  for (const int side : {0, 1})
    if (tell[side]) (void)post(side, "connection closed", [self = shared_from_this(), side] { self->ends_[side].handler->onClosed({}); });
}

Result<std::string> MemoryTransport::listen(const std::string& self, Acceptor acceptor) {
  Lock lock(mutex_);
  if (!acceptors_.emplace(self, std::move(acceptor)).second)
    return Error{ErrorCode::kAlreadyExists, "somebody listens as " + self + " already: give each TaskManager a name of its own"};
  return self;
}

void MemoryTransport::unlisten(const std::string& self) {
  Lock lock(mutex_);
  acceptors_.erase(self);
}

void MemoryTransport::connect(const std::string& self, const std::string& peer, ConnectionEnd end) {
  Acceptor acceptor;
  std::shared_ptr<Link> link;
  {
    Lock lock(mutex_);
    if (const auto found = acceptors_.find(peer); found != acceptors_.end()) {
      acceptor = found->second;
      link = std::make_shared<Link>(clock_, options_, self, peer, ++made_);
      std::erase_if(links_, [](const auto& weak) { return weak.expired(); });
      links_.push_back(link);
    }
  }
  if (!link) {
    (void)end.loop->post({"connection refused", [handler = end.handler] { handler->onClosed({ConnectionEnded::Why::kUnreachable}); }});
    return;
  }
  link->open(std::move(end), acceptor(self));
}

std::vector<std::shared_ptr<MemoryTransport::Link>> MemoryTransport::liveLinks() const {
  std::vector<std::shared_ptr<Link>> links;
  Lock lock(mutex_);
  for (const auto& weak : links_)
    if (auto link = weak.lock()) links.push_back(std::move(link));
  return links;
}

void MemoryTransport::cut(const std::string& name) {
  for (const auto& link : liveLinks())
    if (link->leadsTo(name)) link->close(true, true);
}

size_t MemoryTransport::openConnections() const {
  const auto links = liveLinks();
  return static_cast<size_t>(std::count_if(links.begin(), links.end(), [](const auto& link) { return link->isOpen(); }));
}

}  // namespace weir
