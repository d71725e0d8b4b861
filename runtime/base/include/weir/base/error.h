#pragma once

#include <memory>
#include <stdexcept>
#include <string>

namespace weir {

/// Why an operation did not succeed, coarse enough to decide on; the text says the rest.
enum class ErrorCode {
  kInvalidArgument,  ///< the caller's input is wrong: a key, a file's content, a flag
  kNotFound,
  kAlreadyExists,
  kIo,          ///< the file system or a socket failed
  kNoSpace,     ///< the disk is full
  kCorrupt,     ///< bytes that cannot be what they claim to be
  kUnsupported, ///< known, but not offered here
  kFailed,      ///< anything else
};

/// An expected failure. The message is one sentence that names what, where and what to do; no trailing newline.
struct Error {
  ErrorCode code = ErrorCode::kFailed;
  std::string message;

  /// The same error with "`context`: " in front of its message.
  Error in(const std::string& context) const { return {code, context + ": " + message}; }
};

/// A failure that unwinds a task or an actor: Flink's Throwable, with the Java class name that Flink's logs would show and its
/// chain of causes. Caught at the task boundary, printed in logs, kept in the exception history.
class Throwable : public std::exception {
 public:
  Throwable(std::string className, std::string message, std::shared_ptr<const Throwable> cause = nullptr)
      : className_(std::move(className)), message_(std::move(message)), cause_(std::move(cause)) {
    text_ = className_ + ": " + message_;
  }
  /// "class: message" of this one alone.
  const char* what() const noexcept override { return text_.c_str(); }
  const std::string& className() const { return className_; }
  const std::string& message() const { return message_; }
  const std::shared_ptr<const Throwable>& cause() const { return cause_; }
  /// The whole chain as a Java stack trace prints it: a line each, "Caused by: " before the second and later.
  std::string trace() const;
  /// Any exception as a Throwable: itself, or a java.lang.Exception with its text.
  static std::shared_ptr<const Throwable> from(const std::exception_ptr& error);

 private:
  std::string className_, message_, text_;
  std::shared_ptr<const Throwable> cause_;
};

/// Thrown out of every wait of a cancelled actor. User code must let it pass; it is no error and is not logged as one.
struct TaskCancelled {};

}  // namespace weir
