// SPDX-License-Identifier: Apache-2.0
//
// The expectation for a frame, from its headers and its route.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/verify/header_oracle.h"
#include "cli/verify/route_oracle.h"

namespace penumbra::cli::verify {

class Oracle {
 public:
  /// The pipeline forwards each family whose oracle is not null. The position of a port is its index.
  Oracle(std::vector<PortInfo> ports, std::unique_ptr<const RouteOracle<Ipv4Rules>> ipv4,
         std::unique_ptr<const RouteOracle<Ipv6Rules>> ipv6)
      : ports_(std::move(ports)), ipv4_(std::move(ipv4)), ipv6_(std::move(ipv6)) {}

  const std::vector<PortInfo>& ports() const { return ports_; }

  /// Returns the expectation for a frame that arrives at port number `port`.
  Expectation judge(std::uint16_t port, Frame frame) const {
    const std::string reason = inspect(ports_[port], frame, {.ipv4 = ipv4_ != nullptr, .ipv6 = ipv6_ != nullptr});
    if (!reason.empty()) return {reason, {}};
    const Frame packet = frame.subspan(kEthernetBytes);
    return is_ipv6(frame) ? ipv6_->judge(packet) : ipv4_->judge(packet);
  }

 private:
  std::vector<PortInfo> ports_;
  std::unique_ptr<const RouteOracle<Ipv4Rules>> ipv4_;
  std::unique_ptr<const RouteOracle<Ipv6Rules>> ipv6_;
};

}  // namespace penumbra::cli::verify
