// SPDX-License-Identifier: Apache-2.0
#include "apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <system_error>

#include "bench.h"

namespace penumbra::bench {
namespace {

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "write");
    if (written > 0) done += static_cast<std::size_t>(written);
  }
}

/// Returns everything that is written until the other end is closed; none if that is not before `until` (now()).
std::optional<std::string> read_all(int file, double until, const std::function<void()>& tick) {
  constexpr int kSecond = 1000;
  std::string text;
  for (char buffer[4096]; now() < until;) {
    pollfd waiting{.fd = file, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, kSecond);
    if (ready <= 0) {
      if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
      tick();
      continue;
    }
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::system_error(errno, std::generic_category(), "read");
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

/// Runs `work` in the child and ends the process, so that the child never returns to the parent's code.
[[noreturn]] void run_as_child(const std::string& who, const std::function<nlohmann::json()>& work, int results) {
  int status = 0;
  try {
    nlohmann::json found;
    try {
      found = work();
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", who, error.what());
      found = {{"error", error.what()}};
      status = 1;
    }
    std::fflush(nullptr);
    write_all(results, found.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } catch (...) {
    status = 1;
  }
  _exit(status);  // DPDK's threads may still run, so destructors of statics must not.
}

/// Returns how a child has ended, in words. Kills a late child; if a GPU driver does not release it, it may remain.
std::string end_of(pid_t child, bool is_late, double patience) {
  int status = 0;
  if (is_late) {
    kill(child, SIGKILL);
    sleep(1);
    waitpid(child, &status, WNOHANG);
    return fmt::format("no end after {:.0f} s: given up", patience);
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? fmt::format("ended by signal {}", WTERMSIG(status))
                             : fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

nlohmann::json run_apart(const std::string& who, double patience, const std::function<nlohmann::json()>& work,
                         const std::function<void()>& tick) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    close(ends[0]);
    run_as_child(who, work, ends[1]);
  }
  close(ends[1]);
  const std::optional<std::string> text = read_all(ends[0], now() + patience, tick);
  close(ends[0]);
  const std::string end = end_of(child, !text, patience);
  nlohmann::json found = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (found.is_object()) return found;
  fmt::print(stderr, "{}: {}\n", who, end);
  return {{"error", end}};
}

}  // namespace penumbra::bench
