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

/// Executes an ethtool command on an interface. `command` is a struct of <linux/ethtool.h> with its `cmd` set and
/// receives the answer. Returns false and sets errno on failure.
template <class Command>
bool ask_ethtool(const std::string& interface, Command& command) {
  const FileDescriptor control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&command);
  return control && ioctl(control.get(), SIOCETHTOOL, &request) == 0;
}

}  // namespace penumbra::io
