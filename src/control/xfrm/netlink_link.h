// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <span>

#include "base/file_descriptor.h"
#include "control/xfrm/kernel_link.h"
#include "crypto/secret_memory.h"

namespace penumbra::control::xfrm {

/// Reaches the kernel of this network namespace by NETLINK_XFRM. The first socket gets notifications, and the second
/// one asks. Both take datagrams of the kernel only. Their memory is secret, because messages carry keys. Two keepers
/// would both find that they have locked an SA. The second socket therefore has a port that only one process can have.
class NetlinkLink final : public KernelLink {
 public:
  /// Opens the sockets and joins the groups of SAs, policies, expiries and migrations. Throws std::system_error, also
  /// if another process follows the kernel of the namespace.
  NetlinkLink();

  int descriptor() const override { return events_.get(); }
  Received receive(const Visit& visit) override;
  int ask(std::span<const std::uint8_t> request, const Visit& visit) override;

 private:
  FileDescriptor events_, requests_;
  SecretMemory room_, answer_;
  std::uint32_t sequence_ = 0;
};

/// True if the kernel itself sent a datagram. `bytes` is the length of the sender's address.
bool is_of_kernel(const sockaddr_nl& sender, std::size_t bytes);

}  // namespace penumbra::control::xfrm
