// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <string>

#include "base/file_descriptor.h"

namespace penumbra::io {

/// Has the kernel carry out an ethtool command on an interface: one of <linux/ethtool.h>'s structs with its `cmd` set,
/// where the answer comes too. False, and errno, if it could not.
template <class Command>
bool ask_ethtool(const std::string& interface, Command& command) {
  const FileDescriptor control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&command);
  return control && ioctl(control.get(), SIOCETHTOOL, &request) == 0;
}

}  // namespace penumbra::io
