#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

extern char** environ;

namespace weir::testing {

struct Answer {
  int code = -1;
  std::string out, err;
};

/// Runs the real command. `onError` looks at what came on standard error so far, after each piece; it may signal the process.
inline Answer weir(std::vector<std::string> arguments, const std::function<void(pid_t, const std::string&)>& onError = nullptr) {
  int out[2], err[2];
  EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(err, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  arguments.insert(arguments.begin(), WEIR_BINARY);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, WEIR_BINARY, &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);

  Answer answer;
  pollfd open[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    poll(open, 2, -1);
    for (pollfd& pipe : open) {
      if (pipe.fd < 0 || pipe.revents == 0) continue;
      char bytes[4096];
      const ssize_t got = ::read(pipe.fd, bytes, sizeof bytes);
      if (got <= 0) {
        close(pipe.fd);
        pipe.fd = -1;
        continue;
      }
      const bool isError = &pipe == &open[1];
      (isError ? answer.err : answer.out).append(bytes, static_cast<size_t>(got));
      if (isError && onError) onError(pid, answer.err);
    }
  }
  int status = 0;
  waitpid(pid, &status, 0);
  answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return answer;
}

/// A mistake of the user's: exit code 2, nothing on standard output, one line on standard error with all of `says` in it.
inline void expectUsageError(const std::vector<std::string>& arguments, const std::vector<std::string>& says) {
  const Answer answer = weir(arguments);
  SCOPED_TRACE(::testing::PrintToString(arguments));
  EXPECT_EQ(answer.code, 2) << answer.err;
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err, ::testing::StartsWith("weir: "));
  EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  EXPECT_THAT(answer.err, ::testing::Not(::testing::HasSubstr("Exception"))) << "no stack trace";
  for (const std::string& text : says) EXPECT_THAT(answer.err, ::testing::HasSubstr(text));
}

}  // namespace weir::testing
