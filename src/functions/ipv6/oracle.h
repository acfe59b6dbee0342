// SPDX-License-Identifier: Apache-2.0
//
// Implements an oracle for tests. The oracle computes from bytes and lists, slowly, the treatment that RFC 8200, RFC
// 4291 and docs/functions/ipv6.md require. The oracle shares no code with the function under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "functions/forwarding/oracle.h"
#include "penumbra/ip.h"

namespace penumbra::ipv6::oracle {

using forwarding::oracle::Bytes;
using forwarding::oracle::mac;
using forwarding::oracle::word;

inline Ipv6Address address(const Bytes& bytes, std::size_t at) {
  Ipv6Address found;
  for (std::size_t i = 0; i < 8; ++i) found.high = found.high * 256 + bytes.at(at + i);
  for (std::size_t i = 8; i < 16; ++i) found.low = found.low * 256 + bytes.at(at + i);
  return found;
}

/// Returns the kind of an address as RFC 4291 names it.
inline std::string kind(const Bytes& sixteen) {
  const auto zeros = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (sixteen.at(i) != 0) return false;
    }
    return true;
  };
  if (sixteen.at(0) == 0xFF) return sixteen.at(1) % 16 < 2 ? "group of no link" : "group";
  if (zeros(16)) return "unspecified";
  if (zeros(15) && sixteen.at(15) == 1) return "loopback";
  if (zeros(10) && sixteen.at(10) == 0xFF && sixteen.at(11) == 0xFF) return "IPv4";
  if (sixteen.at(0) == 0xFE && sixteen.at(1) / 64 == 2) return "link-local";
  return "global";
}

/// Returns the reason to refuse a frame without a look-up, or std::nullopt.
inline std::optional<std::string> objection(const Bytes& frame, std::uint64_t port_mac, bool promiscuous) {
  if (frame.size() < 14) return "runt";
  const bool to_group = frame[0] % 2 == 1;
  if (!promiscuous && !to_group && mac(frame, 0) != port_mac) return "wrong_mac";
  if (word(frame, 12) == 0x0806) return "arp";
  if (word(frame, 12) == 0x0800) return "ipv4";
  if (word(frame, 12) != 0x86DD) return "other_ethertype";
  const Bytes packet(frame.begin() + 14, frame.end());
  if (packet.size() < 40) return "truncated";
  if (packet[0] / 16 != 6) return "bad_version";
  const unsigned payload = word(packet, 4);
  if (packet.size() < 40 + payload) return "truncated";
  if (payload == 0 && packet[6] == 0) return "bad_payload_length";
  const std::string source = kind(Bytes(packet.begin() + 8, packet.begin() + 24));
  const std::string destination = kind(Bytes(packet.begin() + 24, packet.begin() + 40));
  const bool group = destination == "group" || destination == "group of no link";
  const bool asks_for_an_address = source == "unspecified" && group;
  if (source != "global" && source != "link-local" && !asks_for_an_address) return "martian_source";
  if (destination != "global" && destination != "link-local" && destination != "group") return "martian_destination";
  const bool icmp = packet[6] == 58 && payload > 0;
  if (icmp && packet[7] == 255 && packet[40] >= 133 && packet[40] <= 137) return "neighbour_discovery";
  if (group) return "multicast";
  if (to_group) return "link_group";
  if (source == "link-local" || destination == "link-local") return "link_local";
  return std::nullopt;
}

struct Rules {
  static constexpr const char* kHopsUsedUp = "hop_limit_exceeded";
  static constexpr const char* kTooLong = "packet_too_big";
  static std::string edge(Ipv6Prefix network, Ipv6Address address) {
    return network.length <= 126 && address == network.address ? "local" : "";
  }
};
using Network = forwarding::oracle::NetworkOf<Ipv6, Rules>;

/// Returns the outgoing frame for `frame`, sent to `neighbour` from a port with the MAC address `own` and this MTU.
inline Bytes forwarded(const Bytes& frame, std::uint64_t neighbour, std::uint64_t own, std::size_t mtu) {
  Bytes out = frame;
  if (out.size() > 14 + mtu) out.resize(std::size_t{14} + 40 + word(frame, 18));
  for (std::size_t i = 0; i < 6; ++i) {
    out[i] = static_cast<std::uint8_t>(neighbour >> (40 - 8 * i));
    out[6 + i] = static_cast<std::uint8_t>(own >> (40 - 8 * i));
  }
  out[21] = static_cast<std::uint8_t>(out[21] - 1);
  return out;
}

}  // namespace penumbra::ipv6::oracle
