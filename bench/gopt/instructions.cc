// SPDX-License-Identifier: Apache-2.0
#include "gopt/instructions.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace penumbra::bench {
namespace {

/// Runs in the child: stops, works, stops, and ends without cleanup.
[[noreturn]] void work_watched(const std::function<void()>& work) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
  raise(SIGSTOP);
  work();
  raise(SIGSTOP);
  _exit(0);
}

/// Returns the single steps between two stops of the child by SIGSTOP.
std::optional<std::uint64_t> steps(pid_t child) {
  std::uint64_t count = 0;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
  for (;; ++count) {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) return std::nullopt;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
    if (WSTOPSIG(status) == SIGSTOP) return count;
    if (WSTOPSIG(status) != SIGTRAP) return std::nullopt;
  }
}

std::optional<std::uint64_t> all_steps(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) work_watched(work);
  if (child < 0) return std::nullopt;
  const auto count = steps(child);
  kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) == child && !WIFEXITED(status) && !WIFSIGNALED(status)) {
  }
  return count;
}

}  // namespace

std::optional<std::uint64_t> instructions(const std::function<void()>& work) {
  const auto with = all_steps(work), without = all_steps([] {});
  if (!with || !without) return std::nullopt;
  return *with - *without;
}

}  // namespace penumbra::bench
