#include "weir/checkpoint/state_meta.h"

#include <algorithm>
#include <array>

#include "weir/backend/time_window.h"
#include "weir/base/check.h"
#include "weir/record/serializer.h"

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

Result<ValueSkipper> ValueSkipper::of(const SerializerSnapshot& snapshot) {
  struct Known {
    std::string className;
    Shape shape;
    size_t sizeOrParts;
  };
  auto fixed = [](const SerializerSnapshot& s, size_t size) { return Known{s.className, Shape::kFixed, size}; };
  static const std::array<Known, 15> kKnown{{fixed(Serializer<bool>::snapshot(), 1),
                                             fixed(Serializer<int8_t>::snapshot(), 1),
                                             fixed(Serializer<int16_t>::snapshot(), 2),
                                             fixed(Serializer<int32_t>::snapshot(), 4),
                                             fixed(Serializer<int64_t>::snapshot(), 8),
                                             fixed(Serializer<float>::snapshot(), 4),
                                             fixed(Serializer<double>::snapshot(), 8),
                                             fixed(Serializer<char16_t>::snapshot(), 2),
                                             fixed(Serializer<VoidNamespace>::snapshot(), 1),
                                             fixed(Serializer<TimeWindow>::snapshot(), 16),
                                             {Serializer<std::string>::snapshot().className, Shape::kString, 0},
                                             {Serializer<std::vector<uint8_t>>::snapshot().className, Shape::kBytes, 0},
                                             {SerializerSnapshot::list({}).className, Shape::kList, 1},
                                             {SerializerSnapshot::map({}, {}).className, Shape::kMap, 2},
                                             {SerializerSnapshot::nullable({}).className, Shape::kNullable, 1}}};
  ValueSkipper skipper;
  for (const auto& nested : snapshot.nested) {
    WEIR_ASSIGN(auto part, of(nested));
    skipper.nested_.push_back(std::move(part));
  }
  const auto known = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.className == snapshot.className; });
  skipper.shape_ = known == kKnown.end() ? Shape::kFields : known->shape;  // every other known composite is its parts in a row
  if (skipper.shape_ == Shape::kFixed) skipper.size_ = known->sizeOrParts;
  const size_t parts = snapshot.nested.size();
  if (skipper.shape_ == Shape::kFields ? parts == 0 : skipper.shape_ == Shape::kFixed ? parts != 0 : parts != known->sizeOrParts) {
    return Error{ErrorCode::kCorrupt, "it has a serializer " + snapshot.className + " with " + std::to_string(parts) + " parts"};
  }
  // Records in windows have something in front of their parts that no part stands for.
  const auto fixedPart = [](size_t size) {
    ValueSkipper part;
    part.size_ = size;
    return part;
  };
  if (snapshot.className.ends_with("$BufferEntrySerializerSnapshot")) {
    skipper.nested_.insert(skipper.nested_.begin(), fixedPart(1));
  } else if (snapshot.className.ends_with("$StreamElementSerializerSnapshot")) {
    ValueSkipper timestamp;  // behind the tag 0; there is none behind the tag 1
    timestamp.shape_ = Shape::kNullable;
    timestamp.nested_.push_back(fixedPart(8));
    skipper.nested_.insert(skipper.nested_.begin(), std::move(timestamp));
  } else if (snapshot.className.ends_with("$UnionSerializerSnapshot")) {
    skipper.shape_ = Shape::kNullable;
  }
  return skipper;
}

bool ValueSkipper::skip(DataInput& in) const {
  switch (shape_) {
    case Shape::kFixed:
      in.take(size_);
      break;
    case Shape::kString: {
      const uint32_t length = readStringLength(in);
      for (uint32_t left = length; left > 1 && in.ok(); --left) {
        // A unit takes as many bytes as have their high bit set, and one.
        while (in.ok() && in.readUnsignedByte() >= 0x80) {
        }
      }
      break;
    }
    case Shape::kBytes:
      in.take(readCount(in, in.readInt(), 1));
      break;
    case Shape::kList:
      for (size_t left = readCount(in, in.readInt(), 1); left > 0 && in.ok(); --left) nested_[0].skip(in);
      break;
    case Shape::kMap:
      for (size_t left = readCount(in, in.readInt(), 1); left > 0 && in.ok(); --left) {
        nested_[0].skip(in);
        if (!in.readBoolean()) nested_[1].skip(in);
      }
      break;
    case Shape::kNullable: {
      // A byte that says whether the value follows, or, with two parts, which of them: 1 or 2.
      const uint8_t which = in.readUnsignedByte();
      if (nested_.size() == 2)
        nested_[which == 1 ? 0 : 1].skip(in);
      else if (which == 0)
        nested_[0].skip(in);
      break;
    }
    case Shape::kFields:
      for (const auto& field : nested_) field.skip(in);
      break;
  }
  return in.ok();
}

}  // namespace weir
