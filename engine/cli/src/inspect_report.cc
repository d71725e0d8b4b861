#include "inspect_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "weir/cli/terminal.h"

namespace weir {

namespace {

using Align = TextTable::Align;

/// Bytes as people read them, in binary multiples: "302 B", "3.4 KiB".
std::string humanBytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, kUnits[unit]);
}
std::string orDash(int64_t bytes) { return bytes == 0 ? "-" : humanBytes(bytes); }
std::string shortened(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not in the middle of a character
  return text.substr(0, end) + "...";
}

std::string bar(int64_t value, int64_t most, size_t width) {
  if (most <= 0 || value <= 0) return {};
  const size_t eighths =
      std::max<size_t>(1, static_cast<size_t>(static_cast<double>(value) / static_cast<double>(most) * static_cast<double>(width * 8)));
  constexpr std::array<const char*, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string text;
  for (size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kParts[eighths % 8];
}

/// One sign for each of up to 64 runs of neighbouring values, as high as the largest of the run.
std::string skyline(const std::vector<int64_t>& values) {
  constexpr std::array<const char*, 9> kHeights{"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t each = (values.size() + 63) / 64;
  const int64_t most = *std::max_element(values.begin(), values.end());
  std::string text;
  for (size_t from = 0; from < values.size(); from += each) {
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), from + each));
    const int64_t value = *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(from), end);
    text += kHeights[value <= 0 || most <= 0 ? 0 : 1 + static_cast<size_t>(static_cast<double>(value) / static_cast<double>(most) * 7)];
  }
  return text;
}

std::string kindOf(const CheckpointInspection& inspection) {
  if (!inspection.properties) return "checkpoint or savepoint";
  const CheckpointProperties& properties = *inspection.properties;
  if (!isSavepoint(properties.type)) return "checkpoint";
  std::string kind = properties.format == SavepointFormat::kCanonical ? "canonical savepoint" : "native savepoint";
  if (properties.type == SnapshotType::kSavepointSuspend) kind += ", taken to stop the job";
  if (properties.type == SnapshotType::kSavepointTerminate) kind += ", taken to drain and stop the job";
  return kind;
}

std::string titleOf(const InspectedOperator& op) {
  return fmt::format("{}  {}uid hash {}", op.name.empty() ? "operator" : op.name, op.uid.empty() ? "" : "uid " + op.uid + ", ", op.id);
}

void printOperators(std::ostream& out, const CheckpointInspection& inspection, bool colour) {
  TextTable table({{"OPERATOR"},
                   {"UID"},
                   {"PARALLELISM", Align::kRight},
                   {"MAX", Align::kRight},
                   {"STATE", Align::kRight},
                   {"KEYED", Align::kRight},
                   {"OPERATOR STATE", Align::kRight},
                   {"IN FLIGHT", Align::kRight},
                   {""}});
  int64_t most = 0;
  for (const auto& op : inspection.operators) most = std::max(most, op.total());
  for (const auto& op : inspection.operators) {
    int64_t keyed = 0, state = op.coordinatorBytes, inFlight = 0;
    for (const auto& subtask : op.subtasks) {
      keyed += subtask.keyedState();
      state += subtask.operatorState();
      inFlight += subtask.inFlight();
    }
    table.addRow({op.name.empty() ? op.id : op.name, op.uid, std::to_string(op.parallelism), std::to_string(op.maxParallelism),
                  orDash(op.total()), orDash(keyed), orDash(state), orDash(inFlight), bar(op.total(), most, 16)});
  }
  table.print(out, colour);
}

void printSubtasks(std::ostream& out, const InspectedOperator& op, bool colour) {
  TextTable table({{"SUBTASK", Align::kRight},
                   {"KEY GROUPS"},
                   {"KEYED", Align::kRight},
                   {"OPERATOR STATE", Align::kRight},
                   {"INPUT", Align::kRight},
                   {"OUTPUT", Align::kRight},
                   {"TOTAL", Align::kRight},
                   {""}});
  int64_t most = 0;
  for (const auto& subtask : op.subtasks) most = std::max(most, subtask.total());
  for (const auto& subtask : op.subtasks) {
    const std::string groups = subtask.keyGroups.size() == 0 ? "-" : fmt::format("{}-{}", subtask.keyGroups.first, subtask.keyGroups.last);
    table.addRow({std::to_string(subtask.index), subtask.finished ? "finished" : groups, orDash(subtask.keyedState()),
                  orDash(subtask.operatorState()), orDash(subtask.inputChannels), orDash(subtask.outputChannels), orDash(subtask.total()),
                  bar(subtask.total(), most, 24)});
  }
  table.print(out, colour);
}

void printKeyGroups(std::ostream& out, const InspectedOperator& op) {
  if (op.keyGroupBytes.empty()) return;
  int64_t total = 0, used = 0;
  for (const int64_t bytes : op.keyGroupBytes) {
    total += bytes;
    used += bytes > 0 ? 1 : 0;
  }
  const auto most = std::max_element(op.keyGroupBytes.begin(), op.keyGroupBytes.end());
  out << fmt::format("key groups 0 to {}: {}\n", op.keyGroupBytes.size() - 1, skyline(op.keyGroupBytes));
  if (total > 0)
    out << fmt::format("  {} of them have bytes; the largest is {} with {}, {:.1f} times the mean\n", used, most - op.keyGroupBytes.begin(),
                       humanBytes(*most),
                       static_cast<double>(*most) * static_cast<double>(op.keyGroupBytes.size()) / static_cast<double>(total));
}

std::string textOf(const InspectedEntry& entry) {
  std::string text = entry.key.empty() ? "" : entry.key + " ";
  if (!entry.nameSpace.empty()) text += "in " + entry.nameSpace + " ";
  if (entry.timestamp) return text + "at " + std::to_string(*entry.timestamp);
  return (text.empty() ? "" : text + "= ") + entry.value;
}

void printStates(std::ostream& out, const InspectedOperator& op, bool colour) {
  if (op.states.empty()) return;
  TextTable table({{"STATE"}, {"KIND"}, {"TYPE"}, {"ENTRIES", Align::kRight}, {"BYTES", Align::kRight}});
  for (const auto& state : op.states)
    table.addRow({state.name, state.kind, shortened(state.type, 60), state.entries ? withThousands(*state.entries) : "?",
                  state.entries ? withThousands(state.bytes) : "?"});
  table.print(out, colour);
  for (const auto& state : op.states)
    for (const auto& entry : state.examples) out << "  " << state.name << ": " << shortened(textOf(entry), 120) << '\n';
}

void printKeys(std::ostream& out, const InspectedOperator& op, bool colour) {
  if (op.heaviestKeys.empty()) return;
  int64_t total = 0;
  for (const auto& state : op.states)
    total += state.kind == "BROADCAST" || state.kind == "UNION" || state.kind == "SPLIT_DISTRIBUTE" ? 0 : state.bytes;
  out << fmt::format("{} keys; the heaviest:\n", withThousands(op.keys));
  TextTable table({{"KEY"}, {"KEY GROUP", Align::kRight}, {"SUBTASK", Align::kRight}, {"ENTRIES", Align::kRight}, {"BYTES", Align::kRight},
                   {"SHARE", Align::kRight}, {""}});
  for (const auto& key : op.heaviestKeys)
    table.addRow({shortened(key.key, 48), std::to_string(key.keyGroup), std::to_string(key.subtask), withThousands(key.entries),
                  withThousands(key.bytes),
                  fmt::format("{:.1f} %", 100.0 * static_cast<double>(key.bytes) / static_cast<double>(std::max<int64_t>(total, 1))),
                  bar(key.bytes, op.heaviestKeys.front().bytes, 24)});
  table.print(out, colour);
}

void printChannels(std::ostream& out, const InspectedOperator& op, bool colour) {
  if (op.channels.empty()) return;
  constexpr size_t kMost = 16;
  TextTable table({{"IN FLIGHT"},
                   {"SUBTASK", Align::kRight},
                   {"GATE OR PARTITION", Align::kRight},
                   {"CHANNEL", Align::kRight},
                   {"BUFFERS", Align::kRight},
                   {"BYTES", Align::kRight},
                   {""}});
  for (size_t i = 0; i < std::min(kMost, op.channels.size()); ++i) {
    const auto& channel = op.channels[i];
    table.addRow({channel.isOutput ? "output" : "input", std::to_string(channel.subtask), std::to_string(channel.gateOrPartition),
                  std::to_string(channel.channel), withThousands(channel.buffers), withThousands(channel.bytes),
                  bar(channel.bytes, op.channels.front().bytes, 24)});
  }
  table.print(out, colour);
  if (op.channels.size() > kMost) out << fmt::format("  and {} channels with less; --output json has all\n", op.channels.size() - kMost);
}

void printFiles(std::ostream& out, const CheckpointInspection& inspection, bool all, bool colour) {
  int64_t wrong = 0, shared = 0;
  for (const auto& file : inspection.files) {
    wrong += file.isRight() ? 0 : 1;
    shared += file.isShared ? 1 : 0;
  }
  out << fmt::format("{} files of state, {} on disk", inspection.files.size(), humanBytes(inspection.sizeOnDisk()));
  if (shared > 0) out << fmt::format(", {} of them shared with other checkpoints", shared);
  out << (inspection.files.empty() ? ""
          : wrong == 0             ? ", all there\n"
                                   : styled(fmt::format(", {} missing or with another length\n", wrong), Style::kRed, colour));
  if (inspection.files.empty()) out << '\n';
  for (const auto& file : inspection.files) {
    if (file.isRight() && !all) continue;
    const std::string state = !file.sizeOnDisk ? "missing" : !file.isRight() ? fmt::format("has {} bytes", *file.sizeOnDisk) : "there";
    out << fmt::format("  {}  {} bytes, {}{}\n", file.path, file.size, state,
                       file.foundAs.empty() || file.path.ends_with(file.foundAs) ? "" : " as " + file.foundAs);
  }
}

}  // namespace

void printInspection(std::ostream& out, const CheckpointInspection& inspection, bool listFiles, bool colour) {
  out << styled(fmt::format("{} {}", kindOf(inspection), inspection.checkpointId), Style::kBold, colour) << "  " << inspection.folder
      << '\n'
      << fmt::format("{} of state in {} operators; ", humanBytes(inspection.stateSize()), inspection.operators.size());
  printFiles(out, inspection, listFiles, colour);
  out << '\n';
  printOperators(out, inspection, colour);
  for (const auto& op : inspection.operators) {
    if (op.total() == 0 && op.notDecoded.empty()) continue;
    out << '\n' << styled(titleOf(op), Style::kBold, colour) << '\n';
    if (!op.keyType.empty()) out << "keyed by " << op.keyType << '\n';
    printSubtasks(out, op, colour);
    printKeyGroups(out, op);
    printStates(out, op, colour);
    printKeys(out, op, colour);
    printChannels(out, op, colour);
    for (const auto& sentence : op.notDecoded) out << styled("not decoded: " + sentence, Style::kYellow, colour) << '\n';
  }
}

}  // namespace weir
