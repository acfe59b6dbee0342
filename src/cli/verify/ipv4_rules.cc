// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/ipv4_rules.h"

#include <vector>

namespace penumbra::cli::verify {
namespace {

/// Returns the one's complement sum of all 16-bit words. The sum is 0xFFFF for a header with a right checksum, in
/// either representation of zero.
unsigned ones_sum(Frame header) {
  unsigned sum = 0;
  for (std::size_t at = 0; at < header.size(); at += 2) sum += read16(header, at);
  while (sum > 0xFFFF) sum = sum % 0x10000 + sum / 0x10000;
  return sum;
}

unsigned header_bytes(Frame packet) {
  return packet[0] % 16 * 4U;
}

std::string inspect_header(Frame packet) {
  if (packet.size() < 20) return "truncated";
  if (packet[0] / 16 != 4) return "bad_version";
  if (header_bytes(packet) < 20) return "bad_header_length";
  const unsigned total_bytes = read16(packet, 2);
  if (total_bytes < header_bytes(packet)) return "bad_total_length";
  if (total_bytes > packet.size()) return "truncated";
  if (ones_sum(packet.first(header_bytes(packet))) != 0xFFFF) return "bad_checksum";
  return "";
}

std::string inspect_addresses(Frame packet) {
  const unsigned source = packet[12], destination = packet[16];
  const bool to_all = read32(packet, 16) == 0xFFFFFFFF, to_group = destination >= 224 && destination <= 239;
  const bool asks_for_an_address = read32(packet, 12) == 0 && (to_all || to_group);
  if (!asks_for_an_address && (source == 0 || source == 127 || source >= 224)) return "martian_source";
  if (to_all) return "broadcast";
  if (to_group) return "multicast";
  if (destination == 0 || destination == 127 || destination >= 240) return "martian_destination";
  return "";
}

}  // namespace

std::string Ipv4Rules::inspect(Frame packet, bool to_group) {
  std::string reason = inspect_header(packet);
  if (reason.empty()) reason = inspect_addresses(packet);
  if (reason.empty() && to_group) reason = "link_broadcast";
  if (reason.empty() && header_bytes(packet) > 20) reason = "options";
  return reason;
}

FlowKey Ipv4Rules::flow_key(Frame packet) {
  constexpr std::uint8_t kEsp = 50;
  FlowKey key{.source = {0, read32(packet, 12)}, .destination = {0, read32(packet, 16)}, .protocol = packet[9]};
  const bool fragment = read16(packet, 6) % 0x4000 != 0;
  const std::size_t ports_at = header_bytes(packet);
  const bool counts = has_ports(key.protocol) || key.protocol == kEsp;
  if (!fragment && counts && bytes(packet) >= ports_at + 4) key.ports = read32(packet, ports_at);
  return key;
}

/// A network of two hosts has no such addresses (RFC 3021). The address of all zeros is an old broadcast address (RFC
/// 1812, 4.2.3.1).
std::string Ipv4Rules::edge(Ipv4Prefix network, Ipv4Address address) {
  const std::uint32_t first = network.address.value;
  if (network.length > 30) return "";
  return address.value == first || address.value - first == 0xFFFFFFFF >> network.length ? "broadcast" : "";
}

void Ipv4Rules::take_a_hop_off(std::span<std::uint8_t> packet) {
  packet[8] -= 1;
  const unsigned checksum = header_checksum(packet.first(header_bytes(packet)));
  packet[10] = static_cast<std::uint8_t>(checksum / 256);
  packet[11] = static_cast<std::uint8_t>(checksum % 256);
}

unsigned header_checksum(Frame header) {
  std::vector<std::uint8_t> copy(header.begin(), header.end());
  copy[10] = copy[11] = 0;
  return 0xFFFF - ones_sum(copy);
}

}  // namespace penumbra::cli::verify
