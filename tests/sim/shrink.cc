#include "sim/shrink.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>
#include <utility>

#include "weir/base/check.h"
#include "weir/base/clock.h"

namespace weir::sim {
namespace {

/// Enough to tell two kinds of failure apart, and the same whatever numbers are in it.
std::string kindOf(const std::string& problem) {
  constexpr int kWords = 4;
  std::string kind;
  int words = 0;
  for (const char c : problem) {
    if (c == '\n' || (c == ' ' && ++words == kWords)) break;
    if (!std::isdigit(static_cast<unsigned char>(c))) kind += c;
  }
  return kind;
}

std::string readAll(int from) {
  std::string text;
  char bytes[4096];
  for (ssize_t got; (got = ::read(from, bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<size_t>(got));
  return text;
}

/// One smaller scenario; false where there is nothing to take away.
using Step = std::function<bool(Scenario&)>;

template <class T>
Step set(T Scenario::*field, T simplest) {
  return [=](Scenario& s) {
    if (s.*field == simplest) return false;
    s.*field = simplest;
    return true;
  };
}
template <class T>
void dropEach(std::vector<Step>& steps, const Scenario& now, std::vector<T> Scenario::*list) {
  for (size_t i = (now.*list).size(); i-- > 0;)
    steps.push_back([list, i](Scenario& s) {
      (s.*list).erase((s.*list).begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    });
}

bool isRead(const Scenario& s, int32_t node) {
  const auto reads = [node](const Node& other) {
    return std::any_of(other.inputs.begin(), other.inputs.end(),
                       [node](const Input& input) { return std::count(input.from.begin(), input.from.end(), node) > 0; });
  };
  return std::any_of(s.nodes.begin(), s.nodes.end(), reads) ||
         std::any_of(s.sinks.begin(), s.sinks.end(), [node](const Sink& sink) { return sink.from == node; });
}

/// The node goes; who read it reads `instead`.
void removeNode(Scenario& s, int32_t node, int32_t instead) {
  const auto moved = [&](int32_t from) { return from == node ? instead : from; };
  const auto renumbered = [&](int32_t from) { return from > node ? from - 1 : from; };
  for (Node& other : s.nodes)
    for (Input& input : other.inputs) {
      std::vector<int32_t> from;
      for (const int32_t f : input.from)
        if (std::find(from.begin(), from.end(), renumbered(moved(f))) == from.end()) from.push_back(renumbered(moved(f)));
      input.from = std::move(from);
    }
  for (Sink& sink : s.sinks) sink.from = renumbered(moved(sink.from));
  s.nodes.erase(s.nodes.begin() + node);
}

void removeUnread(Scenario& s) {
  for (bool again = true; again;) {
    again = false;
    for (int32_t i = static_cast<int32_t>(s.nodes.size()); i-- > 0;)
      if (!isRead(s, i)) removeNode(s, i, 0), again = true;
  }
}

template <class T, class V>
Step setIn(size_t node, T Node::*part, V T::*field, V simplest) {
  return [=](Scenario& s) { return std::exchange(s.nodes[node].*part.*field, simplest) != simplest; };
}

/// What node `i` has to do with time, one fact after the other.
void addTimeSteps(std::vector<Step>& steps, size_t i) {
  steps.insert(steps.end(), {setIn<EventTimes, int64_t>(i, &Node::event, &EventTimes::idleMs, 0),
                             setIn<EventTimes, int64_t>(i, &Node::event, &EventTimes::driftMs, 0),
                             setIn<EventTimes, int64_t>(i, &Node::event, &EventTimes::disorderMs, 0),
                             setIn<EventTimes, int64_t>(i, &Node::event, &EventTimes::startMs, 0),
                             setIn(i, &Node::event, &EventTimes::everyRecord, false), setIn(i, &Node::event, &EventTimes::silent, false)});
  // No less than the disorder, or records would be late that were not.
  steps.push_back([i](Scenario& s) {
    EventTimes& event = s.nodes[i].event;
    return std::exchange(event.boundMs, event.disorderMs) > event.disorderMs;
  });
  steps.insert(
      steps.end(),
      {setIn<Timing, int64_t>(i, &Node::timing, &Timing::delayMs, 0), setIn<Timing, int64_t>(i, &Node::timing, &Timing::latenessMs, 0),
       setIn<Timing, int64_t>(i, &Node::timing, &Timing::offsetMs, 0), setIn(i, &Node::timing, &Timing::purging, true)});
  steps.push_back([i](Scenario& s) {
    s.nodes[i].timing.slides = 1;
    return std::exchange(s.nodes[i].timing.window, WindowKind::kTumbling) != WindowKind::kTumbling;
  });
}

/// All that could be taken away from `now`, the largest pieces first.
std::vector<Step> stepsFrom(const Scenario& now) {
  std::vector<Step> steps;
  if (now.incarnations.size() > 1)
    steps.push_back([](Scenario& s) {
      s.incarnations.pop_back();
      s.incarnations.back().stopAt.reset();
      return true;
    });
  for (size_t i = now.sinks.size(); now.sinks.size() > 1 && i-- > 0;)
    steps.push_back([i](Scenario& s) {
      s.sinks.erase(s.sinks.begin() + static_cast<std::ptrdiff_t>(i));
      removeUnread(s);
      return true;
    });
  for (int32_t i = static_cast<int32_t>(now.nodes.size()); i-- > 0;)
    if (!now.nodes[static_cast<size_t>(i)].inputs.empty())
      steps.push_back([i](Scenario& s) {
        // An audited sink needs the counts that the keyed operator makes.
        if (std::any_of(s.sinks.begin(), s.sinks.end(), [i](const Sink& sink) { return sink.from == i && sink.audit; })) return false;
        removeNode(s, i, s.nodes[static_cast<size_t>(i)].inputs[0].from[0]);
        removeUnread(s);
        return true;
      });
  for (size_t i = 0; i < now.nodes.size(); ++i)
    for (size_t input = 0; input < now.nodes[i].inputs.size(); ++input)
      if (now.nodes[i].inputs[input].from.size() > 1)
        steps.push_back([i, input](Scenario& s) {
          s.nodes[i].inputs[input].from.pop_back();
          removeUnread(s);
          return true;
        });
  dropEach(steps, now, &Scenario::bombs);
  dropEach(steps, now, &Scenario::kills);
  dropEach(steps, now, &Scenario::disk);
  steps.push_back(set(&Scenario::lostPercent, 0));
  steps.push_back(set(&Scenario::interruptible, false));
  steps.push_back(set(&Scenario::unaligned, false));
  steps.push_back(set<int64_t>(&Scenario::alignedTimeoutMs, 0));
  for (size_t i = 0; i < now.nodes.size(); ++i) {
    steps.push_back([i](Scenario& s) { return std::exchange(s.nodes[i].records, s.nodes[i].records / 2) > 1; });
    steps.push_back([i](Scenario& s) { return std::exchange(s.nodes[i].cost, Nanos{}).count() > 0; });
    steps.push_back([i](Scenario& s) { return std::exchange(s.nodes[i].newChain, false); });
    steps.push_back([i](Scenario& s) { return std::exchange(s.nodes[i].recordsPerSecond, 0) > 0; });
    if (now.timed) addTimeSteps(steps, i);
  }
  for (size_t run = 0; run < now.incarnations.size(); ++run)
    for (size_t group = 0; group < now.incarnations[run].parallelism.size(); ++group) {
      steps.push_back([=](Scenario& s) { return std::exchange(s.incarnations[run].parallelism[group], 1) > 1; });
      steps.push_back([=](Scenario& s) { return s.incarnations[run].parallelism[group]-- > 2; });
    }
  steps.insert(steps.end(), {set(&Scenario::taskManagers, 1), set(&Scenario::debloat, false), set(&Scenario::cores, 0),
                             set(&Scenario::maxConcurrent, 1), set(&Scenario::retained, 1)});
  steps.insert(steps.end(), {set<int64_t>(&Scenario::minPauseMs, 0), set<int64_t>(&Scenario::restartDelayMs, 0),
                             set<int64_t>(&Scenario::bufferTimeoutMs, 0), set<int64_t>(&Scenario::inlineBytes, 20'480),
                             set<int64_t>(&Scenario::timeoutMs, 60'000)});
  steps.insert(steps.end(), {set<uint32_t>(&Scenario::segmentSize, 256), set(&Scenario::chaining, true)});
  return steps;
}

}  // namespace

Failure failureOf(const Outcome& outcome) {
  return outcome.problems.empty() ? Failure() : Failure(kindOf(outcome.problems.front()));
}

Failure failureOf(const Scenario& scenario) {
  int ends[2];
  WEIR_CHECK_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  WEIR_CHECK_GE(child, 0);
  if (child == 0) {
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGTERM}) ::signal(signal, SIG_DFL);
    ::close(STDERR_FILENO);  // what it dies with was seen once already
    const std::string told = failureOf(simulate(scenario)).value_or("");
    ::_exit(::write(ends[1], told.data(), told.size()) == static_cast<ssize_t>(told.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  const std::string told = readAll(ends[0]);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "signal " + std::string(::strsignal(WTERMSIG(status)));
  if (told.empty() && WEXITSTATUS(status) != 0) return "exit " + std::to_string(WEXITSTATUS(status));  // a sanitizer's way to end it
  return told.empty() ? Failure() : Failure(told);
}

Shrunk shrink(Scenario scenario, const std::string& failure, int maxRuns, const std::function<Failure(const Scenario&)>& run) {
  Shrunk shrunk{std::move(scenario)};
  constexpr Nanos kPatience = std::chrono::seconds(60);  // a scenario that stands still takes seconds
  const Nanos end = SystemClock::instance().monotonic() + kPatience;
  const auto mayGoOn = [&] { return shrunk.runs < maxRuns && SystemClock::instance().monotonic() < end; };
  for (bool smaller = true; smaller;) {
    smaller = false;
    const std::vector<Step> steps = stepsFrom(shrunk.scenario);
    for (size_t i = 0; i < steps.size() && mayGoOn(); ++i) {
      Scenario candidate = shrunk.scenario;
      if (!steps[i](candidate)) continue;
      ++shrunk.runs;
      if (run(candidate) != failure) continue;
      shrunk.scenario = std::move(candidate);
      smaller = true;
      break;  // the steps are numbered by what was there before
    }
  }
  return shrunk;
}

Shrunk shrink(Scenario scenario, const std::string& failure, int maxRuns) {
  return shrink(std::move(scenario), failure, maxRuns, [](const Scenario& s) { return failureOf(s); });
}

}  // namespace weir::sim
