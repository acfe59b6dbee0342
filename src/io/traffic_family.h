// SPDX-License-Identifier: Apache-2.0
//
// Defines the parts of Traffic that depend on the address family.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "io/odd_packets.h"
#include "io/transport_header.h"
#include "penumbra/ip.h"

namespace penumbra::io {

struct Ipv4Traffic : Ipv4 {
  static constexpr std::uint16_t kEthertype = 0x0800;

  /// The properties that all packets of a flow share.
  struct Flow {
    Ipv4Address source, destination;
    TransportFlow transport;
  };
  /// Returns a random flow to an address in one of `prefixes`, or to any unicast address if there are no prefixes.
  static Flow random_flow(Random& random, const std::vector<Ipv4Prefix>& prefixes);
  /// Writes the packet of frame number `index`. `ip` has `bytes` zero bytes.
  static void write_packet(const Flow& flow, std::uint64_t index, Random& random, std::uint8_t* ip, std::size_t bytes);
  static std::size_t make_odd(Random& random, std::uint8_t* frame, std::size_t bytes) {
    return make_odd_ipv4(random, frame, bytes);
  }
};

struct Ipv6Traffic : Ipv6 {
  static constexpr std::uint16_t kEthertype = 0x86DD;

  struct Flow {
    Ipv6Address source, destination;
    std::uint32_t label = 0;  ///< 20 bits; three of four flows have a label.
    TransportFlow transport;
  };
  static Flow random_flow(Random& random, const std::vector<Ipv6Prefix>& prefixes);
  static void write_packet(const Flow& flow, std::uint64_t index, Random& random, std::uint8_t* ip, std::size_t bytes);
  static std::size_t make_odd(Random& random, std::uint8_t* frame, std::size_t bytes) {
    return make_odd_ipv6(random, frame, bytes);
  }
};

}  // namespace penumbra::io
