// SPDX-License-Identifier: Apache-2.0
//
// Unix sockets of type SOCK_SEQPACKET.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "base/file_descriptor.h"

namespace penumbra {

/// Takes the lock of a socket, which only one process may own. The lock ends with the process. Throws
/// std::system_error, also if another process has it.
FileDescriptor lock_socket(const std::filesystem::path& socket);

/// Listens at a path, and removes a socket that is there; the caller has its lock. `rights` are those of the socket.
/// The descriptor does not block. Throws std::system_error.
FileDescriptor listen_at(const std::filesystem::path& path, mode_t rights);

/// Connects to a path without waiting. The descriptor does not block. Returns none, with the reason in errno, if nobody
/// accepts or the caller may not connect.
FileDescriptor connect_to(const std::filesystem::path& path) noexcept;

/// Returns the user who connected, or who listened when this process connected. Returns none, with the reason in errno,
/// if the kernel does not say.
std::optional<uid_t> user_of_peer(int socket) noexcept;

}  // namespace penumbra
