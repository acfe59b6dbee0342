// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "base/file_descriptor.h"

namespace penumbra::io {

/// Asks the kernel about an interface of this process's network namespace by an ioctl (netdevice(7)), such as
/// SIOCGIFMTU. Returns nothing if the kernel refuses. /sys may be of another namespace, so it cannot answer.
inline std::optional<ifreq> ask_interface(const std::string& interface, unsigned long what) {
  const FileDescriptor control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  return control && ioctl(control.get(), what, &request) == 0 ? std::optional(request) : std::nullopt;
}

}  // namespace penumbra::io
