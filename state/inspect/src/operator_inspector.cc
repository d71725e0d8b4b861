#include "operator_inspector.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/checkpoint/checkpoint_files.h"

namespace weir {

namespace {

std::span<const uint8_t> asBytes(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::string textOf(const ValueShape& shape, std::span<const uint8_t> bytes) {
  DataInput in(bytes);
  std::string text;
  return shape.print(in, text) ? text : std::string();
}

/// Elements of a list as a canonical savepoint has them, with a comma between two.
int64_t forEachElement(const ValueShape& element, std::span<const uint8_t> bytes, std::string* into) {
  DataInput in(bytes);
  int64_t count = 0;
  while (in.remaining() > 0) {
    if (count > 0 && in.readUnsignedByte() != ',') break;
    if (into && count > 0) *into += ',';
    if (!(into ? element.print(in, *into) : element.skip(in))) break;
    ++count;
  }
  return count;
}

/// How many elements or pairs an entry stands for, and its value as JSON where it is wanted.
int64_t countValue(const KeyedEntries& entries, const KeyedEntry& entry, bool canonical, std::string* into) {
  const ValueShape* shape = entries.valueOf(entry.state);
  if (!shape) return 1;
  DataInput in(entry.value);
  if (canonical && entries.isMap(entry.state)) {  // a byte that says whether the value is null, and the value
    if (into) {
      *into = "[[" + textOf(shape->nested()[0], *entry.mapKey) + ",";
      const bool null = in.readBoolean();
      *into += (null ? "null" : textOf(shape->nested()[1], in.rest())) + "]]";
    }
    return 1;
  }
  if (canonical && entries.isList(entry.state)) {
    if (into) *into = "[";
    const int64_t count = forEachElement(shape->nested()[0], entry.value, into);
    if (into) *into += "]";
    return count;
  }
  if (into) *into = textOf(*shape, entry.value);
  return entries.isMap(entry.state) || entries.isList(entry.state) ? DataInput(entry.value).readInt() : 1;
}

/// Bytes between the starts of key groups, or the end of the file.
void addKeyGroupBytes(const KeyGroupsHandle& handle, std::vector<int64_t>& bytes) {
  std::vector<int64_t> starts = handle.offsets;
  std::sort(starts.begin(), starts.end());
  const bool canonical = handle.format == KeyGroupsHandle::Format::kCanonicalSavepoint;
  const size_t groups = std::min(handle.offsets.size(), static_cast<size_t>(handle.range.size()));
  for (size_t i = 0; i < groups; ++i) {
    const int64_t start = handle.offsets[i];
    if (canonical && start == 0) continue;
    const auto next = std::upper_bound(starts.begin(), starts.end(), start);
    const int64_t end = next == starts.end() ? stateSize(handle.stream) : *next;
    bytes[static_cast<size_t>(handle.range.first) + i] += std::max<int64_t>(0, end - start);
  }
}

}  // namespace

OperatorInspector::OperatorInspector(const OperatorState& state, StateFiles& files, const InspectionOptions& options)
    : state_(state), files_(files), options_(options) {
  result_ = {.name = state.name,
             .uid = state.uid,
             .id = state.id.toString(),
             .parallelism = state.parallelism,
             .maxParallelism = state.maxParallelism,
             .fullyFinished = state.fullyFinished,
             .coordinatorBytes = stateSize(state.coordinatorState)};
}

InspectedOperator OperatorInspector::run() {
  files_.add(state_.coordinatorState);
  for (const int32_t index : state_.finishedSubtasks) result_.subtasks.push_back({.index = index, .finished = true});
  for (const auto& [index, subtask] : state_.subtasks) {
    forEachStream(subtask, [&](const StreamHandle& handle) { files_.add(handle); });
    inspectSubtask(index, subtask);
  }
  std::sort(result_.subtasks.begin(), result_.subtasks.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  std::stable_sort(result_.channels.begin(), result_.channels.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  rankKeys();
  return std::move(result_);
}

void OperatorInspector::inspectSubtask(int32_t index, const OperatorSubtaskState& state) {
  InspectedSubtask subtask{.index = index};
  for (const auto& handle : state.managedOperator) {
    subtask.managedOperator += stateSize(handle.stream);
    inspectOperatorState(index, handle);
  }
  for (const auto& handle : state.rawOperator) subtask.rawOperator += stateSize(handle.stream);
  for (const auto& any : state.managedKeyed) {
    if (const auto* groups = std::get_if<KeyGroupsHandle>(&any)) {
      subtask.managedKeyed += stateSize(groups->stream);
      subtask.keyGroups = groups->range;
      inspectKeyGroups(index, *groups);
    } else {
      const auto& rocks = std::get<RocksDbHandle>(any);
      subtask.managedKeyed += stateSize(rocks.meta);
      for (const auto* files : {&rocks.sharedFiles, &rocks.privateFiles})
        for (const auto& [name, stream] : *files) subtask.managedKeyed += stateSize(stream);
      subtask.keyGroups = rocks.range;
      inspectRocksDb(rocks);
    }
  }
  for (const auto& any : state.rawKeyed)
    if (const auto* groups = std::get_if<KeyGroupsHandle>(&any)) subtask.rawKeyed += stateSize(groups->stream);
  for (const auto& handle : state.inputChannels) {
    subtask.inputChannels += handle.size;
    inspectChannels(handle, false);
  }
  for (const auto& handle : state.outputChannels) {
    subtask.outputChannels += handle.size;
    inspectChannels(handle, true);
  }
  result_.subtasks.push_back(subtask);
}

void OperatorInspector::inspectOperatorState(int32_t subtask, const OperatorStateHandle& handle) {
  const auto bytes = files_.read(handle.stream, options_.largestDecodedFile);
  if (bytes.has_error()) return cannotDecode(fmt::format("operator state of subtask {}", subtask), bytes.error());
  DataInput head(asBytes(*bytes));
  const auto header = OperatorStateHeader::readFrom(head);
  if (header.has_error()) return cannotDecode(describe(handle.stream), header.error());
  for (const auto* metas : {&header->states, &header->broadcastStates}) {
    for (const StateMeta& meta : *metas) {
      const auto named = std::find_if(handle.states.begin(), handle.states.end(), [&](const auto& s) { return s.name == meta.name; });
      const SerializerSnapshot *value = meta.serializer(kValueSerializer), *key = meta.serializer(kKeySerializer);
      if (named == handle.states.end() || !value) continue;
      const std::string* mode = meta.option(kDistributionModeOption);
      InspectedState& state =
          stateNamed(meta.name, mode ? *mode : "?", key ? key->toString() + " to " + value->toString() : value->toString());
      auto shape = ValueShape::of(*value);
      std::optional<ValueShape> keyShape;
      if (key && shape.has_value()) {
        auto one = ValueShape::of(*key);
        if (one.has_error())
          shape = one.error();
        else
          keyShape = std::move(*one);
      }
      if (shape.has_error()) {
        cannotDecode(fmt::format("state \"{}\"", meta.name), shape.error());
        continue;
      }
      if (!state.entries) state.entries = 0;
      for (const int64_t offset : named->offsets) {
        if (offset < 0 || static_cast<size_t>(offset) > bytes->size()) {
          cannotDecode(describe(handle.stream), Error{ErrorCode::kCorrupt, fmt::format("an element of \"{}\" starts at byte {} of {}",
                                                                                       meta.name, offset, bytes->size())});
          break;
        }
        DataInput in(asBytes(*bytes).subspan(static_cast<size_t>(offset)));
        for (int32_t left = key ? in.readInt() : 1; left > 0 && in.ok(); --left) {
          const uint8_t* start = in.at();
          InspectedEntry entry{.subtask = subtask};
          if (keyShape) keyShape->print(in, entry.key);
          shape->print(in, entry.value);
          if (in.failed()) break;
          ++*state.entries;
          state.bytes += in.at() - start;
          if (state.examples.size() < options_.examples) state.examples.push_back(std::move(entry));
        }
        if (in.failed()) {
          cannotDecode(describe(handle.stream), in.error(fmt::format("an element of \"{}\" at byte {}", meta.name, offset)));
          break;
        }
      }
    }
  }
}

void OperatorInspector::inspectKeyGroups(int32_t subtask, const KeyGroupsHandle& handle) {
  if (handle.range.first >= 0 && handle.range.last < state_.maxParallelism) {
    result_.keyGroupBytes.resize(static_cast<size_t>(state_.maxParallelism));
    addKeyGroupBytes(handle, result_.keyGroupBytes);
  }
  const auto bytes = files_.read(handle.stream, options_.largestDecodedFile);
  if (bytes.has_error()) return cannotDecode(fmt::format("keyed state of subtask {}", subtask), bytes.error());
  DataInput head(asBytes(*bytes));
  const auto header = KeyedStateHeader::readFrom(head);
  if (header.has_error()) return cannotDecode(describe(handle.stream), header.error());
  result_.keyType = header->key.toString();
  decodeKeyGroups(subtask, handle, *header, asBytes(*bytes));
}

void OperatorInspector::decodeKeyGroups(int32_t subtask, const KeyGroupsHandle& handle, const KeyedStateHeader& header,
                                        std::span<const uint8_t> file) {
  std::vector<std::string> names;
  for (const StateMeta& meta : header.states) names.push_back(stateOf(meta).name);
  const auto entries = KeyedEntries::of(header, state_.maxParallelism);
  if (entries.has_error()) return cannotDecode(describe(handle.stream), entries.error());
  std::vector<InspectedState*> states;
  for (const std::string& name : names) {
    states.push_back(&*std::find_if(result_.states.begin(), result_.states.end(), [&](const auto& s) { return s.name == name; }));
    if (!states.back()->entries) states.back()->entries = 0;
  }
  const bool canonical = handle.format == KeyGroupsHandle::Format::kCanonicalSavepoint;
  keyShape_ = entries->key();
  const auto visited = entries->forEach(handle, file, [&](const KeyedEntry& entry) {
    InspectedState& state = *states[entry.state];
    std::string value;
    const bool shown = state.examples.size() < options_.examples;
    const int64_t count = countValue(*entries, entry, canonical, shown ? &value : nullptr);
    *state.entries += count;
    state.bytes += entry.bytes;
    KeyTotals& key = keys_[std::string(reinterpret_cast<const char*>(entry.key.data()), entry.key.size())];
    key.keyGroup = entry.keyGroup;
    key.subtask = subtask;
    key.entries += count;
    key.bytes += entry.bytes;
    if (!shown) return;
    std::string space = textOf(entries->nameSpaceOf(entry.state), entry.nameSpace);
    if (space == "null") space.clear();
    state.examples.push_back({subtask, textOf(entries->key(), entry.key), std::move(space), std::move(value), entry.timestamp});
  });
  if (visited.has_error()) cannotDecode(describe(handle.stream), visited.error());
}

void OperatorInspector::inspectRocksDb(const RocksDbHandle& handle) {
  const auto bytes = files_.read(handle.meta, options_.largestDecodedFile);
  if (bytes.has_error()) return cannotDecode("the list of states", bytes.error());
  DataInput in(asBytes(*bytes));
  const auto header = KeyedStateHeader::readFrom(in);
  if (header.has_error()) return cannotDecode(describe(handle.meta), header.error());
  result_.keyType = header->key.toString();
  for (const StateMeta& meta : header->states) stateOf(meta);
  const std::string why = "values in files of RocksDB are not decoded: take a canonical savepoint to see them";
  if (std::find(result_.notDecoded.begin(), result_.notDecoded.end(), why) == result_.notDecoded.end()) result_.notDecoded.push_back(why);
}

void OperatorInspector::inspectChannels(const ChannelStateHandle& handle, bool isOutput) {
  for (const auto& channel : handle.channels)
    result_.channels.push_back({isOutput, handle.subtask, channel.gateOrPartition, channel.channelOrSubpartition, channel.size,
                                static_cast<int64_t>(channel.offsets.size())});
}

void OperatorInspector::rankKeys() {
  result_.keys = static_cast<int64_t>(keys_.size());
  using Item = std::pair<const std::string*, const KeyTotals*>;
  std::vector<Item> all;
  for (const auto& [key, totals] : keys_) all.emplace_back(&key, &totals);
  const size_t wanted = std::min(options_.heaviestKeys, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(wanted), all.end(), [](const Item& a, const Item& b) {
    return a.second->bytes != b.second->bytes ? a.second->bytes > b.second->bytes : *a.first < *b.first;
  });
  for (size_t i = 0; i < wanted; ++i) {
    const auto& [key, totals] = all[i];
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(key->data()), key->size());
    result_.heaviestKeys.push_back({textOf(*keyShape_, bytes), totals->keyGroup, totals->subtask, totals->entries, totals->bytes});
  }
}

InspectedState& OperatorInspector::stateNamed(const std::string& name, const std::string& kind, const std::string& type) {
  for (InspectedState& state : result_.states)
    if (state.name == name && state.kind == kind) return state;
  result_.states.push_back({.name = name, .kind = kind, .type = type});
  return result_.states.back();
}

InspectedState& OperatorInspector::stateOf(const StateMeta& meta) {
  const SerializerSnapshot* value = meta.serializer(kValueSerializer);
  const std::string* type = meta.option(kKeyedStateTypeOption);
  const bool timers = meta.kind == StateMeta::Kind::kTimerQueue;
  return stateNamed(meta.name, timers ? "TIMERS" : type ? *type : "?", value ? value->toString() : "?");
}

void OperatorInspector::cannotDecode(const std::string& what, const Error& why) {
  const std::string sentence = fmt::format("{}: {}", what, why.message);
  result_.isDamaged = result_.isDamaged || why.code == ErrorCode::kCorrupt || why.code == ErrorCode::kNotFound;
  if (std::find(result_.notDecoded.begin(), result_.notDecoded.end(), sentence) == result_.notDecoded.end())
    result_.notDecoded.push_back(sentence);
}

}  // namespace weir
