#include "weir/keyed/heap_snapshot.h"

#include "weir/base/check.h"
#include "weir/checkpoint/uuid.h"

namespace weir {

namespace {

constexpr size_t kFlushBytes = 64 * 1024;

/// A state that nobody registered: its bytes go as they came.
class RestoredSnapshot final : public StateSnapshot {
 public:
  explicit RestoredSnapshot(std::shared_ptr<const RestoredState> state) : state_(std::move(state)) {}
  const StateMeta& meta() const override { return state_->meta; }
  void sort(KeyGroupRange range) override {
    range_ = range;
    byKeyGroup_.resize(static_cast<size_t>(range.size()));
    for (const auto& entry : state_->entries) byKeyGroup_[static_cast<size_t>(entry.keyGroup - range.first)].push_back(entry.bytes);
  }
  int32_t numEntries(int32_t keyGroup) const override { return static_cast<int32_t>(of(keyGroup).size()); }
  void writeEntries(int32_t keyGroup, DataOutput& out) const override {
    for (const auto& bytes : of(keyGroup)) out.writeBytes(bytes);
  }

 private:
  const std::vector<std::span<const uint8_t>>& of(int32_t keyGroup) const {
    return byKeyGroup_[static_cast<size_t>(keyGroup - range_.first)];
  }

  const std::shared_ptr<const RestoredState> state_;
  KeyGroupRange range_;
  std::vector<std::vector<std::span<const uint8_t>>> byKeyGroup_;
};

}  // namespace

std::unique_ptr<StateSnapshot> snapshotOf(std::shared_ptr<const RestoredState> state) {
  return std::make_unique<RestoredSnapshot>(std::move(state));
}

Result<std::optional<KeyedHandle>> HeapSnapshotJob::write(CheckpointStreamFactory& factory) {
  if (states_.empty()) return std::optional<KeyedHandle>{};
  WEIR_ASSIGN(auto output, factory.createOutput(CheckpointedStateScope::kExclusive));
  DataOutput bytes;
  auto flush = [&]() -> Result<void> {
    WEIR_TRY(output->write(std::as_bytes(bytes.bytes())));
    bytes.clear();
    return {};
  };
  KeyedStateHeader header{*key_, {}};
  for (const auto& state : states_) {
    header.states.push_back(state->meta());
    state->sort(range_);
  }
  header.writeTo(bytes);
  KeyGroupsHandle handle{KeyGroupsHandle::Format::kHeapCheckpoint, range_, {}, {}, randomUuid(random_)};
  for (int32_t keyGroup = range_.first; keyGroup <= range_.last; ++keyGroup) {
    handle.offsets.push_back(output->position() + static_cast<int64_t>(bytes.size()));
    bytes.writeInt(keyGroup);
    for (size_t number = 0; number < states_.size(); ++number) {
      bytes.writeShort(static_cast<int16_t>(number));
      bytes.writeInt(states_[number]->numEntries(keyGroup));
      states_[number]->writeEntries(keyGroup, bytes);
      if (bytes.size() >= kFlushBytes) WEIR_TRY(flush());
    }
  }
  WEIR_TRY(flush());
  WEIR_ASSIGN(handle.stream, output->finish());
  return std::optional<KeyedHandle>(std::move(handle));
}

}  // namespace weir
