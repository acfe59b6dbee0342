// SPDX-License-Identifier: Apache-2.0
//
// Defines the parts of the Ethernet header that forwarding functions read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/parse.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::forwarding {

inline constexpr std::size_t kEthernetBytes = kEthernetHeaderBytes;
using penumbra::kEthertypeAt;
inline constexpr std::uint16_t kIpv4Ethertype = ethertype::kIpv4, kArpEthertype = ethertype::kArp,
                               kIpv6Ethertype = ethertype::kIpv6;

/// Decides which frames a port accepts: all frames, or only frames to group addresses and to the port's own address.
class StationFilter {
 public:
  StationFilter() = default;
  StationFilter(MacAddress mac, bool promiscuous)
      : mac_(__builtin_bswap64(mac.value << 16)), promiscuous_(promiscuous) {}

  /// `frame` has at least the 14 bytes of the Ethernet header.
  bool accepts(const std::uint8_t* frame) const {
    return promiscuous_ || (frame[0] & 1) != 0 || (load<std::uint64_t>(frame) & 0xFFFF'FFFF'FFFF) == mac_;
  }

 private:
  std::uint64_t mac_ = 0;  ///< in the byte order in which load() reads it from a frame
  bool promiscuous_ = true;
};

}  // namespace penumbra::forwarding
