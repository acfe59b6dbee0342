// SPDX-License-Identifier: Apache-2.0
#include "io/interface_lock.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace penumbra::io {
namespace {

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Name name_of(const std::string& interface) {
  const std::string text = "penumbra/interface/" + interface;
  Name name;
  name.address.sun_family = AF_UNIX;
  // A leading NUL selects the abstract namespace.
  text.copy(&name.address.sun_path[1], sizeof name.address.sun_path - 1);
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                      std::min(text.size(), sizeof name.address.sun_path - 1));
  return name;
}

/// Returns the credentials of the process that listens on the name.
std::optional<ucred> owner_of(const Name& name) {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ucred owner{};
  socklen_t bytes = sizeof owner;
  const bool known = socket && ::connect(socket.get(), name.get(), name.bytes) == 0 &&
                     ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &owner, &bytes) == 0;
  return known ? std::optional(owner) : std::nullopt;
}

}  // namespace

InterfaceLock::InterfaceLock(const std::string& interface) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const FileDescriptor>> own;
  if (interface.empty()) return;
  const std::lock_guard guard(mutex);
  socket_ = own[interface].lock();
  if (socket_ != nullptr) return;
  const Name name = name_of(interface);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return;  // Without sockets no port that needs an interface works.
  if (::bind(socket.get(), name.get(), name.bytes) == 0) {
    ::listen(socket.get(), 1);
    socket_ = std::make_shared<const FileDescriptor>(std::move(socket));
    own[interface] = socket_;
    return;
  }
  const auto owner = errno == EADDRINUSE ? owner_of(name) : std::nullopt;
  // Any user may take the name. Only users with enough rights to do worse are trusted.
  if (!owner || (owner->uid != 0 && owner->uid != ::geteuid())) return;
  throw std::runtime_error(fmt::format(
      "another router (process {}) has the interface '{}', and both would forward its packets; stop that one, or take "
      "another interface",
      owner->pid, interface));
}

}  // namespace penumbra::io
