// SPDX-License-Identifier: Apache-2.0
#include "runtime/config_check.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "base/file_descriptor.h"
#include "io/port.h"
#include "io/port_warnings.h"
#include "penumbra/errors.h"
#include "runtime/router.h"

namespace penumbra::runtime {
namespace {

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// Returns the socket's folder, or the parent of that folder if the folder does not exist yet.
std::filesystem::path folder_of(const std::filesystem::path& socket) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::absolute(socket, ignored).parent_path();
  return std::filesystem::exists(folder, ignored) ? folder : folder.parent_path();
}

/// Checks that the address belongs to this machine. Does not check that the port is free, because the router may be
/// running.
void check_listen(const control::ListenAddress& listen, const char* who) {
  if (listen.location.line == 0) return;
  control::Endpoint any_port = listen.endpoint;
  if (any_port.family() == AF_INET) reinterpret_cast<sockaddr_in*>(&any_port.address)->sin_port = 0;
  if (any_port.family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&any_port.address)->sin6_port = 0;
  const FileDescriptor socket(::socket(any_port.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::bind(socket.get(), any_port.get(), any_port.bytes) == 0 || errno != EADDRNOTAVAIL) return;
  throw InputError(listen.location,
                   fmt::format("{}: cannot listen on {}: this machine does not have the address (`ip address` lists "
                               "those that it has)",
                               who, listen.text));
}

void check_socket(const std::filesystem::path& socket, const SourceLocation& place) {
  if (place.line == 0 || socket.empty()) return;
  const auto refuse = [&](const std::string& what) {
    throw InputError(place, fmt::format("control socket {}: {}", socket.string(), what));
  };
  struct stat status{};
  if (::lstat(socket.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
    refuse(S_ISDIR(status.st_mode) ? "it is a folder; name a file in it"
                                   : "there is a file of this name; remove it, or give the socket another name");
  }
  const std::filesystem::path folder = folder_of(socket);
  std::error_code ignored;
  if (!std::filesystem::exists(folder, ignored)) {
    refuse(fmt::format("there is no folder {}; make it (mkdir -p), or choose another one", folder.string()));
  }
  if (!is_folder(folder)) refuse(fmt::format("{} is no folder; choose another one", folder.string()));
}

/// Adds a warning if this user cannot create the socket in its folder.
void warn_of_folder(const std::filesystem::path& socket, const SourceLocation& place,
                    std::vector<std::string>& warnings) {
  const std::filesystem::path folder = folder_of(socket);
  if (place.line == 0 || ::access(folder.c_str(), W_OK) == 0) return;
  warnings.emplace_back(
      InputError(place, fmt::format("control socket {}: this user may not write to {}; another one may run the router, "
                                    "or choose another folder",
                                    socket.string(), folder.string()))
          .what());
}

}  // namespace

void check_sockets(const control::ControlSockets& sockets) {
  check_socket(sockets.socket, sockets.access.location);
  check_socket(sockets.read_only_socket, sockets.read_only_access.location);
}

std::vector<std::string> check_config(const control::RouterConfig& config) {
  io::check_port_files(config.ports);
  check_sockets(config.control);
  check_listen(config.metrics.listen, "metrics");
  check_listen(config.fpm.listen, "fpm");
  std::vector<std::string> warnings = config.warnings;
  const auto add = [&warnings](std::vector<std::string> more) {
    std::ranges::move(more, std::back_inserter(warnings));
  };
  add(check_pipeline(config));
  add(io::port_warnings(config.ports));
  warn_of_folder(config.control.socket, config.control.access.location, warnings);
  warn_of_folder(config.control.read_only_socket, config.control.read_only_access.location, warnings);
  return warnings;
}

}  // namespace penumbra::runtime
