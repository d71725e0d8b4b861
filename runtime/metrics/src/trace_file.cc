#include "weir/metrics/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "weir/base/check.h"

namespace weir {
namespace {

constexpr std::string_view kFormat = "weir barrier trace";
constexpr int kVersion = 1;
constexpr Millis kInterval{100};

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

void appendTrack(std::string& out, size_t number, const BarrierTrace::Track& track) {
  fmt::format_to(std::back_inserter(out), "{{\"track\":{},\"process\":{},\"name\":{}}}\n", number, quoted(track.process),
                 quoted(track.name));
}

void appendEvent(std::string& out, const BarrierTraceEvent& event, Nanos start) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{{\"ns\":{},\"track\":{},\"checkpoint\":{},\"step\":\"{}\"", (event.at - start).count(), event.track,
                 event.checkpointId, barrierStepName(event.step));
  const auto field = [&](const char* name, int64_t value) {
    if (value >= 0) fmt::format_to(to, ",\"{}\":{}", name, value);
  };
  field("gate", event.details.gate);
  field("channel", event.details.channel);
  field("count", event.details.count);
  field("bytes", event.details.bytes);
  field("duration-ns", event.details.durationNanos);
  field("of", event.details.of);
  out += "}\n";
}

/// Members of one line; what is missing or of another kind is remembered as an error.
class Line {
 public:
  explicit Line(const nlohmann::json& json) : json_(json) {}
  bool has(const char* key) const { return json_.contains(key); }
  int64_t number(const char* key, int64_t lowest, int64_t highest) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_number_integer()) return fail(key, "a number is expected");
    const auto value = found->get<int64_t>();
    if (value < lowest || value > highest) return fail(key, "out of range");
    return value;
  }
  int64_t numberOr(const char* key, int64_t fallback, int64_t highest = std::numeric_limits<int64_t>::max()) {
    return has(key) ? number(key, 0, highest) : fallback;
  }
  std::string text(const char* key) {
    const auto found = json_.find(key);
    if (found != json_.end() && found->is_string()) return found->get<std::string>();
    fail(key, "text is expected");
    return {};
  }
  const std::string& error() const { return error_; }

  int64_t fail(const char* key, const char* why) {
    if (error_.empty()) error_ = fmt::format("\"{}\": {}", key, why);
    return 0;
  }

 private:
  const nlohmann::json& json_;
  std::string error_;
};

constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();
constexpr int32_t kMaxIndex = std::numeric_limits<int32_t>::max();

std::string readTrack(Line& line, BarrierTraceFile& file) {
  const int64_t number = line.number("track", 0, kMaxIndex);
  BarrierTrace::Track track{line.text("process"), line.text("name")};
  if (line.error().empty() && number != static_cast<int64_t>(file.tracks.size())) line.fail("track", "tracks count from 0 without a gap");
  file.tracks.push_back(std::move(track));
  return line.error();
}

std::string readEvent(Line& line, BarrierTraceFile& file) {
  BarrierTraceEvent event;
  event.at = Nanos(line.number("ns", std::numeric_limits<int64_t>::min() / 2, kMaxInt / 2));
  event.track = static_cast<uint32_t>(line.number("track", 0, static_cast<int64_t>(file.tracks.size()) - 1));
  event.checkpointId = line.number("checkpoint", 0, kMaxInt);
  const auto step = barrierStepOf(line.text("step"));
  if (step)
    event.step = *step;
  else
    line.fail("step", "there is no such step");
  event.details.gate = static_cast<int32_t>(line.numberOr("gate", -1, kMaxIndex));
  event.details.channel = static_cast<int32_t>(line.numberOr("channel", -1, kMaxIndex));
  event.details.count = line.numberOr("count", -1);
  event.details.bytes = line.numberOr("bytes", -1);
  event.details.durationNanos = line.numberOr("duration-ns", -1);
  event.details.of = static_cast<int32_t>(line.numberOr("of", -1, static_cast<int64_t>(file.tracks.size()) - 1));
  file.events.push_back(event);
  return line.error();
}

std::string readLine(const nlohmann::json& json, size_t number, BarrierTraceFile& file) {
  if (!json.is_object()) return "an object is expected";
  Line line(json);
  if (number > 1) return line.has("step") ? readEvent(line, file) : readTrack(line, file);
  if (line.text("format") != kFormat) return "this is no barrier trace; -D weir.trace.path=FILE writes one";
  if (line.number("version", 1, kMaxInt) > kVersion) return "the trace was written by a newer version of weir";
  file.startEpochMs = line.number("start-epoch-ms", 0, kMaxInt);
  return line.error();
}

}  // namespace

Result<BarrierTraceFile> readBarrierTrace(FileSystem& files, const std::string& path) {
  if (files.isDirectory(path)) return Error{ErrorCode::kInvalidArgument, path + ": this is a directory, a trace file is expected"};
  WEIR_ASSIGN(const auto bytes, files.readAll(path));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  BarrierTraceFile file;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos && number > 0) break;  // cut off
    const std::string_view line = text.substr(at, end == std::string_view::npos ? end : end - at);
    at = end == std::string_view::npos ? text.size() : end + 1;
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    ++number;
    const std::string problem =
        json.is_discarded() ? (number == 1 ? "this is no barrier trace" : "this is no JSON") : readLine(json, number, file);
    if (!problem.empty()) return Error{ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", path, number, problem)};
  }
  if (number == 0) return Error{ErrorCode::kInvalidArgument, path + ": the file is empty, a barrier trace is expected"};
  std::stable_sort(file.events.begin(), file.events.end(), [](const auto& a, const auto& b) {
    return std::pair(a.at, a.step) < std::pair(b.at, b.step);
  });
  return file;
}

struct BarrierTraceWriter::State {
  State(World& world, std::string filePath, std::shared_ptr<BarrierTrace> events)
      : log(world.log, "weir.metrics.BarrierTraceWriter"), path(std::move(filePath)), trace(std::move(events)) {}

  void writeWhatIsNew(ExecutionContext& context) {
    events.clear();
    trace->drain(events);
    std::string text;
    for (const auto& track : trace->tracksFrom(tracks)) appendTrack(text, tracks++, track);
    for (const auto& event : events) appendEvent(text, event, start);
    if (!text.empty()) write(context, text);
  }
  void write(ExecutionContext& context, const std::string& text) {
    if (!file) return;
    Result<void> written;
    context.blocking([&] { written = file->append(std::as_bytes(std::span(text))); });
    if (written.has_value()) return;
    log.warn("The barrier trace ends here: {}", written.error().message);
    file.reset();
  }
  void run(ExecutionContext& context) {
    bool last = false;
    while (!last) {
      context.wait(WaitReason::kInputOrMail, {&stopping}, Deadline::housekeeping(context.clock().monotonic() + kInterval));
      last = stopping.isSet();
      writeWhatIsNew(context);
    }
    if (file) context.blocking([&] { (void)file->close(); });
    file.reset();
  }

  Logger log;
  const std::string path;
  const std::shared_ptr<BarrierTrace> trace;
  Nanos start{};
  std::unique_ptr<WritableFile> file;
  Signal stopping{"barrier trace"};
  size_t tracks = 0;
  std::vector<BarrierTraceEvent> events;
};

BarrierTraceWriter::BarrierTraceWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}
BarrierTraceWriter::~BarrierTraceWriter() = default;

Result<std::unique_ptr<BarrierTraceWriter>> BarrierTraceWriter::start(World& world, const std::string& path,
                                                                      std::shared_ptr<BarrierTrace> trace) {
  auto state = std::make_shared<State>(world, path, std::move(trace));
  WEIR_ASSIGN(state->file, world.fileSystem.create(path, FileSystem::Create::kTruncate));
  const Clock& clock = world.executor.clock();
  state->start = clock.monotonic();
  const std::string header =
      fmt::format("{{\"format\":\"{}\",\"version\":{},\"start-epoch-ms\":{}}}\n", kFormat, kVersion, clock.epochMillis());
  WEIR_TRY(state->file->append(std::as_bytes(std::span(header))));
  std::unique_ptr<BarrierTraceWriter> writer(new BarrierTraceWriter(state));
  writer->actor_ = world.executor.spawn({.name = "barrier trace writer"}, [state](ExecutionContext& context) { state->run(context); });
  return writer;
}

void BarrierTraceWriter::stop(ExecutionContext& context) {
  state_->stopping.set();
  context.wait(WaitReason::kInputOrMail, {&actor_->done()});
}

}  // namespace weir
