// SPDX-License-Identifier: Apache-2.0
//
// A deterministic stream of Ethernet frames: the same source and mix give the same frames on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "control/device.h"
#include "penumbra/ip.h"

namespace penumbra::io {

/// What goes into a stream besides well-formed packets.
struct TrafficMix {
  /// The share of odd packets, 0 to 1, all kinds equally often. Of IPv4: time to live 0 and 1, wrong header checksum,
  /// wrong version, header length or total length, truncated frames, options, martian sources and destinations,
  /// fragments, multicast, broadcast, ARP, IPv6, VLAN, other ethertypes and frames to a link's broadcast address. Of
  /// IPv6: hop limit 0 and 1, wrong version or payload length, jumbograms, truncated frames, extension headers,
  /// fragments, martian, link-local and multicast addresses, neighbour discovery, ARP, IPv4, VLAN, other ethertypes and
  /// frames to a link's groups.
  double odd_share = 0;
  MacAddress destination{0x020000000001};  ///< of the port that the frames arrive at
};

/// Ethernet frames (without FCS) that carry IPv4 with UDP (three of four) or TCP, sources and destinations unicast; or
/// IPv6 with UDP, three of four flows with a flow label, sources and where no prefixes are given destinations of
/// 2000::/3. Every checksum is right. With uniform and prefix destinations every packet is a flow of its own; with
/// Zipf, flow number k comes with a probability in proportion to 1 / k^exponent (addresses, ports and label of a flow
/// are fixed). The first six bytes of a well-formed packet's payload, if it has as many, are the frame's number in the
/// stream, in network byte order; the rest is 0. Immutable after construction; any number of threads may call fill().
class Traffic {
 public:
  using Prefixes = std::variant<std::vector<Ipv4Prefix>, std::vector<Ipv6Prefix>>;

  /// Reads the route file of a source with prefix destinations. Throws InputError if it cannot be read or has no route.
  explicit Traffic(const control::SynthSource& source, const TrafficMix& mix = {});
  /// With these, of the source's family, in place of a route file; not empty.
  Traffic(const control::SynthSource& source, Prefixes prefixes, const TrafficMix& mix = {});

  /// Writes frame number `index` of the stream to `frame`, which has room for SynthSource::kLargestFrame bytes. Returns
  /// its bytes.
  std::size_t fill(std::uint64_t index, std::span<std::uint8_t> frame) const;

 private:
  template <class Family>
  std::size_t fill_as(std::uint64_t index, std::span<std::uint8_t> frame) const;

  control::SynthSource source_;
  TrafficMix mix_;
  Prefixes prefixes_;                ///< none: uniform destinations
  std::vector<std::uint64_t> zipf_;  ///< cumulated probabilities of the flows, scaled to 2^64
  std::uint64_t odd_below_ = 0;      ///< odd_share, scaled to 2^64
};

}  // namespace penumbra::io
