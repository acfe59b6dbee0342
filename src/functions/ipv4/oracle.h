// SPDX-License-Identifier: Apache-2.0
//
// Implements an oracle for tests. The oracle computes from bytes and lists, slowly, the treatment that RFC 1812 and
// docs/functions/ipv4.md require. The oracle shares no code with the function under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "functions/forwarding/oracle.h"
#include "penumbra/ip.h"

namespace penumbra::ipv4::oracle {

using forwarding::oracle::address;
using forwarding::oracle::Bytes;
using forwarding::oracle::mac;
using forwarding::oracle::word;

/// Returns the checksum of a header (RFC 791): the complement of the one's complement sum of all 16-bit words. The
/// checksum field itself counts as zero.
inline unsigned checksum(const Bytes& header) {
  unsigned sum = 0;
  for (std::size_t at = 0; at < header.size(); at += 2) {
    if (at == 10) continue;
    sum += word(header, at);
    if (sum > 0xFFFF) sum -= 0xFFFF;  // end-around carry
  }
  return 0xFFFF - sum;
}

/// Zero has two forms in one's complement; a receiver accepts both.
inline bool checksum_is_right(const Bytes& header) {
  const unsigned right = checksum(header), found = word(header, 10);
  return found == right || (right == 0 && found == 0xFFFF);
}

inline void fix_checksum(Bytes& frame) {
  const std::size_t bytes = frame.at(14) % 16 * std::size_t{4};
  if (bytes < 20 || frame.size() < 14 + bytes) return;
  const unsigned sum = checksum(Bytes(frame.begin() + 14, frame.begin() + 14 + static_cast<std::ptrdiff_t>(bytes)));
  frame[24] = static_cast<std::uint8_t>(sum / 256);
  frame[25] = static_cast<std::uint8_t>(sum % 256);
}

inline std::string ipv6_reason(const Bytes& packet) {
  if (packet.size() < 41) return "ipv6";
  const std::set<int> discovery{133, 134, 135, 136, 137};
  if (packet[6] == 58 && packet[7] == 255 && discovery.contains(packet[40])) return "ipv6_neighbour_discovery";
  const bool link_local = packet[24] == 0xFE && packet[25] / 64 == 2;
  return link_local || packet[24] == 0xFF ? "ipv6_link" : "ipv6";
}

/// Returns the reason to refuse a frame without a look-up, or std::nullopt.
inline std::optional<std::string> objection(const Bytes& frame, std::uint64_t port_mac, bool promiscuous) {
  if (frame.size() < 14) return "runt";
  const bool to_group = frame[0] % 2 == 1;
  if (!promiscuous && !to_group && mac(frame, 0) != port_mac) return "wrong_mac";
  if (word(frame, 12) == 0x0806) return "arp";
  if (word(frame, 12) == 0x86DD) return ipv6_reason(Bytes(frame.begin() + 14, frame.end()));
  if (word(frame, 12) != 0x0800) return "other_ethertype";
  const Bytes packet(frame.begin() + 14, frame.end());
  if (packet.size() < 20) return "truncated";
  if (packet[0] / 16 != 4) return "bad_version";
  const std::size_t header_bytes = packet[0] % 16 * std::size_t{4};
  if (header_bytes < 20) return "bad_header_length";
  if (word(packet, 2) < header_bytes) return "bad_total_length";
  if (word(packet, 2) > packet.size()) return "truncated";
  if (!checksum_is_right(Bytes(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(header_bytes)))) {
    return "bad_checksum";
  }
  const unsigned source = packet[12], destination = packet[16];
  const bool multicast = destination >= 224 && destination < 240, broadcast = address(packet, 16) == 0xFFFFFFFF;
  const bool asks_for_an_address = address(packet, 12) == 0 && (multicast || broadcast);
  if ((source == 0 || source == 127 || source >= 224) && !asks_for_an_address) return "martian_source";
  if (broadcast) return "broadcast";
  if (multicast) return "multicast";
  if (destination == 0 || destination == 127 || destination >= 240) return "martian_destination";
  if (to_group) return "link_broadcast";
  if (header_bytes > 20) return "options";
  return std::nullopt;
}

struct Rules {
  static constexpr const char* kHopsUsedUp = "ttl_expired";
  static constexpr const char* kTooLong = "fragmentation_needed";
  static std::string edge(Ipv4Prefix network, Ipv4Address address) {
    return network.length <= 30 && (address == network.address || address == network.last()) ? "broadcast" : "";
  }
};
using Network = forwarding::oracle::NetworkOf<Ipv4, Rules>;

/// Returns the outgoing frame for `frame`, sent to `neighbour` from a port with the MAC address `own` and this MTU.
inline Bytes forwarded(const Bytes& frame, std::uint64_t neighbour, std::uint64_t own, std::size_t mtu) {
  Bytes out = frame;
  if (out.size() > 14 + mtu) out.resize(14 + word(frame, 16));
  for (std::size_t i = 0; i < 6; ++i) {
    out[i] = static_cast<std::uint8_t>(neighbour >> (40 - 8 * i));
    out[6 + i] = static_cast<std::uint8_t>(own >> (40 - 8 * i));
  }
  out[22] = static_cast<std::uint8_t>(out[22] - 1);
  fix_checksum(out);
  return out;
}

}  // namespace penumbra::ipv4::oracle
