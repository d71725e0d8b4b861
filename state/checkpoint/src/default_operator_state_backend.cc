#include "weir/checkpoint/default_operator_state_backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/checkpoint/checkpoint_files.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"
#include "weir/checkpoint/value_shape.h"

namespace weir {

namespace {

std::string_view modeName(OperatorStateMode mode) {
  switch (mode) {
    case OperatorStateMode::kSplit:
      return "SPLIT_DISTRIBUTE";
    case OperatorStateMode::kUnion:
      return "UNION";
    case OperatorStateMode::kBroadcast:
      return "BROADCAST";
  }
  __builtin_unreachable();
}

StateMeta metaOf(const OperatorStateEntry& entry) {
  const bool broadcast = entry.mode() == OperatorStateMode::kBroadcast;
  StateMeta meta{entry.name(),
                 broadcast ? StateMeta::Kind::kBroadcast : StateMeta::Kind::kOperator,
                 {{std::string(kDistributionModeOption), std::string(modeName(entry.mode()))}},
                 {}};
  const auto snapshots = entry.snapshots();
  meta.serializers.emplace_back(kValueSerializer, snapshots.back());
  if (broadcast) meta.serializers.emplace_back(kKeySerializer, snapshots.front());
  return meta;
}

std::string describe(const StateMeta& meta) {
  const std::string* mode = meta.option(kDistributionModeOption);
  std::string text = mode ? *mode : "a state without mode";
  for (const auto& [role, snapshot] : meta.serializers) text += " " + snapshot.toString();
  return text;
}

class SerializedState final : public OperatorSnapshotJob {
 public:
  SerializedState(DataOutput bytes, OperatorStateHandle handle) : bytes_(std::move(bytes)), handle_(std::move(handle)) {}
  Result<std::optional<OperatorStateHandle>> write(CheckpointStreamFactory& factory) override {
    if (handle_.states.empty()) return std::optional<OperatorStateHandle>{};
    WEIR_ASSIGN(auto output, factory.createOutput(CheckpointedStateScope::kExclusive));
    WEIR_TRY(output->write(std::as_bytes(bytes_.bytes())));
    WEIR_ASSIGN(handle_.stream, output->finish());
    return std::optional<OperatorStateHandle>(handle_);
  }
  std::optional<size_t> size() const override { return bytes_.size(); }

 private:
  DataOutput bytes_;
  OperatorStateHandle handle_;
};

}  // namespace

std::unique_ptr<OperatorSnapshotJob> DefaultOperatorStateBackend::prepareSnapshot(int64_t) {
  OperatorStateHeader header;
  auto place = [&](const StateMeta& meta) {
    (meta.kind == StateMeta::Kind::kBroadcast ? header.broadcastStates : header.states).push_back(meta);
  };
  for (const auto& entry : entries_) place(metaOf(*entry));
  for (const auto& restored : restored_) place(restored.meta);
  DataOutput bytes;
  header.writeTo(bytes);
  OperatorStateHandle handle;
  for (const auto& entry : entries_) {
    entry->write(bytes, handle.states.emplace_back(OperatorStateHandle::State{entry->name(), entry->mode(), {}}).offsets);
  }
  for (const auto& restored : restored_) {
    auto& state = handle.states.emplace_back(OperatorStateHandle::State{restored.meta.name, restored.mode, {}});
    for (const auto& element : restored.elements) {
      state.offsets.push_back(static_cast<int64_t>(bytes.size()));
      bytes.writeBytes(std::span<const uint8_t>(element));
    }
  }
  return std::make_unique<SerializedState>(std::move(bytes), std::move(handle));
}

/// Takes the elements of one handle out of its file.
class DefaultOperatorStateBackend::HandleReader {
 public:
  HandleReader(std::span<const uint8_t> bytes, std::string file, std::vector<Restored>& into)
      : bytes_(bytes), file_(std::move(file)), into_(into) {}

  Result<void> read(const OperatorStateHandle& handle) {
    DataInput in(bytes_);
    auto header = OperatorStateHeader::readFrom(in);
    if (header.has_error()) return header.error().in(file_);
    for (const auto& state : handle.states) {
      const auto& metas = state.mode == OperatorStateMode::kBroadcast ? header->broadcastStates : header->states;
      const auto meta = std::find_if(metas.begin(), metas.end(), [&](const StateMeta& m) { return m.name == state.name; });
      if (meta == metas.end()) return corrupt(fmt::format("its header does not name the state \"{}\"", state.name));
      const std::string* mode = meta->option(kDistributionModeOption);
      if (!mode || *mode != modeName(state.mode))
        return corrupt(fmt::format("its state \"{}\" has another mode than in _metadata", state.name));
      WEIR_TRY(readState(state, *meta));
    }
    return {};
  }

 private:
  Error corrupt(const std::string& why) const { return {ErrorCode::kCorrupt, file_ + ": " + why}; }

  Result<void> readState(const OperatorStateHandle::State& state, const StateMeta& meta) {
    std::vector<ValueShape> parts;
    for (std::string_view role : {kKeySerializer, kValueSerializer}) {
      const SerializerSnapshot* snapshot = meta.serializer(role);
      if (!snapshot) continue;
      auto part = ValueShape::of(*snapshot);
      if (part.has_error()) return part.error().in(file_);
      parts.push_back(std::move(*part));
    }
    const bool broadcast = state.mode == OperatorStateMode::kBroadcast;
    if (parts.size() != (broadcast ? 2 : 1)) return corrupt(fmt::format("its state \"{}\" lacks a serializer", state.name));
    auto known = std::find_if(into_.begin(), into_.end(), [&](const Restored& r) { return r.meta.name == meta.name; });
    if (known == into_.end())
      known = into_.insert(into_.end(), Restored{meta, state.mode, {}, file_});
    else if (known->meta != meta)
      return corrupt(fmt::format("its state \"{}\" is another one than in {}", meta.name, known->file));
    for (int64_t offset : state.offsets) {
      if (offset < 0 || static_cast<size_t>(offset) > bytes_.size()) {
        return corrupt(fmt::format("it has {} bytes, but an element of state \"{}\" starts at {}", bytes_.size(), meta.name, offset));
      }
      DataInput in(bytes_.subspan(static_cast<size_t>(offset)));
      for (int64_t left = broadcast ? in.readInt() : 1; left > 0 && in.ok(); --left)
        for (const auto& part : parts) part.skip(in);
      if (in.failed()) return in.error(fmt::format("{}: an element of state \"{}\" at byte {}", file_, meta.name, offset));
      const auto element = bytes_.subspan(static_cast<size_t>(offset), in.position());
      known->elements.emplace_back(element.begin(), element.end());
    }
    return {};
  }

  const std::span<const uint8_t> bytes_;
  const std::string file_;
  std::vector<Restored>& into_;
};

Result<void> DefaultOperatorStateBackend::restore(std::span<const OperatorStateHandle> handles, CheckpointWorkerStorage& storage) {
  WEIR_CHECK(entries_.empty() && restored_.empty());
  for (const auto& handle : handles) {
    WEIR_ASSIGN(const auto bytes, readAll(storage, handle.stream));
    HandleReader reader({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, describe(handle.stream), restored_);
    WEIR_TRY(reader.read(handle));
  }
  return {};
}

Result<OperatorStateEntry*> DefaultOperatorStateBackend::entry(std::unique_ptr<OperatorStateEntry> fresh) {
  for (const auto& known : entries_) {
    if (known->name() != fresh->name()) continue;
    if (known->mode() == fresh->mode()) return known.get();
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("operator state \"{}\" is already used as {}", known->name(), modeName(known->mode()))};
  }
  const auto restored = std::find_if(restored_.begin(), restored_.end(), [&](const Restored& r) { return r.meta.name == fresh->name(); });
  if (restored != restored_.end()) {
    const StateMeta wanted = metaOf(*fresh);
    if (restored->meta.kind != wanted.kind || restored->mode != fresh->mode() || restored->meta.serializers != wanted.serializers) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("{}: its operator state \"{}\" is {}, the operator wants {}; use the same types as before or another state name",
                      restored->file, fresh->name(), describe(restored->meta), describe(wanted))};
    }
    for (const auto& element : restored->elements) {
      DataInput in(element);
      if (!fresh->readElement(in)) return in.error(fmt::format("{}: an element of operator state \"{}\"", restored->file, fresh->name()));
    }
    restored_.erase(restored);
  }
  entries_.push_back(std::move(fresh));
  return entries_.back().get();
}

}  // namespace weir
