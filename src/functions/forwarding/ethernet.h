// SPDX-License-Identifier: Apache-2.0
//
// Defines the parts of the Ethernet header that forwarding functions read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::forwarding {

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kEthertypeAt = 12;
inline constexpr std::uint16_t kIpv4Ethertype = 0x0800, kArpEthertype = 0x0806, kIpv6Ethertype = 0x86DD;

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
