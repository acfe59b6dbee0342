// SPDX-License-Identifier: Apache-2.0
//
// What stands behind a port: the texts after `device:` and `sink:` in the configuration, parsed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "penumbra/config_node.h"

namespace penumbra::control {

/// How fast a built-in source gives packets: as fast as they are taken, or so many a second.
struct Rate {
  double packets_per_second = 0;  ///< 0: no limit
};

/// `pcap:FILE[,loop][,rate=PPS]`: the frames of a capture (pcap or pcapng, Ethernet).
struct PcapSource {
  std::filesystem::path file;
  bool loop = false;
  Rate rate;
};

/// `synth:[ipv6][,size=BYTES|imix][,dst=uniform|prefixes:FILE|zipf[:FLOWS[:EXPONENT]]][,count=N][,rate=PPS][,seed=N]`
/// BYTES is the frame without FCS, 60 (of IPv6 62) to 9214.
struct SynthSource {
  static constexpr std::uint16_t kLargestFrame = 9214;
  /// What Ethernet takes; of IPv6 what the headers of Ethernet, IPv6 and UDP take.
  static constexpr std::uint16_t least_frame(bool ipv6) { return ipv6 ? 62 : 60; }
  std::uint16_t least_frame() const { return least_frame(ipv6); }

  enum class Destinations { uniform, prefixes, zipf };
  bool ipv6 = false;               ///< or else IPv4
  std::uint16_t frame_bytes = 60;  ///< 0: IMIX, 7 of the least, 4 of 590, 1 of 1514
  Destinations destinations = Destinations::uniform;
  std::filesystem::path routes;  ///< for prefixes
  std::uint32_t flows = 10000;   ///< for zipf
  double exponent = 1.0;         ///< for zipf
  std::uint64_t count = 0;       ///< 0: without end
  std::uint64_t seed = 1;
  Rate rate;
};

/// `none`: a port that never receives.
struct NoSource {};

/// Anything else: the devargs of a DPDK ethdev ("net_af_packet0,iface=eth1", "0000:81:00.0").
struct Ethdev {
  std::string devargs;
  bool is_pci = false;
};

using Device = std::variant<PcapSource, SynthSource, NoSource, Ethdev>;

/// Where a port with a built-in source sends to.
struct CaptureSink {
  std::filesystem::path file;  ///< pcap with nanosecond timestamps, written anew
};
struct CountingSink {};  ///< `count`: counts and forgets; the default
using Sink = std::variant<CountingSink, CaptureSink>;

/// `BYTES|imix`: the value for frame_bytes of a source of that family. Nothing for anything else.
std::optional<std::uint16_t> parse_frame_size(std::string_view text, bool ipv6);
/// `uniform`, `prefixes:FILE` or `zipf[:FLOWS[:EXPONENT]]`, 1 to 16,777,216 flows, exponent 0 to 10: sets the fields of
/// `source` that belong to destinations; FILE stays as it is written. Returns false, source as it was, for anything
/// else.
bool parse_destinations(std::string_view text, SynthSource& source);

/// Parses `device:`. Throws InputError with the place and the accepted forms. Does not look at the file system.
Device parse_device(const ConfigNode& node);
/// Parses `sink:`: `count`, `pcap:FILE` or a bare path that ends in .pcap. Throws InputError likewise.
Sink parse_sink(const ConfigNode& node);

}  // namespace penumbra::control
