#include "weir/base/actor_file_system.h"

#include <optional>

namespace weir {
namespace {

/// Runs one file operation of the actor that owns `context`.
template <class F>
auto inActor(ExecutionContext& context, const char* point, const F& call) {
  context.interleave(point);
  std::optional<decltype(call())> result;
  context.blocking([&] { result.emplace(call()); });
  return std::move(*result);
}

class ActorWritableFile final : public WritableFile {
 public:
  ActorWritableFile(std::unique_ptr<WritableFile> inner, ExecutionContext& context) : inner_(std::move(inner)), context_(context) {}
  Result<void> append(std::span<const std::byte> bytes) override {
    return inActor(context_, "file append", [&] { return inner_->append(bytes); });
  }
  Result<void> sync() override {
    return inActor(context_, "file sync", [&] { return inner_->sync(); });
  }
  Result<void> close() override {
    return inActor(context_, "file close", [&] { return inner_->close(); });
  }

 private:
  std::unique_ptr<WritableFile> inner_;
  ExecutionContext& context_;
};

class ActorReadableFile final : public ReadableFile {
 public:
  ActorReadableFile(std::unique_ptr<ReadableFile> inner, ExecutionContext& context) : inner_(std::move(inner)), context_(context) {}
  Result<uint64_t> size() override {
    return inActor(context_, "file size", [&] { return inner_->size(); });
  }
  Result<size_t> readAt(uint64_t offset, std::span<std::byte> into) override {
    return inActor(context_, "file read", [&] { return inner_->readAt(offset, into); });
  }

 private:
  std::unique_ptr<ReadableFile> inner_;
  ExecutionContext& context_;
};

}  // namespace

Result<std::unique_ptr<WritableFile>> ActorFileSystem::create(const std::string& path, Create mode) {
  WEIR_ASSIGN(auto file, inActor(context_, "file create", [&] { return inner_.create(path, mode); }));
  return std::unique_ptr<WritableFile>(std::make_unique<ActorWritableFile>(std::move(file), context_));
}

Result<std::unique_ptr<ReadableFile>> ActorFileSystem::open(const std::string& path) {
  WEIR_ASSIGN(auto file, inActor(context_, "file open", [&] { return inner_.open(path); }));
  return std::unique_ptr<ReadableFile>(std::make_unique<ActorReadableFile>(std::move(file), context_));
}

Result<void> ActorFileSystem::rename(const std::string& from, const std::string& to) {
  return inActor(context_, "file rename", [&] { return inner_.rename(from, to); });
}

Result<void> ActorFileSystem::remove(const std::string& path) {
  return inActor(context_, "file remove", [&] { return inner_.remove(path); });
}

Result<void> ActorFileSystem::removeAll(const std::string& path) {
  return inActor(context_, "file removeAll", [&] { return inner_.removeAll(path); });
}

Result<void> ActorFileSystem::createDirectories(const std::string& path) {
  return inActor(context_, "file createDirectories", [&] { return inner_.createDirectories(path); });
}

Result<void> ActorFileSystem::syncDirectory(const std::string& path) {
  return inActor(context_, "file syncDirectory", [&] { return inner_.syncDirectory(path); });
}

Result<std::vector<std::string>> ActorFileSystem::list(const std::string& path) {
  return inActor(context_, "file list", [&] { return inner_.list(path); });
}

bool ActorFileSystem::exists(const std::string& path) {
  return inActor(context_, "file exists", [&] { return inner_.exists(path); });
}

bool ActorFileSystem::isDirectory(const std::string& path) {
  return inActor(context_, "file isDirectory", [&] { return inner_.isDirectory(path); });
}

}  // namespace weir
