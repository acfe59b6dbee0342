// SPDX-License-Identifier: Apache-2.0
//
// Generates a deterministic stream of Ethernet frames: the same source and mix give the same frames on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "control/device.h"
#include "penumbra/ip.h"

namespace penumbra::io {

/// The kinds of packets in a stream besides well-formed packets.
struct TrafficMix {
  /// The share of odd packets, 0 to 1. All kinds are equally frequent.
  ///
  /// - IPv4: time to live 0 and 1, wrong header checksum, wrong version, wrong header length or total length.
  /// - IPv4: truncated frames, options, martian sources and destinations, fragments, multicast, broadcast.
  /// - IPv4: ARP, IPv6, VLAN, other ethertypes, and frames to a link's broadcast address.
  /// - IPv6: hop limit 0 and 1, wrong version or payload length, jumbograms, truncated frames, extension headers.
  /// - IPv6: fragments, martian, link-local and multicast addresses, neighbour discovery.
  /// - IPv6: ARP, IPv4, VLAN, other ethertypes, and frames to a link's groups.
  double odd_share = 0;
  MacAddress destination{0x020000000001};  ///< MAC address of the port that receives the frames.
};

/// A stream of Ethernet frames without FCS. Every checksum is right.
///
/// - IPv4: three of four packets are UDP, the others TCP. Sources and destinations are unicast.
/// - IPv6: all packets are UDP, and three of four flows have a flow label. Sources are in 2000::/3, and so are
///   destinations unless prefixes are given.
///
/// With uniform and prefix destinations every packet is a separate flow. With Zipf, flow number k has a probability
/// proportional to 1 / k^exponent. A flow has fixed addresses, ports and label. The payload of a well-formed packet
/// begins with the frame's number in the stream, six bytes in network byte order, if it fits. The rest is 0. Immutable
/// after construction; any number of threads may call fill().
class Traffic {
 public:
  using Prefixes = std::variant<std::vector<Ipv4Prefix>, std::vector<Ipv6Prefix>>;

  /// Reads the route file of a source with prefix destinations. Throws InputError if the file cannot be read or has no
  /// route.
  explicit Traffic(const control::SynthSource& source, const TrafficMix& mix = {});
  /// Uses `prefixes`, which must be of the source's family and not empty, instead of a route file.
  Traffic(const control::SynthSource& source, Prefixes prefixes, const TrafficMix& mix = {});

  /// Writes frame number `index` to `frame`, which must have room for SynthSource::kLargestFrame bytes. Returns the
  /// size in bytes.
  std::size_t fill(std::uint64_t index, std::span<std::uint8_t> frame) const;

 private:
  template <class Family>
  std::size_t fill_as(std::uint64_t index, std::span<std::uint8_t> frame) const;

  control::SynthSource source_;
  TrafficMix mix_;
  Prefixes prefixes_;                ///< Empty: uniform destinations.
  std::vector<std::uint64_t> zipf_;  ///< Cumulative probabilities of the flows, scaled to 2^64.
  std::uint64_t odd_below_ = 0;      ///< odd_share, scaled to 2^64.
};

}  // namespace penumbra::io
