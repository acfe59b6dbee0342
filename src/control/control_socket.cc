// SPDX-License-Identifier: Apache-2.0
#include "control/control_socket.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <vector>

namespace penumbra::control {
namespace {

std::filesystem::path read_socket(const ConfigNode& node) {
  auto socket = node.path();
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  if (socket.string().size() > kMost) {
    throw node.error(
        fmt::format("a socket's path is at most {} bytes long, this one is {}", kMost, socket.string().size()));
  }
  return socket;
}

/// Reads a group's name or number.
gid_t read_group(const ConfigNode& node) {
  const std::string name = node.text();
  gid_t number = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
  constexpr gid_t kNone = ~gid_t{0};  // chown(2) takes this number as "no change".
  if (failure == std::errc{} && end == name.data() + name.size() && number != kNone) return number;
  constexpr std::size_t kFirstRoom = 1024, kMostRoom = 1 << 20;
  std::vector<char> room(kFirstRoom);
  group found{};
  group* result = nullptr;
  while (getgrnam_r(name.c_str(), &found, room.data(), room.size(), &result) == ERANGE && room.size() < kMostRoom) {
    room.resize(2 * room.size());
  }
  if (result == nullptr) {
    throw node.error(fmt::format("there is no group {}; make it with `groupadd --system {}`, or name another one",
                                 quote(name), name));
  }
  return found.gr_gid;
}

mode_t read_mode(const ConfigNode& node) {
  const std::string text = node.text();
  const bool is_mode = (text.size() == 3 || (text.size() == 4 && text[0] == '0')) &&
                       text.substr(text.size() - 3).find_first_not_of("06") == std::string::npos &&
                       text[text.size() - 3] == '6';
  if (!is_mode) {
    throw node.error(
        fmt::format("expected \"0600\", \"0660\", \"0606\" or \"0666\" (who connects reads and writes), "
                    "found {}",
                    quote(text)));
  }
  return static_cast<mode_t>(std::stoul(text, nullptr, 8));
}

SocketAccess read_access(const ConfigNode& node) {
  SocketAccess access;
  if (const ConfigNode group = node.get("group"); group.present()) {
    access = {.group = read_group(group), .mode = SocketAccess::kOwnerAndGroup};
  }
  if (const ConfigNode mode = node.get("mode"); mode.present()) access.mode = read_mode(mode);
  return access;
}

}  // namespace

ControlSockets read_control(const ConfigNode& node) {
  ControlSockets sockets;
  if (!node.present()) {
    sockets.socket = default_socket();
    return sockets;
  }
  node.require_map({"socket", "group", "mode", "read_only"});
  const ConfigNode socket = node.get("socket");
  sockets.socket = socket.present() ? read_socket(socket) : default_socket();
  sockets.access = read_access(node);
  if (socket.present()) sockets.access.location = socket.location();
  const ConfigNode read_only = node.get("read_only");
  if (!read_only.present()) return sockets;
  read_only.require_map({"socket", "group", "mode"});
  sockets.read_only_socket = read_socket(read_only.at("socket"));
  sockets.read_only_access = read_access(read_only);
  sockets.read_only_access.location = read_only.at("socket").location();
  if (sockets.read_only_socket.lexically_normal() == sockets.socket.lexically_normal()) {
    throw read_only.at("socket").error("this is the socket that takes all commands already; name another path");
  }
  return sockets;
}

std::filesystem::path default_socket() {
  // systemd sets this variable for RuntimeDirectory=.
  const char* runtime = std::getenv("RUNTIME_DIRECTORY");
  if (runtime != nullptr && *runtime == '/') return std::filesystem::path(runtime) / "penumbra.sock";
  if (geteuid() == 0) return "/run/penumbra/penumbra.sock";
  const char* directory = std::getenv("XDG_RUNTIME_DIR");
  if (directory != nullptr && *directory != '\0') return std::filesystem::path(directory) / "penumbra.sock";
  return "/tmp/penumbra-" + std::to_string(geteuid()) + "/penumbra.sock";
}

}  // namespace penumbra::control
