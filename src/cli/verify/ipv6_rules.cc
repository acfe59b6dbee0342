// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/ipv6_rules.h"

#include <algorithm>
#include <array>

namespace penumbra::cli::verify {
namespace {

constexpr unsigned kIcmp = 58, kFragmentHeader = 44, kHopByHop = 0;

/// Kinds of addresses of RFC 4291, and ::ffff:0:0/96 of RFC 6890.
enum class Scope { nobody, loopback, ipv4_in_disguise, link_local, group_of_no_link, group, any_link };

Scope scope_of(Frame address) {
  const auto begins_with_zeros = [&](std::size_t count) {
    return std::ranges::all_of(address.first(count), [](std::uint8_t byte) { return byte == 0; });
  };
  if (address[0] == 0xFF) return address[1] % 16 <= 1 ? Scope::group_of_no_link : Scope::group;
  if (begins_with_zeros(16)) return Scope::nobody;
  if (begins_with_zeros(15) && address[15] == 1) return Scope::loopback;
  if (begins_with_zeros(10) && read16(address, 10) == 0xFFFF) return Scope::ipv4_in_disguise;
  if (address[0] == 0xFE && address[1] / 64 == 2) return Scope::link_local;
  return Scope::any_link;
}

Ipv6Address read_address(Frame packet, std::size_t offset) {
  const auto half = [&](std::size_t at) { return std::uint64_t{read32(packet, at)} << 32 | read32(packet, at + 4); };
  return {half(offset), half(offset + 8)};
}

/// Returns true for ICMPv6 of types 133 to 137 that no router has forwarded (RFC 4861, section 4).
bool is_neighbour_discovery(Frame packet, std::size_t packet_bytes) {
  constexpr std::array<std::uint8_t, 5> kTypes{133, 134, 135, 136, 137};
  if (packet[6] != kIcmp || packet[7] != 255 || packet_bytes <= 40) return false;
  return std::ranges::find(kTypes, packet[40]) != kTypes.end();
}

/// Returns the ports, or the SPI of ESP, after the extension headers. Returns 0 for fragments and other protocols.
std::uint32_t ports_after_extensions(Frame packet, std::size_t packet_bytes) {
  constexpr std::array<std::uint8_t, 8> kExtensions{0, 43, 44, 51, 60, 135, 139, 140};
  constexpr unsigned kEsp = 50, kAuthentication = 51;
  unsigned next = packet[6];
  std::size_t at = 40;
  while (std::ranges::find(kExtensions, next) != kExtensions.end()) {
    if (at + 8 > packet_bytes) return 0;
    if (next == kFragmentHeader && read16(packet, at + 2) / 8 * 8 + read16(packet, at + 2) % 2 != 0) return 0;
    const std::size_t header_bytes = next == kFragmentHeader   ? 8
                                     : next == kAuthentication ? (packet[at + 1] + 2U) * 4
                                                               : (packet[at + 1] + 1U) * 8;
    next = packet[at];
    at += header_bytes;
  }
  const bool counts = has_ports(static_cast<std::uint8_t>(next)) || next == kEsp;
  return counts && at + 4 <= packet_bytes ? read32(packet, at) : 0;
}

}  // namespace

std::string Ipv6Rules::inspect(Frame packet, bool to_group) {
  if (packet.size() < 40) return "truncated";
  if (packet[0] / 16 != 6) return "bad_version";
  if (bytes(packet) > packet.size()) return "truncated";
  if (bytes(packet) == 40 && packet[6] == kHopByHop) return "bad_payload_length";

  const Scope source = scope_of(packet.subspan(8, 16)), destination = scope_of(packet.subspan(24, 16));
  const bool multicast = destination == Scope::group || destination == Scope::group_of_no_link;
  const bool asks_for_an_address = source == Scope::nobody && multicast;
  if (source != Scope::any_link && source != Scope::link_local && !asks_for_an_address) return "martian_source";
  if (destination != Scope::any_link && destination != Scope::link_local && destination != Scope::group) {
    return "martian_destination";
  }
  if (is_neighbour_discovery(packet, bytes(packet))) return "neighbour_discovery";
  if (multicast) return "multicast";
  if (to_group) return "link_group";
  return source == Scope::link_local || destination == Scope::link_local ? "link_local" : "";
}

Ipv6Address Ipv6Rules::destination(Frame packet) {
  return read_address(packet, 24);
}

/// A fragment header has the protocol of a fragment.
FlowKey Ipv6Rules::flow_key(Frame packet) {
  FlowKey key{.source = read_address(packet, 8), .destination = read_address(packet, 24), .is_ipv6 = true};
  key.label = read32(packet, 0) % 0x100000;
  key.protocol = packet[6] == kFragmentHeader && bytes(packet) > 40 ? packet[40] : packet[6];
  key.ports = ports_after_extensions(packet, bytes(packet));
  return key;
}

std::string Ipv6Rules::edge(Ipv6Prefix network, Ipv6Address address) {
  return network.length <= 126 && address == network.address ? "local" : "";
}

std::string punted_ipv6(Frame packet) {
  if (packet.size() <= 40) return "ipv6";
  if (is_neighbour_discovery(packet, packet.size())) return "ipv6_neighbour_discovery";
  const unsigned destination = read16(packet, 24);
  const bool to_group = destination >= 0xFF00, link_local = destination >= 0xFE80 && destination < 0xFEC0;
  return to_group || link_local ? "ipv6_link" : "ipv6";
}

}  // namespace penumbra::cli::verify
