#include "keyed_entries.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {

namespace {

std::span<const uint8_t> partOf(DataInput& in, const ValueShape& shape) {
  const uint8_t* start = in.at();
  return shape.skip(in) ? std::span<const uint8_t>(start, in.at()) : std::span<const uint8_t>();
}

/// A length that follows what could be mistaken for its neighbour: little end first, ends with the byte that leaves nothing.
void skipLength(DataInput& in, size_t length) {
  do {
    in.readUnsignedByte();
    length >>= 8;
  } while (length != 0);
}

int64_t timestampOf(DataInput& in) { return static_cast<int64_t>(static_cast<uint64_t>(in.readLong()) ^ (uint64_t{1} << 63)); }

constexpr uint8_t kStateFollows = 0x80;
constexpr uint16_t kEndOfKeyGroup = 0xffff;

}  // namespace

Result<KeyedEntries> KeyedEntries::of(const KeyedStateHeader& header, int32_t maxParallelism) {
  KeyedEntries entries;
  entries.keyGroupBytes_ = maxParallelism > 128 ? 2 : 1;
  WEIR_ASSIGN(entries.key_, ValueShape::of(header.key));
  for (const StateMeta& meta : header.states) {
    State state;
    state.isTimer = meta.kind == StateMeta::Kind::kTimerQueue;
    const SerializerSnapshot *value = meta.serializer(kValueSerializer), *space = meta.serializer(kNamespaceSerializer);
    if (state.isTimer && value && value->nested.size() == 2) {
      space = &value->nested[1];
      value = nullptr;
    }
    if (!space || (!value && !state.isTimer))
      return Error{ErrorCode::kCorrupt, fmt::format("its state \"{}\" lacks a serializer", meta.name)};
    WEIR_ASSIGN(state.nameSpace, ValueShape::of(*space));
    if (value) {
      WEIR_ASSIGN(state.value, ValueShape::of(*value));
    }
    const std::string* type = meta.option(kKeyedStateTypeOption);
    state.isMap = type && *type == "MAP" && state.value && state.value->kind() == ValueShape::Kind::kMap;
    state.isList = type && *type == "LIST" && state.value && state.value->kind() == ValueShape::Kind::kList;
    entries.states_.push_back(std::move(state));
  }
  return entries;
}

Result<void> KeyedEntries::forEach(const KeyGroupsHandle& handle, std::span<const uint8_t> file, const Visit& visit) const {
  const bool canonical = handle.format == KeyGroupsHandle::Format::kCanonicalSavepoint;
  if (handle.offsets.size() != static_cast<size_t>(handle.range.size()))
    return Error{ErrorCode::kCorrupt, fmt::format("has {} offsets for {} key groups", handle.offsets.size(), handle.range.size())};
  for (int32_t group = handle.range.first; group <= handle.range.last; ++group) {
    const int64_t offset = handle.offsets[static_cast<size_t>(group - handle.range.first)];
    if (canonical && offset == 0) continue;  // nothing there
    if (offset < 0 || static_cast<uint64_t>(offset) >= file.size())
      return Error{ErrorCode::kCorrupt, fmt::format("has {} bytes, but its key group {} starts at {}", file.size(), group, offset)};
    DataInput in(file.subspan(static_cast<size_t>(offset)));
    if (canonical)
      readCanonicalGroup(in, group, visit);
    else
      readHeapGroup(in, group, visit);
    if (in.failed()) return in.error(fmt::format("its key group {}, which starts at byte {},", group, offset));
  }
  return {};
}

void KeyedEntries::readHeapGroup(DataInput& in, int32_t keyGroup, const Visit& visit) const {
  if (in.readInt() != keyGroup) in.fail("does not start with its number");
  for (size_t left = states_.size(); left > 0 && in.ok(); --left) {
    const size_t number = in.readUnsignedShort();
    const int32_t count = in.readInt();
    if (in.failed()) return;
    if (number >= states_.size() || count < 0 || static_cast<size_t>(count) > in.remaining())
      return (void)in.fail("has a state number or a count that cannot be");
    const State& state = states_[number];
    for (int32_t i = 0; i < count; ++i) {
      KeyedEntry entry{.state = number, .keyGroup = keyGroup};
      const uint8_t* start = in.at();
      if (state.isTimer) {
        entry.timestamp = timestampOf(in);
        entry.key = partOf(in, *key_);
        entry.nameSpace = partOf(in, *state.nameSpace);
      } else {
        entry.nameSpace = partOf(in, *state.nameSpace);
        entry.key = partOf(in, *key_);
        entry.value = partOf(in, *state.value);
      }
      if (in.failed()) return;
      entry.bytes = in.at() - start;
      visit(entry);
    }
  }
}

void KeyedEntries::readCanonicalGroup(DataInput& in, int32_t keyGroup, const Visit& visit) const {
  uint16_t number = in.readUnsignedShort();
  std::vector<uint8_t> key;
  while (in.ok() && number != kEndOfKeyGroup) {
    if (number >= states_.size()) return (void)in.fail("has a state number that cannot be");
    const int32_t keyLength = in.readInt();
    if (keyLength < 1) return (void)in.fail("has a key without bytes");
    const auto keyBytes = in.take(static_cast<size_t>(keyLength));
    const int32_t valueLength = in.readInt();
    if (valueLength < 0) return (void)in.fail("has a value with a length below zero");
    const auto value = in.take(static_cast<size_t>(valueLength));
    if (in.failed()) return;
    key.assign(keyBytes.begin(), keyBytes.end());
    const bool stateFollows = (key[0] & kStateFollows) != 0;
    key[0] = static_cast<uint8_t>(key[0] & ~kStateFollows);
    KeyedEntry entry{.state = number, .keyGroup = keyGroup, .value = value, .bytes = keyLength + valueLength};
    if (!splitCanonicalKey(key, entry)) return (void)in.fail("has a key that its types do not fit");
    visit(entry);
    if (stateFollows) number = in.readUnsignedShort();
  }
}

/// Key group, key and name space, and the key of a map; of a timer the timestamp in front of the key.
bool KeyedEntries::splitCanonicalKey(std::span<const uint8_t> bytes, KeyedEntry& entry) const {
  const State& state = states_[entry.state];
  DataInput in(bytes);
  if ((keyGroupBytes_ == 1 ? in.readUnsignedByte() : in.readUnsignedShort()) != entry.keyGroup) return false;
  if (state.isTimer) entry.timestamp = timestampOf(in);
  entry.key = partOf(in, *key_);
  const bool ambiguous = !state.isTimer && !key_->hasFixedSize() && !state.nameSpace->hasFixedSize();
  if (ambiguous) skipLength(in, entry.key.size());
  entry.nameSpace = partOf(in, *state.nameSpace);
  if (ambiguous) skipLength(in, entry.nameSpace.size());
  if (state.isMap && in.ok()) entry.mapKey = in.rest();
  return in.ok() && (state.isMap || in.remaining() == 0);
}

}  // namespace weir
