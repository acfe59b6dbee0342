// SPDX-License-Identifier: Apache-2.0
#include "runtime/listening_socket.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "runtime/unix_socket.h"

namespace penumbra::runtime {
namespace {

/// Returns true if a process listens on the socket.
bool is_alive(const sockaddr_un& address) {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return connect_to(socket.get(), address) == 0 || errno != ECONNREFUSED;
}

/// Refuses a folder in which other users could replace the router's socket.
void require_own(const std::filesystem::path& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return;  // The following bind() reports the error.
  const bool foreign = status.st_uid != ::geteuid() && status.st_uid != 0 && ::geteuid() != 0;
  const bool open_to_all = (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (!foreign && !open_to_all) return;
  throw std::runtime_error(fmt::format(
      "{}: other users could replace a control socket in this folder; choose another with `control: {{socket: PATH}}`",
      folder.string()));
}

void make_folder(const std::filesystem::path& path, bool is_shared) {
  constexpr mode_t kOwnerOnly = 0700, kAllMayEnter = 0755;
  if (!path.has_parent_path()) return require_own(".");
  const auto folder = path.parent_path();
  if (::mkdir(folder.c_str(), kOwnerOnly) == 0) {
    if (is_shared) ::chmod(folder.c_str(), kAllMayEnter);
  } else if (errno != EEXIST) {
    throw socket_error(path, "cannot make the control socket's folder");
  }
  require_own(folder);
}

/// Binds the socket. Replaces a stale socket file without a listener.
void bind_at(const FileDescriptor& socket, const std::filesystem::path& path, const sockaddr_un& address) {
  if (bind_to(socket.get(), address) == 0) return;
  struct stat status{};
  const bool stale = errno == EADDRINUSE && ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
  if (!stale) throw socket_error(path, "cannot make the control socket");
  if (is_alive(address)) {
    throw std::runtime_error(path.string() +
                             ": another router listens on this control socket; give this one its own "
                             "with `control: {socket: PATH}`");
  }
  if (::unlink(path.c_str()) != 0 || bind_to(socket.get(), address) != 0) {
    throw socket_error(path, "cannot replace the control socket of a router that is gone");
  }
}

/// Gives access to others after bind(), which created the file for the owner only.
void share(const std::filesystem::path& path, const control::SocketAccess& access) {
  if (access.group && ::lchown(path.c_str(), static_cast<uid_t>(-1), *access.group) != 0) {
    throw socket_error(path, fmt::format("cannot give the control socket to group {}; the router's user must be root "
                                         "or a member of the group",
                                         *access.group));
  }
  if (access.is_shared() && ::chmod(path.c_str(), access.mode) != 0) {
    throw socket_error(path, "cannot set the control socket's mode");
  }
}

}  // namespace

ListeningSocket::ListeningSocket(std::filesystem::path path, const control::SocketAccess& access)
    : path_(std::move(path)) {
  const sockaddr_un address = unix_address(path_);
  make_folder(path_, access.is_shared());
  socket_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // bind() takes the file's mode from the unbound socket, so others can connect at no moment.
  if (!socket_ || ::fchmod(socket_.get(), control::SocketAccess::kOwnerOnly) != 0) {
    throw socket_error(path_, "cannot make a control socket");
  }
  bind_at(socket_, path_, address);
  try {
    share(path_, access);
    if (::listen(socket_.get(), SOMAXCONN) != 0) throw socket_error(path_, "cannot listen on the control socket");
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

ListeningSocket::~ListeningSocket() {
  ::unlink(path_.c_str());
}

}  // namespace penumbra::runtime
