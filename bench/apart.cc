// SPDX-License-Identifier: Apache-2.0
#include "apart.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>

namespace penumbra::bench {
namespace {

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "write");
    if (written > 0) done += static_cast<std::size_t>(written);
  }
}

std::string read_all(int file, const std::function<void()>& tick) {
  constexpr int kSecond = 1000;
  std::string text;
  for (char buffer[4096];;) {
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
}

[[noreturn]] void run_as_child(const std::string& who, const std::function<nlohmann::json()>& work, int results) {
  nlohmann::json found;
  int status = 0;
  try {
    found = work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", who, error.what());
    found = {{"error", error.what()}};
    status = 1;
  }
  std::fflush(nullptr);
  write_all(results, found.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  _exit(status);  // DPDK's threads may still run: no destructors of statics
}

}  // namespace

nlohmann::json run_apart(const std::string& who, const std::function<nlohmann::json()>& work,
                         const std::function<void()>& tick) {
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    close(ends[0]);
    run_as_child(who, work, ends[1]);
  }
  close(ends[1]);
  const std::string text = read_all(ends[0], tick);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  nlohmann::json found = nlohmann::json::parse(text, nullptr, false);
  if (found.is_object()) return found;
  const std::string error = WIFSIGNALED(status) ? fmt::format("ended by signal {}", WTERMSIG(status))
                                                : fmt::format("ended with status {}", WEXITSTATUS(status));
  fmt::print(stderr, "{}: {}\n", who, error);
  return {{"error", error}};
}

}  // namespace penumbra::bench
