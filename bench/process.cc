// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "bench.h"

namespace penumbra::bench {
namespace {

constexpr double kLongest = 60;       // Seconds.
constexpr int kPollMilliseconds = 5;  // Accuracy of the threads' times.

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

[[noreturn]] void become(const std::vector<std::string>& arguments, const Pipe& output, const Pipe& errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output.ends[1], STDOUT_FILENO);
  dup2(errors.ends[1], STDERR_FILENO);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

/// Appends the available output. Returns false at the end.
bool take(int file, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t count = read(file, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

}  // namespace

Finished run_program(const std::vector<std::string>& arguments,
                     const std::function<bool(const std::string& output)>& enough) {
  Pipe output, errors;
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) become(arguments, output, errors);
  output.close_end(1);
  errors.close_end(1);

  Finished result;
  const double kill_at = now() + kLongest;
  bool interrupted = false, killed = false;
  std::array<pollfd, 2> files{pollfd{output.ends[0], POLLIN, 0}, pollfd{errors.ends[0], POLLIN, 0}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (enough && !interrupted && enough(result.output)) interrupted = kill(child, SIGINT) == 0;
    if (!killed && now() >= kill_at) killed = kill(child, SIGKILL) == 0;
    poll(files.data(), files.size(), kPollMilliseconds);
    for (const auto& [name, seconds] : thread_times(child)) result.thread_seconds[name] = seconds;
    if (files[0].revents != 0 && !take(files[0].fd, result.output)) files[0].fd = -1;
    if (files[1].revents != 0 && !take(files[1].fd, result.errors)) files[1].fd = -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (killed || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(fmt::format("{}: {}\n{}", fmt::join(arguments, " "),
                                         killed ? "did not end" : fmt::format("wait status {}", status),
                                         result.errors));
  }
  return result;
}

std::string router_program() {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("penumbra").string();
}

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = folder;
    file.append("/").append(name);
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

}  // namespace penumbra::bench
