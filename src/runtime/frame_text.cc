// SPDX-License-Identifier: Apache-2.0
#include "runtime/frame_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "penumbra/ip.h"

namespace penumbra::runtime {
namespace {

using Bytes = std::span<const std::uint8_t>;

std::uint64_t big_endian(Bytes bytes) {
  std::uint64_t value = 0;
  for (const auto byte : bytes) value = value << 8 | byte;
  return value;
}

std::string hex(Bytes bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string first_bytes(Bytes bytes) {
  constexpr std::size_t kShown = 16;
  return bytes.size() <= kShown ? hex(bytes) : hex(bytes.first(kShown)) + "...";
}

/// Describes an IPv4 packet of at least 20 bytes.
std::string describe_ipv4(Bytes packet) {
  constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17;
  const std::uint8_t protocol = packet[9];
  const std::size_t header = std::size_t{packet[0]} % 16 * 4;
  const bool first_fragment = (big_endian(packet.subspan(6, 2)) & 0x1FFF) == 0;
  std::string source = to_string(Ipv4Address{static_cast<std::uint32_t>(big_endian(packet.subspan(12, 4)))});
  std::string destination = to_string(Ipv4Address{static_cast<std::uint32_t>(big_endian(packet.subspan(16, 4)))});
  if ((protocol == kTcp || protocol == kUdp) && first_fragment && header >= 20 && packet.size() >= header + 4) {
    source += fmt::format(":{}", big_endian(packet.subspan(header, 2)));
    destination += fmt::format(":{}", big_endian(packet.subspan(header + 2, 2)));
  }
  const std::string name = protocol == kIcmp  ? "ICMP"
                           : protocol == kTcp ? "TCP"
                           : protocol == kUdp ? "UDP"
                                              : fmt::format("protocol {}", protocol);
  return fmt::format("IPv4 {} > {} {} ttl {} length {}", source, destination, name, packet[8],
                     big_endian(packet.subspan(2, 2)));
}

}  // namespace

std::string describe_frame(Bytes frame, std::size_t length) {
  constexpr std::size_t kEthernet = 14, kIpv4 = 20;
  if (frame.size() < kEthernet) return fmt::format("{} bytes: {}", length, first_bytes(frame));
  const auto ethertype = big_endian(frame.subspan(12, 2));
  const Bytes packet = frame.subspan(kEthernet);
  const bool ipv4 = ethertype == 0x0800 && packet.size() >= kIpv4 && packet[0] >> 4 == 4;
  return fmt::format(
      "{} bytes, {} > {}, ethertype 0x{:04x}: {}", length, to_string(MacAddress{big_endian(frame.subspan(6, 6))}),
      to_string(MacAddress{big_endian(frame.first(6))}), ethertype, ipv4 ? describe_ipv4(packet) : first_bytes(packet));
}

}  // namespace penumbra::runtime
