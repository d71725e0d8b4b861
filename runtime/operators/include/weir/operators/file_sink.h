#pragma once

#include <memory>
#include <string>

#include "weir/base/actor_file_system.h"
#include "weir/operators/row_text.h"
#include "weir/operators/two_phase_commit_sink.h"

namespace weir {

enum class RowFileFormat { kCsv, kJsonLines };

struct FileSinkOptions {
  std::string directory;  ///< made where it is missing
  bool header = true;  ///< CSV: the first line of each part names the columns
  bool sync = false;   ///< parts are on the disk before a checkpoint completes, their final names before the next one does
};

/// A part file that is being written or waits for its commit. Without a record there is no file.
struct PartFile {
  std::string inProgress;  ///< path
  std::string target;      ///< path after the commit
  int64_t bytes = 0;
  WEIR_FIELDS(inProgress, target, bytes)
};

/// The files of one subtask of a FileSink: what is done with them, whatever the rows are. Used by the task alone. Errors are thrown and
/// name the path.
class PartFileWriter {
 public:
  PartFileWriter(FileSystem& files, ExecutionContext& context, const FileSinkOptions& options, std::string_view extension,
                 int32_t subtask, std::string firstLine);

  /// Makes the directory. Numbers go on behind those of the parts that lie in it, pending ones too: after a rescale another subtask may be
  /// about to commit them. They are not kept in a union list state, since then no checkpoint could complete once a subtask has finished.
  void start();
  PartFile begin();
  /// Whole lines; kept in memory until there are enough.
  std::string& buffer() { return buffer_; }
  void writeIfFull(PartFile& part) {
    if (buffer_.size() >= kBufferBytes) write(part);
  }
  /// All of the part is in its file, which is closed.
  void preCommit(PartFile& part);
  /// Gives the part its final name; does nothing where it has it.
  void commit(const PartFile& part);
  /// Like commit, for a part of another attempt: what its file lacks is lost and fails the task.
  void recoverAndCommit(const PartFile& part);
  /// Deletes the file, if there is one.
  void abort(const PartFile& part);

 private:
  static constexpr size_t kBufferBytes = 1 << 16;
  void write(PartFile& part);
  std::string targetOf(int64_t number) const;

  ActorFileSystem files_;
  ExecutionContext& context_;
  const FileSinkOptions options_;
  const std::string namePrefix_, extension_;
  const std::string firstLine_;
  int64_t lastNumber_ = -1;
  std::string buffer_;
  std::unique_ptr<WritableFile> file_;  ///< of the current part; null before its first write
};

Result<void> validateSinkDirectory(FileSystem& files, const std::string& directory);

template <class T, RowFileFormat format>
class FileSinkOperator final : public TwoPhaseCommitSink<T, PartFile> {
 public:
  FileSinkOperator(OperatorSetup setup, const FileSinkOptions& options)
      : TwoPhaseCommitSink<T, PartFile>(std::move(setup)),
        parts_(this->environment().world.fileSystem, this->context(), options, kIsCsv ? ".csv" : ".jsonl", this->environment().subtask(),
               kIsCsv && options.header ? csvHeader<T>() + "\n" : "") {}

 protected:
  void onStart() override { parts_.start(); }
  PartFile beginTransaction() override { return parts_.begin(); }
  void write(PartFile& current, std::span<StreamRecord<T>> records) override {
    for (const auto& record : records) {
      if constexpr (kIsCsv)
        appendCsvRow(parts_.buffer(), record.value);
      else
        appendJson(parts_.buffer(), record.value);
      parts_.buffer() += '\n';
    }
    parts_.writeIfFull(current);
  }
  void preCommit(PartFile& part) override { parts_.preCommit(part); }
  void commit(PartFile& part) override { parts_.commit(part); }
  void abort(PartFile& part) override { parts_.abort(part); }
  void recoverAndCommit(PartFile& part) override { parts_.recoverAndCommit(part); }

 private:
  static constexpr bool kIsCsv = format == RowFileFormat::kCsv;
  PartFileWriter parts_;
};

/// Rows as files of a directory, exactly once. A part is written as `.part-<subtask>-<n>.inprogress.<id>` and renamed to
/// `part-<subtask>-<n>.csv` (`.jsonl`) when its checkpoint has completed; n goes on over restarts. Readers must pass over names with a dot
/// in front. `stream.sinkTo("files", Batching::kBatches, FileSink<T>({.directory = "out"}))`. Flink: FileSink, rolling on every checkpoint.
template <class T, RowFileFormat format = RowFileFormat::kCsv>
class FileSink {
 public:
  explicit FileSink(FileSinkOptions options) : options_(std::move(options)) {}
  std::unique_ptr<StreamOperator> operator()(OperatorSetup setup) const {
    return std::make_unique<FileSinkOperator<T, format>>(std::move(setup), options_);
  }
  /// Finds a directory that cannot be made or written before anything runs.
  Result<void> validate(FileSystem& files) const { return validateSinkDirectory(files, options_.directory); }

 private:
  FileSinkOptions options_;
};

}  // namespace weir
