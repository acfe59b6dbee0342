// SPDX-License-Identifier: Apache-2.0
//
// Parses the texts after `device:` and `sink:` of a port.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "penumbra/config_node.h"

namespace penumbra::control {

/// Limits the rate of a built-in source, packets per second.
struct Rate {
  double packets_per_second = 0;  ///< 0: no limit.
};

/// Holds `pcap:FILE[,loop][,rate=PPS]`: the frames of a capture (pcap or pcapng, Ethernet).
struct PcapSource {
  std::filesystem::path file;
  bool loop = false;
  Rate rate;
};

/// `synth:[ipv6][,size=BYTES|imix][,dst=uniform|prefixes:FILE|zipf[:FLOWS[:EXPONENT]]][,count=N][,rate=PPS][,seed=N]`
///
/// BYTES is the length of the frame without FCS, 60 (IPv6: 62) to 9214.
struct SynthSource {
  static constexpr std::uint16_t kLargestFrame = 9214;
  /// Returns Ethernet's minimum frame without FCS. For IPv6 it is the size of the Ethernet, IPv6 and UDP headers.
  static constexpr std::uint16_t least_frame(bool ipv6) { return ipv6 ? 62 : 60; }
  std::uint16_t least_frame() const { return least_frame(ipv6); }

  enum class Destinations { uniform, prefixes, zipf };
  bool ipv6 = false;  ///< False: IPv4.
  /// 0: IMIX, a mix of 7 frames of the least size, 4 of 590 bytes and 1 of 1514 bytes.
  std::uint16_t frame_bytes = 60;
  Destinations destinations = Destinations::uniform;
  std::filesystem::path routes;  ///< For Destinations::prefixes.
  std::uint32_t flows = 10000;   ///< For Destinations::zipf.
  double exponent = 1.0;         ///< For Destinations::zipf.
  std::uint64_t count = 0;       ///< 0: endless.
  std::uint64_t seed = 1;
  Rate rate;
};

/// Represents `none`: a port that never receives.
struct NoSource {};

/// Holds any other text: the devargs of a DPDK ethdev ("net_af_packet0,iface=eth1", "0000:81:00.0").
struct Ethdev {
  std::string devargs;
  bool is_pci = false;
};

using Device = std::variant<PcapSource, SynthSource, NoSource, Ethdev>;

/// A file that receives the sent packets of a port with a built-in source.
struct CaptureSink {
  std::filesystem::path file;  ///< Pcap with nanosecond timestamps; an existing file is overwritten.
};
struct CountingSink {};  ///< `count`: counts and discards packets; the default.
using Sink = std::variant<CountingSink, CaptureSink>;

/// Parses `BYTES|imix`, the value for `frame_bytes` of a source of the family. Returns nothing for other text.
std::optional<std::uint16_t> parse_frame_size(std::string_view text, bool ipv6);
/// Parses `uniform`, `prefixes:FILE` or `zipf[:FLOWS[:EXPONENT]]` and sets the fields of `source` for destinations.
/// FLOWS is 1 to 16,777,216, EXPONENT 0 to 10; FILE is not resolved. Returns false for other text and leaves `source`
/// unchanged.
bool parse_destinations(std::string_view text, SynthSource& source);

/// Parses `device:`. Does not access the file system. Throws InputError with the place and the accepted forms.
Device parse_device(const ConfigNode& node);
/// Parses `sink:`: `count`, `pcap:FILE` or a bare path that ends in .pcap. Throws InputError with the place and the
/// accepted forms.
Sink parse_sink(const ConfigNode& node);

}  // namespace penumbra::control
