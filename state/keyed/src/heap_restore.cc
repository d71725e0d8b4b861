#include <fmt/format.h>

#include <algorithm>

#include "weir/checkpoint/checkpoint_files.h"
#include "weir/checkpoint/state_meta.h"
#include "weir/checkpoint/value_shape.h"
#include "weir/keyed/heap_snapshot.h"

namespace weir {

namespace {

/// Steps over the entries of one state.
struct EntrySkipper {
  bool timer;  ///< timestamp, key, namespace; else namespace, key, value
  std::vector<ValueShape> parts;

  static Result<EntrySkipper> of(const SerializerSnapshot& key, const StateMeta& meta) {
    EntrySkipper skipper{meta.kind == StateMeta::Kind::kTimerQueue, {}};
    const SerializerSnapshot* value = meta.serializer(kValueSerializer);
    const SerializerSnapshot* space = meta.serializer(kNamespaceSerializer);
    std::vector<const SerializerSnapshot*> parts;
    if (skipper.timer)
      parts = {value};
    else
      parts = {space, &key, value};
    for (const SerializerSnapshot* part : parts) {
      if (!part) return Error{ErrorCode::kCorrupt, fmt::format("its state \"{}\" lacks a serializer", meta.name)};
      WEIR_ASSIGN(auto one, ValueShape::of(*part));
      skipper.parts.push_back(std::move(one));
    }
    return skipper;
  }
  bool skip(DataInput& in) const {
    if (timer) in.readLong();
    for (const auto& part : parts) part.skip(in);
    return in.ok();
  }
};

/// Reads one handle, a key group at a time.
class HeapStreamReader {
 public:
  HeapStreamReader(const KeyGroupsHandle& handle, KeyGroupRange range, const SerializerSnapshot& key,
                   std::vector<std::shared_ptr<RestoredState>>& states)
      : handle_(handle), wanted_(range.intersect(handle.range)), key_(key), states_(states), file_(describe(handle.stream)) {}

  Result<void> read(CheckpointWorkerStorage& storage) {
    if (wanted_.size() == 0) return {};
    if (handle_.offsets.size() != static_cast<size_t>(handle_.range.size())) {
      return Error{ErrorCode::kCorrupt,
                   fmt::format("the handle of {} has {} offsets for {} key groups", file_, handle_.offsets.size(), handle_.range.size())};
    }
    WEIR_ASSIGN(input_, storage.open(handle_.stream));
    sortedOffsets_ = handle_.offsets;
    std::sort(sortedOffsets_.begin(), sortedOffsets_.end());
    auto all = [&]() -> Result<void> {
      WEIR_TRY(readHeader());
      for (int32_t group = wanted_.first; group <= wanted_.last; ++group) WEIR_TRY(readKeyGroup(group));
      return {};
    }();
    if (all.has_error()) return all.error().in(file_);
    return {};
  }

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;

  Result<Bytes> bytes(int64_t from, int64_t to) {
    auto memory = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(to - from));
    WEIR_TRY(input_->readAt(from, *memory));
    return Bytes(memory);
  }
  static DataInput inputOf(const Bytes& bytes) { return DataInput({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()}); }

  /// The length of the head is not known: more is read until it fits.
  Result<void> readHeader() {
    for (int64_t size = 8192;; size *= 4) {
      const bool whole = size >= input_->size();
      WEIR_ASSIGN(const Bytes head, bytes(0, std::min(size, input_->size())));
      DataInput in = inputOf(head);
      auto header = KeyedStateHeader::readFrom(in);
      if (header.has_error()) {
        if (whole || header.error().code == ErrorCode::kUnsupported) return header.error();
        continue;
      }
      header_ = std::move(*header);
      break;
    }
    if (header_.key != key_) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("it is keyed by {}, the operator by {}", header_.key.toString(), key_.toString())};
    }
    for (const auto& meta : header_.states) {
      WEIR_ASSIGN(auto skipper, EntrySkipper::of(header_.key, meta));
      skippers_.push_back(std::move(skipper));
      WEIR_ASSIGN(auto into, stateFor(meta));
      into_.push_back(std::move(into));
    }
    return {};
  }

  Result<std::shared_ptr<RestoredState>> stateFor(const StateMeta& meta) {
    for (const auto& state : states_) {
      if (state->meta.name != meta.name) continue;
      if (state->meta == meta) return state;
      return Error{ErrorCode::kCorrupt, fmt::format("its state \"{}\" is another one than in {}", meta.name, state->file)};
    }
    states_.push_back(std::make_shared<RestoredState>(RestoredState{meta, {}, {}, file_}));
    return states_.back();
  }

  /// Where the next key group starts, as far as the handle tells.
  int64_t endOf(int64_t offset) const {
    const auto next = std::upper_bound(sortedOffsets_.begin(), sortedOffsets_.end(), offset);
    return next == sortedOffsets_.end() ? input_->size() : std::min(*next, input_->size());
  }

  Result<void> readKeyGroup(int32_t group) {
    const int64_t offset = handle_.offsets[static_cast<size_t>(group - handle_.range.first)];
    if (offset < 0 || offset >= input_->size()) {
      return Error{ErrorCode::kCorrupt, fmt::format("it has {} bytes, but key group {} starts at {}", input_->size(), group, offset)};
    }
    WEIR_ASSIGN(const Bytes memory, bytes(offset, endOf(offset)));
    DataInput in = inputOf(memory);
    if (in.readInt() != group) in.fail("does not start with its number");
    std::vector<bool> seen(header_.states.size());
    for (size_t left = header_.states.size(); left > 0 && in.ok(); --left) {
      const auto number = static_cast<size_t>(in.readUnsignedShort());
      const int32_t count = in.readInt();
      if (in.failed()) break;
      if (number >= seen.size() || seen[number] || count < 0 || static_cast<size_t>(count) > in.remaining()) {
        in.fail("has a state number or a count that cannot be");
        break;
      }
      seen[number] = true;
      readEntries(in, number, group, count);
      if (count > 0) into_[number]->memory.push_back(memory);
    }
    if (in.failed()) return in.error(fmt::format("its key group {}, which starts at byte {},", group, offset));
    return {};
  }

  void readEntries(DataInput& in, size_t number, int32_t group, int32_t count) {
    auto& entries = into_[number]->entries;
    for (int32_t i = 0; i < count; ++i) {
      const uint8_t* start = in.at();
      if (!skippers_[number].skip(in)) return;
      entries.push_back({group, {start, in.at()}});
    }
  }

  const KeyGroupsHandle& handle_;
  const KeyGroupRange wanted_;
  const SerializerSnapshot& key_;
  std::vector<std::shared_ptr<RestoredState>>& states_;
  const std::string file_;
  std::unique_ptr<CheckpointStateInput> input_;
  std::vector<int64_t> sortedOffsets_;
  KeyedStateHeader header_;
  std::vector<EntrySkipper> skippers_;
  std::vector<std::shared_ptr<RestoredState>> into_;
};

std::string describe(const StateMeta& meta) {
  if (meta.kind == StateMeta::Kind::kTimerQueue) {
    const SerializerSnapshot* timer = meta.serializer(kValueSerializer);
    return "a queue of timers by " + (timer ? timer->toString() : "?");
  }
  const std::string* kind = meta.option(kKeyedStateTypeOption);
  std::string text = kind ? *kind : "?";
  const char* separator = " of ";
  for (const auto& [role, snapshot] : meta.serializers) {
    text += separator + snapshot.toString();
    separator = " per ";
  }
  return text;
}

}  // namespace

Result<void> checkCompatible(const RestoredState& restored, const StateMeta& wanted) {
  auto same = [&](std::string_view role) {
    const auto *a = restored.meta.serializer(role), *b = wanted.serializer(role);
    return a && b && *a == *b;
  };
  const std::string *was = restored.meta.option(kKeyedStateTypeOption), *is = wanted.option(kKeyedStateTypeOption);
  const bool timers = wanted.kind == StateMeta::Kind::kTimerQueue;
  const bool sameState = timers || (was && is && *was == *is && same(kNamespaceSerializer));
  if (restored.meta.kind == wanted.kind && same(kValueSerializer) && sameState) return {};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: its state \"{}\" is {}, the operator wants {}; use the same types as before or "
                           "another state name",
                           restored.file, restored.meta.name, describe(restored.meta), describe(wanted))};
}

Result<std::vector<std::shared_ptr<RestoredState>>> readKeyedState(std::span<const KeyedHandle> handles, KeyGroupRange range,
                                                                   const SerializerSnapshot& key, CheckpointWorkerStorage& storage) {
  std::vector<std::shared_ptr<RestoredState>> states;
  for (const auto& any : handles) {
    const auto* handle = std::get_if<KeyGroupsHandle>(&any);
    if (!handle) {
      return Error{ErrorCode::kUnsupported, "the keyed state is that of a RocksDB backend, which the heap backend does not read"};
    }
    if (handle->format == KeyGroupsHandle::Format::kCanonicalSavepoint) {
      return Error{ErrorCode::kUnsupported,
                   describe(handle->stream) + " is a canonical savepoint; Weir restores from checkpoints and native savepoints"};
    }
    WEIR_TRY(HeapStreamReader(*handle, range, key, states).read(storage));
  }
  return states;
}

}  // namespace weir
