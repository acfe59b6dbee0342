// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "base/file_descriptor.h"

namespace penumbra::io {

/// Queries an interface of this process's network namespace by an ioctl (netdevice(7)), such as SIOCGIFMTU. Returns
/// nothing if the kernel refuses. /sys is unsuitable because it may belong to another namespace.
inline std::optional<ifreq> ask_interface(const std::string& interface, unsigned long what) {
  const FileDescriptor control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  return control && ioctl(control.get(), what, &request) == 0 ? std::optional(request) : std::nullopt;
}

}  // namespace penumbra::io
