// SPDX-License-Identifier: Apache-2.0
//
// Reads `control:`, the sockets on which a router answers commands.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "penumbra/config_node.h"
#include "penumbra/errors.h"

namespace penumbra::control {

/// Holds the access rights of a socket.
struct SocketAccess {
  static constexpr mode_t kOwnerOnly = 0600, kOwnerAndGroup = 0660;

  std::optional<gid_t> group;    ///< The file's group; if not set, the process's.
  mode_t mode = kOwnerOnly;      ///< The file's mode; connect() needs read and write permission.
  SourceLocation location = {};  ///< Place of the path in the configuration; line 0 if the configuration has none.

  /// Returns true if users other than the owner may connect.
  bool is_shared() const { return mode != kOwnerOnly; }
};

struct ControlSockets {
  std::filesystem::path socket;  ///< Accepts all commands.
  SocketAccess access;
  std::filesystem::path read_only_socket;  ///< Accepts commands that change nothing; empty: there is no such socket.
  SocketAccess read_only_access;
};

/// Reads `control: {socket: PATH, group: NAME, mode: MODE, read_only: {socket: PATH, group: NAME, mode: MODE}}`. If
/// `node` is not present, the result is default_socket() for the owner only. Throws InputError.
ControlSockets read_control(const ConfigNode& node);

/// Returns the path of the router's socket if none is named. In a systemd service this is
/// $RUNTIME_DIRECTORY/penumbra.sock. Elsewhere it is /run/penumbra/penumbra.sock for root, else
/// $XDG_RUNTIME_DIR/penumbra.sock, else /tmp/penumbra-UID/penumbra.sock.
std::filesystem::path default_socket();
/// Describes the rule of default_socket() for help and errors.
inline constexpr std::string_view kDefaultSocketInWords =
    "/run/penumbra/penumbra.sock for root, else $XDG_RUNTIME_DIR/penumbra.sock, else /tmp/penumbra-UID/penumbra.sock";

}  // namespace penumbra::control
