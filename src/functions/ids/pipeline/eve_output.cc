// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/pipeline/eve_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "penumbra/errors.h"

namespace penumbra::ids {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr int kMostWait = 100;  // milliseconds

}  // namespace

EveOutput::EveOutput(const std::string& target) : is_socket_(target.starts_with(kUnix)) {
  path_ = is_socket_ ? target.substr(kUnix.size()) : target;
  if (is_socket_) {
    connect();
  } else {
    open_file();
  }
}

void EveOutput::open_file() {
  // A link could lead the events, written with the rights of the router, into any file. O_NONBLOCK: opening a pipe
  // must not wait.
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  FileDescriptor file(::open(path_.c_str(), kFlags, S_IRUSR | S_IWUSR | S_IRGRP));
  if (!file) {
    if (errno == ELOOP) throw std::runtime_error(quote(path_) + " is a symbolic link; events need a file");
    throw std::system_error(errno, std::generic_category(), "cannot write " + quote(path_));
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw std::runtime_error(quote(path_) + " is no regular file");
  }
  file_ = std::move(file);
  ends_in_a_line_ = true;
}

void EveOutput::connect() {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path_, address.sun_path);
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
  file_ = std::move(socket);
}

bool EveOutput::write(std::string_view lines) {
  if (!file_) return false;
  if (!ends_in_a_line_) {
    if (::write(file_.get(), "\n", 1) != 1) return false;
    ends_in_a_line_ = true;
  }
  while (!lines.empty()) {
    const ssize_t written = is_socket_ ? ::send(file_.get(), lines.data(), lines.size(), MSG_NOSIGNAL)
                                       : ::write(file_.get(), lines.data(), lines.size());
    if (written > 0) {
      ends_in_a_line_ = lines[static_cast<std::size_t>(written) - 1] == '\n';
      lines.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    pollfd wait{.fd = file_.get(), .events = POLLOUT, .revents = 0};
    if (is_socket_ && errno == EAGAIN && ::poll(&wait, 1, kMostWait) == 1) continue;
    // A new connection begins with a whole line.
    if (is_socket_) file_ = FileDescriptor();
    return false;
  }
  return true;
}

bool EveOutput::is_moved() const {
  struct stat named{}, open{};
  if (::lstat(path_.c_str(), &named) != 0) return errno == ENOENT;
  return ::fstat(file_.get(), &open) == 0 && (named.st_dev != open.st_dev || named.st_ino != open.st_ino);
}

void EveOutput::turn() {
  if (is_socket_) {
    if (!file_) connect();
    return;
  }
  if (!is_moved()) return;
  try {
    open_file();
  } catch (const std::exception&) {
    return;  // The open file goes on. The next turn tries again.
  }
}

}  // namespace penumbra::ids
