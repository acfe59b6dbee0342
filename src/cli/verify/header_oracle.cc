// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/header_oracle.h"

#include <algorithm>

namespace penumbra::cli::verify {
namespace {

bool is_group(Frame mac) {
  return mac[0] % 2 == 1;
}

bool is_own(const PortInfo& port, Frame mac) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 6; ++i) value = value * 256 + mac[i];
  return value == port.mac.value;
}

/// The one's complement sum of all 16-bit words: 0xFFFF of a header with a right checksum, whichever form of zero that
/// may have.
unsigned ones_sum(Frame header) {
  unsigned sum = 0;
  for (std::size_t at = 0; at < header.size(); at += 2) sum += read16(header, at);
  while (sum > 0xFFFF) sum = sum % 0x10000 + sum / 0x10000;
  return sum;
}

std::string inspect_header(Frame frame) {
  const Frame packet = frame.subspan(kEthernetBytes);
  if (packet.size() < 20) return "truncated";
  if (packet[0] / 16 != 4) return "bad_version";
  const unsigned header_bytes = packet[0] % 16 * 4;
  if (header_bytes < 20) return "bad_header_length";
  const unsigned total_bytes = read16(packet, 2);
  if (total_bytes < header_bytes) return "bad_total_length";
  if (total_bytes > packet.size()) return "truncated";
  if (ones_sum(packet.first(header_bytes)) != 0xFFFF) return "bad_checksum";
  return "";
}

std::string inspect_ipv6(Frame packet) {
  if (packet.size() <= 40) return "ipv6";
  const unsigned next_header = packet[6], hop_limit = packet[7], icmp_type = packet[40];
  if (next_header == 58 && hop_limit == 255 && icmp_type / 133 == 1 && icmp_type % 133 < 5) {
    return "ipv6_neighbour_discovery";
  }
  const unsigned destination = read16(packet, 24);
  const bool to_group = destination >= 0xFF00, link_local = destination >= 0xFE80 && destination < 0xFEC0;
  return to_group || link_local ? "ipv6_link" : "ipv6";
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

unsigned read16(Frame bytes, std::size_t offset) {
  return bytes[offset] * 256U + bytes[offset + 1];
}

std::uint32_t read32(Frame bytes, std::size_t offset) {
  return read16(bytes, offset) * 65536U + read16(bytes, offset + 2);
}

std::string inspect(const PortInfo& port, Frame frame) {
  if (frame.size() < kEthernetBytes) return "runt";
  const Frame destination_mac = frame.first(6);
  if (!port.promiscuous && !is_group(destination_mac) && !is_own(port, destination_mac)) return "wrong_mac";
  switch (read16(frame, 12)) {
    case 0x0800:
      break;
    case 0x0806:
      return "arp";
    case 0x86DD:
      return inspect_ipv6(frame.subspan(kEthernetBytes));
    default:
      return "other_ethertype";
  }
  std::string reason = inspect_header(frame);
  if (reason.empty()) reason = inspect_addresses(frame.subspan(kEthernetBytes));
  if (reason.empty() && is_group(destination_mac)) reason = "link_broadcast";
  if (reason.empty() && frame[kEthernetBytes] % 16 > 5) reason = "options";
  return reason;
}

unsigned header_checksum(Frame header) {
  std::vector<std::uint8_t> copy(header.begin(), header.end());
  copy[10] = copy[11] = 0;
  return 0xFFFF - ones_sum(copy);
}

Frame without_excess(Frame frame, unsigned mtu) {
  if (frame.size() <= kEthernetBytes + mtu) return frame;
  return frame.first(std::min<std::size_t>(frame.size(), kEthernetBytes + read16(frame, kEthernetBytes + 2)));
}

std::vector<std::uint8_t> routed_contents(Frame frame) {
  std::vector<std::uint8_t> contents(frame.begin() + 12, frame.end());
  std::uint8_t* header = contents.data() + 2;
  header[8] -= 1;
  const unsigned checksum = header_checksum(Frame(header, header[0] % 16 * std::size_t{4}));
  header[10] = static_cast<std::uint8_t>(checksum / 256);
  header[11] = static_cast<std::uint8_t>(checksum % 256);
  return contents;
}

}  // namespace penumbra::cli::verify
