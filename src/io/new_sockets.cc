// SPDX-License-Identifier: Apache-2.0
#include "io/new_sockets.h"

#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace penumbra::io {
namespace {

bool is_for_packets(int descriptor) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return false;
  return domain == AF_PACKET || domain == AF_XDP;
}

/// Returns the packet and AF_XDP sockets of this process in ascending order.
std::vector<int> packet_sockets() {
  std::vector<int> sockets;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string name = entry.path().filename();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    if (is_for_packets(descriptor)) sockets.push_back(descriptor);
  }
  std::ranges::sort(sockets);
  return sockets;
}

}  // namespace

NewSockets::NewSockets() : known_(packet_sockets()) {}

std::vector<int> NewSockets::take() {
  std::vector<int> now = packet_sockets(), fresh;
  std::ranges::set_difference(now, known_, std::back_inserter(fresh));
  known_ = std::move(now);
  return fresh;
}

}  // namespace penumbra::io
