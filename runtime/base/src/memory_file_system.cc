#include "weir/base/memory_file_system.h"

#include <algorithm>
#include <cerrno>

#include "weir/base/real_file_system.h"

namespace weir {

/// A file or a folder. Guarded by the lock of its file system.
struct MemoryFileSystem::Node {
  bool isFolder = false;
  std::vector<std::byte> bytes;
  size_t syncedBytes = 0;
  std::map<std::string, NodePtr> entries;
  std::map<std::string, NodePtr> syncedEntries;
  /// One atomic change of this folder: the names it touches and what they stand for after it (null: nothing).
  using Change = std::vector<std::pair<std::string, NodePtr>>;
  std::vector<Change> unsynced;

  void apply(Change change) {
    apply(entries, change);
    unsynced.push_back(std::move(change));
  }
  static void apply(std::map<std::string, NodePtr>& entries, const Change& change) {
    for (const auto& [name, node] : change) {
      if (node)
        entries[name] = node;
      else
        entries.erase(name);
    }
  }
};

/// A name in a folder that exists.
struct MemoryFileSystem::Place {
  NodePtr folder;
  std::string name;
  NodePtr node;  ///< what the name stands for, or null
};

namespace {

std::vector<std::string> parts(const std::string& path) {
  std::vector<std::string> result;
  for (size_t from = 0; from < path.size();) {
    const size_t end = std::min(path.find('/', from), path.size());
    const std::string part = path.substr(from, end - from);
    if (part == "..") {
      if (!result.empty()) result.pop_back();
    } else if (!part.empty() && part != ".") {
      result.push_back(part);
    }
    from = end + 1;
  }
  return result;
}

Error lost(const std::string& path) { return {ErrorCode::kIo, path + " was open when its machine crashed"}; }

}  // namespace

class MemoryFileSystem::Writer final : public WritableFile {
 public:
  Writer(MemoryFileSystem& owner, NodePtr node, std::string path)
      : owner_(owner), node_(std::move(node)), path_(std::move(path)), crashes_(owner.crashes_) {}
  Result<void> append(std::span<const std::byte> bytes) override {
    Lock lock(owner_.mutex_);
    WEIR_TRY(check());
    node_->bytes.insert(node_->bytes.end(), bytes.begin(), bytes.end());
    return {};
  }
  Result<void> sync() override {
    Lock lock(owner_.mutex_);
    WEIR_TRY(check());
    node_->syncedBytes = node_->bytes.size();
    return {};
  }
  Result<void> close() override {
    Lock lock(owner_.mutex_);
    WEIR_TRY(check());
    closed_ = true;
    return {};
  }

 private:
  Result<void> check() const {
    if (crashes_ != owner_.crashes_) return lost(path_);
    if (closed_) return Error{ErrorCode::kIo, path_ + " is closed already"};
    return {};
  }
  MemoryFileSystem& owner_;
  const NodePtr node_;
  const std::string path_;
  const uint64_t crashes_;
  bool closed_ = false;
};

class MemoryFileSystem::Reader final : public ReadableFile {
 public:
  Reader(MemoryFileSystem& owner, NodePtr node, std::string path)
      : owner_(owner), node_(std::move(node)), path_(std::move(path)), crashes_(owner.crashes_) {}
  Result<uint64_t> size() override {
    Lock lock(owner_.mutex_);
    if (crashes_ != owner_.crashes_) return lost(path_);
    return node_->bytes.size();
  }
  Result<size_t> readAt(uint64_t offset, std::span<std::byte> into) override {
    Lock lock(owner_.mutex_);
    if (crashes_ != owner_.crashes_) return lost(path_);
    const size_t from = std::min<uint64_t>(offset, node_->bytes.size());
    const size_t n = std::min(into.size(), node_->bytes.size() - from);
    std::copy_n(node_->bytes.begin() + static_cast<std::ptrdiff_t>(from), n, into.begin());
    return n;
  }

 private:
  MemoryFileSystem& owner_;
  const NodePtr node_;
  const std::string path_;
  const uint64_t crashes_;
};

MemoryFileSystem::MemoryFileSystem() : root_(std::make_shared<Node>()) { root_->isFolder = true; }
MemoryFileSystem::~MemoryFileSystem() = default;

MemoryFileSystem::NodePtr MemoryFileSystem::find(const std::string& path) {
  NodePtr node = root_;
  for (const std::string& part : parts(path)) {
    const auto found = node->entries.find(part);
    if (found == node->entries.end()) return nullptr;
    node = found->second;
  }
  return node;
}

Result<MemoryFileSystem::Place> MemoryFileSystem::placeOf(const std::string& path, const char* verb) {
  const auto names = parts(path);
  if (names.empty()) return fileError(verb, path, EBUSY);
  NodePtr folder = root_;
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    const auto found = folder->entries.find(names[i]);
    if (found == folder->entries.end()) return fileError(verb, path, ENOENT);
    folder = found->second;
  }
  if (!folder->isFolder) return fileError(verb, path, ENOTDIR);
  const auto found = folder->entries.find(names.back());
  return Place{folder, names.back(), found == folder->entries.end() ? nullptr : found->second};
}

Result<std::unique_ptr<WritableFile>> MemoryFileSystem::create(const std::string& path, Create mode) {
  Lock lock(mutex_);
  WEIR_ASSIGN(const Place place, placeOf(path, "create"));
  if (place.node && place.node->isFolder) return fileError("create", path, EISDIR);
  if (place.node && mode == Create::kNew) return fileError("create", path, EEXIST);
  auto node = std::make_shared<Node>();
  place.folder->apply({{place.name, node}});
  return std::unique_ptr<WritableFile>(std::make_unique<Writer>(*this, std::move(node), path));
}

Result<std::unique_ptr<ReadableFile>> MemoryFileSystem::open(const std::string& path) {
  Lock lock(mutex_);
  NodePtr node = find(path);
  if (!node) return fileError("open", path, ENOENT);
  if (node->isFolder) return fileError("open", path, EISDIR);
  return std::unique_ptr<ReadableFile>(std::make_unique<Reader>(*this, std::move(node), path));
}

Result<void> MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  Lock lock(mutex_);
  const std::string verb = "rename " + from + " to";
  WEIR_ASSIGN(const Place source, placeOf(from, verb.c_str()));
  if (!source.node) return fileError(verb, to, ENOENT);
  WEIR_ASSIGN(const Place target, placeOf(to, verb.c_str()));
  if (source.node == target.node) return {};
  if (target.node && target.node->isFolder != source.node->isFolder) {
    return fileError(verb, to, target.node->isFolder ? EISDIR : ENOTDIR);
  }
  if (target.node && target.node->isFolder && !target.node->entries.empty()) return fileError(verb, to, ENOTEMPTY);
  const auto targetParts = parts(to), sourceParts = parts(from);
  if (targetParts.size() > sourceParts.size() && std::equal(sourceParts.begin(), sourceParts.end(), targetParts.begin())) {
    return fileError(verb, to, EINVAL);  // a folder into itself
  }
  if (source.folder == target.folder) {
    source.folder->apply({{target.name, source.node}, {source.name, nullptr}});
  } else {
    target.folder->apply({{target.name, source.node}});
    source.folder->apply({{source.name, nullptr}});
  }
  return {};
}

Result<void> MemoryFileSystem::remove(const std::string& path) {
  Lock lock(mutex_);
  WEIR_ASSIGN(const Place place, placeOf(path, "remove"));
  if (!place.node) return fileError("remove", path, ENOENT);
  if (!place.node->entries.empty()) return fileError("remove", path, ENOTEMPTY);
  place.folder->apply({{place.name, nullptr}});
  return {};
}

Result<void> MemoryFileSystem::removeAll(const std::string& path) {
  Lock lock(mutex_);
  if (!find(path)) return {};
  WEIR_ASSIGN(const Place place, placeOf(path, "remove"));
  place.folder->apply({{place.name, nullptr}});
  return {};
}

Result<void> MemoryFileSystem::createDirectories(const std::string& path) {
  Lock lock(mutex_);
  NodePtr node = root_;
  for (const std::string& part : parts(path)) {
    const auto found = node->entries.find(part);
    NodePtr child = found == node->entries.end() ? std::make_shared<Node>() : found->second;
    if (found == node->entries.end()) {
      child->isFolder = true;
      node->apply({{part, child}});
    }
    if (!child->isFolder) return fileError("create the folder", path, ENOTDIR);
    node = std::move(child);
  }
  return {};
}

Result<void> MemoryFileSystem::syncDirectory(const std::string& path) {
  Lock lock(mutex_);
  const NodePtr node = find(path);
  if (!node) return fileError("sync the folder", path, ENOENT);
  if (!node->isFolder) return fileError("sync the folder", path, ENOTDIR);
  node->syncedEntries = node->entries;
  node->unsynced.clear();
  return {};
}

Result<std::vector<std::string>> MemoryFileSystem::list(const std::string& path) {
  Lock lock(mutex_);
  const NodePtr node = find(path);
  if (!node) return fileError("list", path, ENOENT);
  if (!node->isFolder) return fileError("list", path, ENOTDIR);
  std::vector<std::string> names;
  for (const auto& entry : node->entries) names.push_back(entry.first);
  return names;
}

bool MemoryFileSystem::exists(const std::string& path) {
  Lock lock(mutex_);
  return find(path) != nullptr;
}

bool MemoryFileSystem::isDirectory(const std::string& path) {
  Lock lock(mutex_);
  const NodePtr node = find(path);
  return node && node->isFolder;
}

void MemoryFileSystem::crash() {
  Lock lock(mutex_);
  ++crashes_;
  crash(*root_, nullptr);
}

void MemoryFileSystem::crash(Random& random) {
  Lock lock(mutex_);
  ++crashes_;
  crash(*root_, &random);
}

void MemoryFileSystem::crash(Node& node, Random* random) {
  if (!node.isFolder) {
    const size_t unsynced = node.bytes.size() - node.syncedBytes;
    node.bytes.resize(node.syncedBytes + (random ? random->below(unsynced + 1) : 0));
    node.syncedBytes = node.bytes.size();
    return;
  }
  const size_t kept = random ? random->below(node.unsynced.size() + 1) : 0;
  for (size_t i = 0; i < kept; ++i) Node::apply(node.syncedEntries, node.unsynced[i]);
  node.unsynced.clear();
  node.entries = node.syncedEntries;
  for (const auto& entry : node.entries) crash(*entry.second, random);
}

uint64_t MemoryFileSystem::totalBytes() {
  Lock lock(mutex_);
  uint64_t total = 0;
  std::vector<NodePtr> rest{root_};
  while (!rest.empty()) {
    const NodePtr node = rest.back();
    rest.pop_back();
    total += node->bytes.size();
    for (const auto& entry : node->entries) rest.push_back(entry.second);
  }
  return total;
}

}  // namespace weir
