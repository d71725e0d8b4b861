#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/operator_harness.h"
#include "weir/operators/file_reader.h"

namespace weir::testing {

/// Readers in the source operator, as a job has them.
class FileReaderTest : public ::testing::Test {
 protected:
  template <class R>
  using Source = OperatorHarness<typename R::Element>;

  template <class R>
  std::unique_ptr<Source<R>> source(const R& reader, HarnessOptions options = {}) {
    return std::make_unique<Source<R>>(
        machine_,
        [reader](OperatorSetup setup) {
          return std::make_unique<SourceOperator<R>>(std::move(setup), reader, std::numeric_limits<double>::infinity());
        },
        options);
  }
  template <class H>
  static bool poll(H& harness, size_t limit = kMaxBatch) {
    return static_cast<SourceOperatorBase&>(harness.op()).emitNext(limit).kind != SourceStatus::Kind::kEndOfInput;
  }
  /// All that one subtask reads.
  template <class R>
  std::vector<typename R::Element> readAll(const R& reader) {
    auto harness = source(reader);
    harness->start();
    while (poll(*harness)) continue;
    harness->close();
    return harness->output();
  }
  /// What it fails with.
  template <class R>
  std::string failure(const R& reader) {
    try {
      readAll(reader);
    } catch (const Throwable& error) {
      return error.message();
    }
    return "(no failure)";
  }
  template <class R>
  std::string mistake(const R& reader) {
    const auto result = reader.validate(machine_.files);
    return result.has_error() ? result.error().message : "(no mistake)";
  }

  OperatorMachine machine_;
};

}  // namespace weir::testing
