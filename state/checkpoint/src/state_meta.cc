#include "weir/checkpoint/state_meta.h"

#include "weir/base/check.h"

namespace weir {

namespace {

constexpr int32_t kHeaderVersion = 6;
constexpr std::string_view kWhat = "its header";

void writeShortCount(DataOutput& out, size_t n) {
  WEIR_CHECK_LE(n, size_t{32767});
  out.writeShort(static_cast<int16_t>(n));
}

bool readVersionAndCompression(DataInput& in) {
  const int32_t version = in.readInt();
  if (in.ok() && version != kHeaderVersion) return in.fail("has another version than 6, that of Flink 2.3");
  if (in.readBoolean())
    return in.fail("is compressed with Snappy, which Weir does not read (execution.checkpointing.snapshot-compression)");
  return in.ok();
}

size_t readCount(DataInput& in, int32_t count, size_t minimum) {
  if (count >= 0 && static_cast<size_t>(count) <= in.remaining() / minimum) return static_cast<size_t>(count);
  in.fail("announces more entries than there are bytes");
  return 0;
}

Result<std::vector<StateMeta>> readStates(DataInput& in) {
  std::vector<StateMeta> states;
  for (size_t left = readCount(in, in.readShort(), 14); left > 0; --left) {
    WEIR_ASSIGN(auto meta, StateMeta::readFrom(in));
    states.push_back(std::move(meta));
  }
  if (in.failed()) return in.error(kWhat);
  return states;
}

}  // namespace

const std::string* StateMeta::option(std::string_view key) const {
  for (const auto& [name, value] : options)
    if (name == key) return &value;
  return nullptr;
}

const SerializerSnapshot* StateMeta::serializer(std::string_view role) const {
  for (const auto& [name, snapshot] : serializers)
    if (name == role) return &snapshot;
  return nullptr;
}

void StateMeta::writeTo(DataOutput& out) const {
  out.writeUtf(name);
  out.writeInt(static_cast<int32_t>(kind));
  out.writeInt(static_cast<int32_t>(options.size()));
  for (const auto& [key, value] : options) {
    out.writeUtf(key);
    out.writeUtf(value);
  }
  out.writeInt(static_cast<int32_t>(serializers.size()));
  for (const auto& [role, snapshot] : serializers) {
    out.writeUtf(role);
    snapshot.writeVersioned(out);
  }
}

Result<StateMeta> StateMeta::readFrom(DataInput& in) {
  StateMeta meta;
  meta.name = in.readUtf();
  const int32_t kind = in.readInt();
  if (kind < 0 || kind > static_cast<int32_t>(Kind::kTimerQueue)) in.fail("has a state of an unknown kind");
  meta.kind = static_cast<Kind>(kind);
  for (size_t left = readCount(in, in.readInt(), 4); left > 0 && in.ok(); --left) {
    std::string key = in.readUtf();
    meta.options.emplace_back(std::move(key), in.readUtf());
  }
  for (size_t left = readCount(in, in.readInt(), 12); left > 0 && in.ok(); --left) {
    std::string role = in.readUtf();
    if (in.failed()) break;
    WEIR_ASSIGN(auto snapshot, SerializerSnapshot::readVersioned(in));
    meta.serializers.emplace_back(std::move(role), std::move(snapshot));
  }
  if (in.failed()) return in.error(kWhat);
  return meta;
}

void KeyedStateHeader::writeTo(DataOutput& out) const {
  out.writeInt(kHeaderVersion);
  out.writeBoolean(false);
  key.writeVersioned(out);
  writeShortCount(out, states.size());
  for (const auto& state : states) state.writeTo(out);
}

Result<KeyedStateHeader> KeyedStateHeader::readFrom(DataInput& in) {
  KeyedStateHeader header;
  if (!readVersionAndCompression(in)) return in.error(kWhat);
  WEIR_ASSIGN(header.key, SerializerSnapshot::readVersioned(in));
  WEIR_ASSIGN(header.states, readStates(in));
  return header;
}

void OperatorStateHeader::writeTo(DataOutput& out) const {
  out.writeInt(kHeaderVersion);
  out.writeBoolean(false);
  for (const auto* all : {&states, &broadcastStates}) {
    writeShortCount(out, all->size());
    for (const auto& state : *all) state.writeTo(out);
  }
}

Result<OperatorStateHeader> OperatorStateHeader::readFrom(DataInput& in) {
  OperatorStateHeader header;
  if (!readVersionAndCompression(in)) return in.error(kWhat);
  WEIR_ASSIGN(header.states, readStates(in));
  WEIR_ASSIGN(header.broadcastStates, readStates(in));
  return header;
}

}  // namespace weir
