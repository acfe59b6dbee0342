// SPDX-License-Identifier: Apache-2.0
//
// `control:`, the sockets on which a router answers commands.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "penumbra/config_node.h"
#include "penumbra/errors.h"

namespace penumbra::control {

/// Who may connect to a socket.
struct SocketAccess {
  static constexpr mode_t kOwnerOnly = 0600, kOwnerAndGroup = 0660;

  std::optional<gid_t> group;    ///< the file's; if not set, the process's
  mode_t mode = kOwnerOnly;      ///< the file's; connect() needs read and write permission
  SourceLocation location = {};  ///< where the configuration names the path; line 0 if it does not

  /// Whether users other than the owner may connect.
  bool is_shared() const { return mode != kOwnerOnly; }
};

struct ControlSockets {
  std::filesystem::path socket;  ///< takes all commands
  SocketAccess access;
  std::filesystem::path read_only_socket;  ///< takes commands that change nothing; empty: there is no such socket
  SocketAccess read_only_access;
};

/// Reads `control: {socket: PATH, group: NAME, mode: MODE, read_only: {socket: PATH, group: NAME, mode: MODE}}`. If
/// `node` is not present, the result is default_socket() for the owner only. Throws InputError.
ControlSockets read_control(const ConfigNode& node);

/// Where the commands look for a router if no socket is named: $RUNTIME_DIRECTORY/penumbra.sock in a service of
/// systemd, else /run/penumbra/penumbra.sock for root, else $XDG_RUNTIME_DIR/penumbra.sock, else
/// /tmp/penumbra-UID/penumbra.sock.
std::filesystem::path default_socket();
/// The same in words, for help and errors.
inline constexpr std::string_view kDefaultSocketInWords =
    "/run/penumbra/penumbra.sock for root, else $XDG_RUNTIME_DIR/penumbra.sock, else /tmp/penumbra-UID/penumbra.sock";

}  // namespace penumbra::control
