// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/port_watch.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace penumbra::megaflows {

PortWatch::PortWatch() : control_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

std::vector<bool> PortWatch::down(std::span<const std::string> names) const {
  std::vector<bool> down;
  for (const std::string& name : names) {
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    const bool is_there =
        control_ && name.size() < IFNAMSIZ && !name.empty() && ::ioctl(control_.get(), SIOCGIFFLAGS, &request) == 0;
    down.push_back(is_there && (request.ifr_flags & IFF_UP) == 0);
  }
  return down;
}

}  // namespace penumbra::megaflows
