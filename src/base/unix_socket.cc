// SPDX-License-Identifier: Apache-2.0
#include "base/unix_socket.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace penumbra {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Sets the address of a path. Returns false, with the reason in errno, if it is too long.
bool set_path(sockaddr_un& address, const std::filesystem::path& path) {
  const std::string& text = path.native();
  address = {};
  address.sun_family = AF_UNIX;
  if (text.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return true;
}

}  // namespace

FileDescriptor lock_socket(const std::filesystem::path& socket) {
  const std::string path = socket.string() + ".lock";
  FileDescriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) fail("cannot open " + path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) fail("another process has " + socket.string());
  return lock;
}

FileDescriptor listen_at(const std::filesystem::path& path, mode_t rights) {
  sockaddr_un address;
  if (!set_path(address, path)) fail("cannot listen on " + path.string());
  FileDescriptor listening(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening) fail("cannot make a socket");
  unlink(path.c_str());
  const mode_t mask = umask(0777 & ~rights);
  const bool bound = bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  umask(mask);
  if (!bound) fail("cannot listen on " + path.string());
  constexpr int kBacklog = 64;
  if (listen(listening.get(), kBacklog) != 0) fail("cannot listen on " + path.string());
  return listening;
}

FileDescriptor connect_to(const std::filesystem::path& path) noexcept {
  sockaddr_un address;
  if (!set_path(address, path)) return {};
  FileDescriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection) return {};
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    connection = {};
    errno = error;
  }
  return connection;
}

std::optional<uid_t> user_of_peer(int socket) noexcept {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer.uid;
}

}  // namespace penumbra
