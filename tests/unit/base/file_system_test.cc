#include "weir/base/file_system.h"

#include <gtest/gtest.h>

#include <set>

#include "support/temp_dir.h"
#include "weir/base/faulty_file_system.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/real_file_system.h"

namespace weir {
namespace {

using Create = FileSystem::Create;
using Effect = FileFault::Effect;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

std::string content(FileSystem& files, const std::string& path) {
  const auto all = files.readAll(path);
  if (all.has_error()) return "(" + all.error().message + ")";
  return {reinterpret_cast<const char*>(all->data()), all->size()};
}

/// Writes and closes a file; syncs it where asked.
void write(FileSystem& files, const std::string& path, std::string_view text, bool sync = false) {
  auto file = files.create(path, Create::kTruncate).value();
  ASSERT_FALSE(file->append(bytes(text)).has_error());
  if (sync) {
    ASSERT_FALSE(file->sync().has_error());
  }
  ASSERT_FALSE(file->close().has_error());
}

/// What holds for every file system, on a fresh folder.
class AnyFileSystem : public ::testing::TestWithParam<const char*> {
 protected:
  AnyFileSystem() {
    if (std::string(GetParam()) == "Memory") {
      EXPECT_FALSE(memory_.createDirectories("/work").has_error());
      files_ = &memory_;
      base_ = "/work";
    } else {
      files_ = std::string(GetParam()) == "Real" ? static_cast<FileSystem*>(&real_) : &faulty_;
      base_ = folder_.path();
    }
  }
  std::string path(const std::string& name) const { return base_ + "/" + name; }

  testing::TempDir folder_;
  RealFileSystem real_;
  MemoryFileSystem memory_;
  FileFaults faults_;
  FaultyFileSystem faulty_{real_, faults_};
  FileSystem* files_ = nullptr;
  std::string base_;
};

TEST_P(AnyFileSystem, GivesBackWhatWasAppended) {
  auto file = files_->create(path("a"), Create::kNew).value();
  ASSERT_FALSE(file->append(bytes("one ")).has_error());
  ASSERT_FALSE(file->append(bytes("two")).has_error());
  ASSERT_FALSE(file->sync().has_error());
  ASSERT_FALSE(file->close().has_error());
  EXPECT_EQ(content(*files_, path("a")), "one two");
}

TEST_P(AnyFileSystem, ReadsAtAnOffsetAndShortAtTheEnd) {
  write(*files_, path("a"), "0123456789");
  auto file = files_->open(path("a")).value();
  EXPECT_EQ(file->size().value(), 10u);
  std::array<std::byte, 4> into{};
  EXPECT_EQ(file->readAt(3, into).value(), 4u);
  EXPECT_EQ(static_cast<char>(into[0]), '3');
  EXPECT_EQ(file->readAt(8, into).value(), 2u);
  EXPECT_EQ(file->readAt(20, into).value(), 0u);
}

TEST_P(AnyFileSystem, RefusesToCreateANewFileOverAnother) {
  write(*files_, path("a"), "old");
  const auto again = files_->create(path("a"), Create::kNew);
  ASSERT_TRUE(again.has_error());
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(again.error().message, "cannot create " + path("a") + ": File exists");
  EXPECT_EQ(content(*files_, path("a")), "old");
}

TEST_P(AnyFileSystem, NamesThePathOfAMissingFile) {
  const auto missing = files_->open(path("none"));
  ASSERT_TRUE(missing.has_error());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "cannot open " + path("none") + ": No such file or directory");
  EXPECT_EQ(files_->create(path("no/folder"), Create::kNew).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_->remove(path("none")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_->rename(path("none"), path("b")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_->list(path("none")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_->syncDirectory(path("none")).error().code, ErrorCode::kNotFound);
}

TEST_P(AnyFileSystem, DoesNotOpenAFolderAsAFile) {
  ASSERT_FALSE(files_->createDirectories(path("d")).has_error());
  EXPECT_TRUE(files_->open(path("d")).has_error());
  EXPECT_TRUE(files_->create(path("d"), Create::kTruncate).has_error());
}

TEST_P(AnyFileSystem, RenameReplacesTheTarget) {
  write(*files_, path("tmp"), "new");
  write(*files_, path("final"), "old");
  ASSERT_FALSE(files_->rename(path("tmp"), path("final")).has_error());
  EXPECT_EQ(content(*files_, path("final")), "new");
  EXPECT_FALSE(files_->exists(path("tmp")));
}

TEST_P(AnyFileSystem, RenamesAFolderWithAllInIt) {
  ASSERT_FALSE(files_->createDirectories(path("d/e")).has_error());
  write(*files_, path("d/e/f"), "x");
  ASSERT_FALSE(files_->rename(path("d"), path("g")).has_error());
  EXPECT_EQ(content(*files_, path("g/e/f")), "x");
  EXPECT_TRUE(files_->rename(path("g"), path("g/e/h")).has_error());
}

TEST_P(AnyFileSystem, ListsNamesInOrder) {
  for (const char* name : {"c", "a", "b10", "b2"}) write(*files_, path(name), "");
  ASSERT_FALSE(files_->createDirectories(path("aa")).has_error());
  EXPECT_EQ(files_->list(base_).value(), (std::vector<std::string>{"a", "aa", "b10", "b2", "c"}));
}

TEST_P(AnyFileSystem, CreatesFoldersOnTheWayAndAgain) {
  ASSERT_FALSE(files_->createDirectories(path("x/y/z")).has_error());
  ASSERT_FALSE(files_->createDirectories(path("x/y/z")).has_error());
  EXPECT_TRUE(files_->isDirectory(path("x/y")));
  write(*files_, path("x/file"), "");
  EXPECT_FALSE(files_->isDirectory(path("x/file")));
  EXPECT_TRUE(files_->createDirectories(path("x/file/y")).has_error());
}

TEST_P(AnyFileSystem, RemovesFilesAndEmptyFoldersOnly) {
  ASSERT_FALSE(files_->createDirectories(path("d")).has_error());
  write(*files_, path("d/f"), "");
  EXPECT_EQ(files_->remove(path("d")).error().code, ErrorCode::kAlreadyExists);
  ASSERT_FALSE(files_->remove(path("d/f")).has_error());
  ASSERT_FALSE(files_->remove(path("d")).has_error());
  EXPECT_FALSE(files_->exists(path("d")));
}

TEST_P(AnyFileSystem, RemovesAFolderWithAllInItAndIsFineWithoutOne) {
  ASSERT_FALSE(files_->createDirectories(path("d/e")).has_error());
  write(*files_, path("d/e/f"), "");
  ASSERT_FALSE(files_->removeAll(path("d")).has_error());
  ASSERT_FALSE(files_->removeAll(path("d")).has_error());
  EXPECT_FALSE(files_->exists(path("d")));
}

TEST_P(AnyFileSystem, AnOpenFileOutlivesItsRemoval) {
  write(*files_, path("a"), "still here");
  auto file = files_->open(path("a")).value();
  ASSERT_FALSE(files_->remove(path("a")).has_error());
  EXPECT_EQ(file->size().value(), 10u);
}

INSTANTIATE_TEST_SUITE_P(All, AnyFileSystem, ::testing::Values("Real", "Memory", "Faulty"), [](const auto& info) { return info.param; });

TEST(RealFiles, AFullDiskIsNoSpace) {
  RealFileSystem files;
  if (!files.exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  auto file = files.create("/dev/full", Create::kTruncate).value();
  const auto result = file->append(bytes("x"));
  ASSERT_TRUE(result.has_error());
  EXPECT_EQ(result.error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(result.error().message, "cannot write to /dev/full: No space left on device");
}

class Crashes : public ::testing::Test {
 protected:
  Crashes() {
    EXPECT_FALSE(files_.createDirectories("/d").has_error());
    EXPECT_FALSE(files_.syncDirectory("/").has_error());
  }
  MemoryFileSystem files_;
};

TEST_F(Crashes, LoseBytesThatWereNotSynced) {
  auto file = files_.create("/d/f", Create::kNew).value();
  ASSERT_FALSE(file->append(bytes("safe")).has_error());
  ASSERT_FALSE(file->sync().has_error());
  ASSERT_FALSE(file->append(bytes(" lost")).has_error());
  ASSERT_FALSE(files_.syncDirectory("/d").has_error());
  files_.crash();
  EXPECT_EQ(content(files_, "/d/f"), "safe");
}

TEST_F(Crashes, LoseANewFileWhoseFolderWasNotSynced) {
  write(files_, "/d/f", "x", true);
  files_.crash();
  EXPECT_FALSE(files_.exists("/d/f"));
}

TEST_F(Crashes, LoseANewFolderWhoseParentWasNotSynced) {
  ASSERT_FALSE(files_.createDirectories("/d/e").has_error());
  write(files_, "/d/e/f", "x", true);
  ASSERT_FALSE(files_.syncDirectory("/d/e").has_error());
  files_.crash();
  EXPECT_FALSE(files_.exists("/d/e"));
}

TEST_F(Crashes, TakeBackARenameThatWasNotSynced) {
  write(files_, "/d/final", "old", true);
  ASSERT_FALSE(files_.syncDirectory("/d").has_error());
  write(files_, "/d/tmp", "new", true);
  ASSERT_FALSE(files_.rename("/d/tmp", "/d/final").has_error());
  files_.crash();
  EXPECT_EQ(content(files_, "/d/final"), "old");
}

TEST_F(Crashes, KeepARenameThatWasSynced) {
  write(files_, "/d/tmp", "new", true);
  ASSERT_FALSE(files_.rename("/d/tmp", "/d/final").has_error());
  ASSERT_FALSE(files_.syncDirectory("/d").has_error());
  files_.crash();
  EXPECT_EQ(files_.list("/d").value(), std::vector<std::string>{"final"});
}

TEST_F(Crashes, BringBackARemovedFileWhoseFolderWasNotSynced) {
  write(files_, "/d/f", "x", true);
  ASSERT_FALSE(files_.syncDirectory("/d").has_error());
  ASSERT_FALSE(files_.removeAll("/d/f").has_error());
  files_.crash();
  EXPECT_EQ(content(files_, "/d/f"), "x");
}

TEST_F(Crashes, BreakFilesThatAreOpen) {
  write(files_, "/d/g", "x", true);
  ASSERT_FALSE(files_.syncDirectory("/d").has_error());
  auto writer = files_.create("/d/f", Create::kNew).value();
  auto reader = files_.open("/d/g").value();
  files_.crash();
  EXPECT_EQ(writer->append(bytes("x")).error().message, "/d/f was open when its machine crashed");
  EXPECT_TRUE(reader->size().has_error());
}

TEST_F(Crashes, WithARandomMayKeepAnyPartButNeverHalfARename) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    MemoryFileSystem files;
    write(files, "/final", "old", true);
    ASSERT_FALSE(files.syncDirectory("/").has_error());
    write(files, "/tmp", "new", true);
    ASSERT_FALSE(files.rename("/tmp", "/final").has_error());
    Random random(seed);
    files.crash(random);
    std::string names;
    for (const auto& name : files.list("/").value()) names += name + "=" + content(files, "/" + name) + " ";
    seen.insert(names);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"final=old ", "final=old tmp=new ", "final=new "}));
}

TEST_F(Crashes, WithARandomKeepAPrefixOfTheUnsyncedTail) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    MemoryFileSystem files;
    auto file = files.create("/f", Create::kNew).value();
    ASSERT_FALSE(file->append(bytes("a")).has_error());
    ASSERT_FALSE(file->sync().has_error());
    ASSERT_FALSE(file->append(bytes("bc")).has_error());
    ASSERT_FALSE(files.syncDirectory("/").has_error());
    Random random(seed);
    files.crash(random);
    seen.insert(content(files, "/f"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"a", "ab", "abc"}));
}

class Faults : public ::testing::Test {
 protected:
  Result<void> append(const std::string& path, std::string_view text) {
    auto file = faulty_.create(path, Create::kTruncate);
    if (file.has_error()) return file.error();
    return (*file)->append(bytes(text));
  }
  MemoryFileSystem memory_;
  FileFaults faults_;
  std::vector<Nanos> delays_;
  FaultyFileSystem faulty_{memory_, faults_, [this](FileOperation, Nanos latency) { delays_.push_back(latency); }};
};

TEST_F(Faults, HitOnlyTheirPathsAndOperations) {
  faults_.add({.path = "*/chk-?/*", .operations = {FileOperation::kCreate}});
  ASSERT_FALSE(faulty_.createDirectories("/job/chk-7").has_error());
  ASSERT_FALSE(faulty_.createDirectories("/job/chk-12").has_error());
  EXPECT_EQ(append("/job/chk-7/f", "x").error().message, "cannot create /job/chk-7/f: an injected fault");
  EXPECT_FALSE(append("/job/chk-12/f", "x").has_error());
  EXPECT_FALSE(append("/other", "x").has_error());
  EXPECT_FALSE(faulty_.exists("/job/chk-7/f"));
}

TEST_F(Faults, FailAfterSoManyBytesOfEachFile) {
  faults_.add({.operations = {FileOperation::kAppend}, .afterBytes = 5});
  for (const char* path : {"/a", "/b", "/a"}) {
    auto file = faulty_.create(path, Create::kTruncate).value();
    EXPECT_FALSE(file->append(bytes("12345")).has_error());
    EXPECT_EQ(file->append(bytes("6")).error().code, ErrorCode::kIo);
    EXPECT_EQ(content(memory_, path), "12345");
  }
}

TEST_F(Faults, FailSomeCallsAndThenNoMore) {
  const int rule = faults_.add({.operations = {FileOperation::kSyncDirectory}, .afterCalls = 1, .times = 2});
  std::string outcome;
  for (int i = 0; i < 5; ++i) outcome += faulty_.syncDirectory("/").has_error() ? 'x' : '.';
  EXPECT_EQ(outcome, ".xx..");
  EXPECT_EQ(faults_.fired(rule), 2u);
}

TEST_F(Faults, TearAWriteAndBreakTheFile) {
  faults_.add({.effect = Effect::kTornWrite, .afterBytes = 3});
  auto file = faulty_.create("/f", Create::kNew).value();
  EXPECT_FALSE(file->append(bytes("12")).has_error());
  EXPECT_EQ(file->append(bytes("3456")).error().message, "cannot append to /f: an injected torn write");
  EXPECT_TRUE(file->append(bytes("7")).has_error());
  EXPECT_TRUE(file->sync().has_error());
  EXPECT_TRUE(file->close().has_error());
  EXPECT_EQ(content(memory_, "/f"), "123");
}

TEST_F(Faults, TearAWriteSilently) {
  faults_.add({.effect = Effect::kSilentTornWrite, .path = "*_metadata", .afterBytes = 3});
  auto file = faulty_.create("/_metadata", Create::kNew).value();
  EXPECT_FALSE(file->append(bytes("123456")).has_error());
  EXPECT_FALSE(file->append(bytes("7")).has_error());
  EXPECT_FALSE(file->sync().has_error());
  EXPECT_FALSE(file->close().has_error());
  EXPECT_EQ(content(memory_, "/_metadata"), "123");
}

TEST_F(Faults, FillTheDiskAcrossFilesUntilTheRuleGoes) {
  const int rule = faults_.add({.effect = Effect::kFullDisk, .afterBytes = 6});
  EXPECT_FALSE(append("/a", "1234").has_error());
  const auto full = append("/b", "5678");
  ASSERT_TRUE(full.has_error());
  EXPECT_EQ(full.error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(full.error().message, "cannot append to /b: No space left on device");
  EXPECT_EQ(content(memory_, "/b"), "56");
  EXPECT_EQ(append("/c", "9").error().code, ErrorCode::kNoSpace);
  faults_.remove(rule);
  EXPECT_FALSE(append("/c", "9").has_error());
}

TEST_F(Faults, DelayByLatencyAndBytes) {
  faults_.add({.effect = Effect::kDelay, .operations = {FileOperation::kAppend}, .latency = Millis(5), .bytesPerSecond = 1000});
  ASSERT_FALSE(append("/a", std::string(100, 'x')).has_error());
  EXPECT_EQ(delays_, (std::vector<Nanos>{Nanos(0), Millis(105)}));
  EXPECT_EQ(faults_.counter(FileOperation::kAppend).delayed, Millis(105));
}

TEST_F(Faults, AreCountedByOperation) {
  faults_.add({.operations = {FileOperation::kRename}});
  ASSERT_FALSE(append("/a", "12345").has_error());
  EXPECT_EQ(content(faulty_, "/a"), "12345");
  EXPECT_TRUE(faulty_.rename("/a", "/b").has_error());
  EXPECT_TRUE(faulty_.open("/none").has_error());
  EXPECT_EQ(faults_.counter(FileOperation::kAppend).bytes, 5u);
  EXPECT_EQ(faults_.counter(FileOperation::kRead).bytes, 5u);
  EXPECT_EQ(faults_.counter(FileOperation::kRename).failures, 1u);
  EXPECT_EQ(faults_.counter(FileOperation::kOpen).calls, 2u);
  EXPECT_EQ(faults_.counter(FileOperation::kOpen).failures, 1u);
}

TEST_F(Faults, CanFailReads) {
  ASSERT_FALSE(append("/a", "12345").has_error());
  faults_.add({.operations = {FileOperation::kRead}});
  EXPECT_EQ(content(faulty_, "/a"), "(cannot read /a: an injected fault)");
  faults_.clear();
  EXPECT_EQ(content(faulty_, "/a"), "12345");
}

}  // namespace
}  // namespace weir
