// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/file_descriptor.h"

namespace penumbra::runtime {

/// Returns the error "PATH: failure: the system's reason", from errno.
inline std::runtime_error socket_error(const std::filesystem::path& path, const std::string& what) {
  return std::runtime_error(path.string() + ": " + what + ": " + std::strerror(errno));
}

/// Returns the address of a path. Throws std::runtime_error if the path is too long for a socket.
inline sockaddr_un unix_address(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.empty() || text.size() >= sizeof address.sun_path) {
    throw std::runtime_error(text + ": a control socket's path must have 1 to " +
                             std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

/// Return 0, or -1 with errno, like connect() and bind().
inline int connect_to(int socket, const sockaddr_un& address) {
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}
inline int bind_to(int socket, const sockaddr_un& address) {
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace penumbra::runtime
