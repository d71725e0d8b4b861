#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/check.h"
#include "weir/base/result.h"
#include "weir/record/serializer.h"
#include "weir/snapshot/checkpoint_storage.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// One named operator state, erased over its elements. Owned by the backend, used by the task alone.
class OperatorStateEntry {
 public:
  virtual ~OperatorStateEntry() = default;
  const std::string& name() const { return name_; }
  OperatorStateMode mode() const { return mode_; }
  /// Elements, in order; for each the position in `out` where it starts. A broadcast state is one element: count, then keys and values.
  virtual void write(DataOutput& out, std::vector<int64_t>& offsets) const = 0;
  /// Adds one element (a broadcast state: puts all its entries). False where the input has failed.
  virtual bool readElement(DataInput& in) = 0;
  /// One for a list, two (key, value) for a broadcast state.
  virtual std::vector<SerializerSnapshot> snapshots() const = 0;

 protected:
  OperatorStateEntry(std::string name, OperatorStateMode mode) : name_(std::move(name)), mode_(mode) {}

 private:
  std::string name_;
  OperatorStateMode mode_;
};

/// A list that is cut (kSplit) or copied (kUnion) when the parallelism changes. Changed in place. Flink: ListState of an operator.
template <Serializable V>
class OperatorListState final : public OperatorStateEntry {
 public:
  OperatorListState(std::string name, OperatorStateMode mode) : OperatorStateEntry(std::move(name), mode) {}
  std::vector<V>& elements() { return elements_; }
  const std::vector<V>& elements() const { return elements_; }
  void write(DataOutput& out, std::vector<int64_t>& offsets) const override {
    for (const V& element : elements_) {
      offsets.push_back(static_cast<int64_t>(out.size()));
      serialize(out, element);
    }
  }
  bool readElement(DataInput& in) override { return Serializer<V>::read(in, elements_.emplace_back()); }
  std::vector<SerializerSnapshot> snapshots() const override { return {Serializer<V>::snapshot()}; }

 private:
  std::vector<V> elements_;
};

/// A map of which every subtask holds a copy. Flink: BroadcastState.
template <Serializable UK, Serializable UV>
class BroadcastState final : public OperatorStateEntry {
 public:
  explicit BroadcastState(std::string name) : OperatorStateEntry(std::move(name), OperatorStateMode::kBroadcast) {}
  std::map<UK, UV>& entries() { return entries_; }
  const std::map<UK, UV>& entries() const { return entries_; }
  void write(DataOutput& out, std::vector<int64_t>& offsets) const override {
    offsets.push_back(static_cast<int64_t>(out.size()));
    out.writeInt(static_cast<int32_t>(entries_.size()));
    for (const auto& [key, value] : entries_) {
      serialize(out, key);
      serialize(out, value);
    }
  }
  bool readElement(DataInput& in) override {
    for (size_t left = detail::readCount(in); left > 0 && in.ok(); --left) {
      UK key{};
      if (Serializer<UK>::read(in, key)) Serializer<UV>::read(in, entries_[std::move(key)]);
    }
    return in.ok();
  }
  std::vector<SerializerSnapshot> snapshots() const override { return {Serializer<UK>::snapshot(), Serializer<UV>::snapshot()}; }

 private:
  std::map<UK, UV> entries_;
};

/// The bytes of an operator's state, ready to be written by a snapshot worker.
class OperatorSnapshotJob {
 public:
  virtual ~OperatorSnapshotJob() = default;
  /// Once; blocks on files. Nothing where no state was registered.
  virtual Result<std::optional<OperatorStateHandle>> write(CheckpointStreamFactory& factory) = 0;
  /// What write() will put into one output, in bytes, if that is known already.
  virtual std::optional<size_t> size() const { return std::nullopt; }
};

/// State per subtask, not per key: small lists and maps by name. Asking again for the same name gives the same state; a name that is
/// already used in another way, or that was restored with another serializer or mode, is an error.
///
/// Flink: DefaultOperatorStateBackend. Used by the task alone.
class OperatorStateBackend {
 public:
  virtual ~OperatorStateBackend() = default;

  template <class V>
  Result<OperatorListState<V>*> listState(const std::string& name) {
    return typed(std::make_unique<OperatorListState<V>>(name, OperatorStateMode::kSplit));
  }
  template <class V>
  Result<OperatorListState<V>*> unionListState(const std::string& name) {
    return typed(std::make_unique<OperatorListState<V>>(name, OperatorStateMode::kUnion));
  }
  template <class UK, class UV>
  Result<BroadcastState<UK, UV>*> broadcastState(const std::string& name) {
    return typed(std::make_unique<BroadcastState<UK, UV>>(name));
  }

  /// Serializes the state here and now: it is small. States that were restored and never asked for go along.
  virtual std::unique_ptr<OperatorSnapshotJob> prepareSnapshot(int64_t checkpointId) = 0;
  /// Once, before anything else; blocks on files. Errors name the file.
  virtual Result<void> restore(std::span<const OperatorStateHandle> handles, CheckpointWorkerStorage& storage) = 0;

 protected:
  /// `fresh`, filled with what was restored under its name, or the entry that is there already.
  virtual Result<OperatorStateEntry*> entry(std::unique_ptr<OperatorStateEntry> fresh) = 0;

 private:
  template <class E>
  Result<E*> typed(std::unique_ptr<E> fresh) {
    const std::string name = fresh->name();
    WEIR_ASSIGN(OperatorStateEntry * found, entry(std::move(fresh)));
    if (auto* state = dynamic_cast<E*>(found)) return state;
    return Error{ErrorCode::kInvalidArgument, "operator state \"" + name + "\" is already used with another type"};
  }
};

}  // namespace weir
