// SPDX-License-Identifier: Apache-2.0
#include "cli/packet_line.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/capture_writer.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::cli {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmpv6 = 58;

MacAddress mac_at(const std::uint8_t* bytes) {
  return {std::uint64_t{load_be16(bytes)} << 32 | load_be32(bytes + 2)};
}

std::string flags_of(std::uint8_t bits) {
  constexpr std::string_view kLetters = "FSRP.UEW";  // tcpdump's letters, from bit 0 on
  std::string text;
  for (unsigned bit = 0; bit < kLetters.size(); ++bit) {
    if ((bits >> bit & 1U) != 0) text += kLetters[bit];
  }
  return text.empty() ? "none" : text;
}

/// Holds a part of a frame. A capture may have cut off its end.
struct Part {
  Bytes bytes;
  std::size_t cut = 0;  ///< bytes of the frame that were captured; 0: all

  /// Returns why the part is too short: the capture cut it, or the packet is malformed as `wrong` says.
  std::string too_short(const std::string& wrong) const { return cut == 0 ? wrong : fmt::format("[cut at {}]", cut); }
};

/// Returns the addresses, the ports if the transport header is present, and a summary of the payload. `bytes` is the
/// length of the IP payload.
std::string flow(const std::string& from, const std::string& to, std::uint8_t protocol, const Part& part,
                 std::size_t bytes) {
  const Bytes transport = part.bytes;
  if ((protocol == kTcp || protocol == kUdp) && transport.size() >= 4) {
    const std::string ports =
        fmt::format("{}.{} > {}.{}: ", from, load_be16(transport.data()), to, load_be16(transport.data() + 2));
    constexpr std::size_t kUdpHeader = 8, kFlagsAt = 13;
    if (protocol == kUdp) return ports + fmt::format("UDP, length {}", bytes - std::min(bytes, kUdpHeader));
    if (transport.size() <= kFlagsAt) return ports + (part.cut == 0 ? "TCP" : "TCP, " + part.too_short(""));
    const std::size_t header = std::size_t{transport[12]} / 16 * 4;
    return ports + fmt::format("TCP [{}], length {}", flags_of(transport[kFlagsAt]), bytes - std::min(bytes, header));
  }
  const std::string addresses = from + " > " + to + ": ";
  if ((protocol == kIcmp || protocol == kIcmpv6) && transport.size() >= 2) {
    const char* const name = protocol == kIcmp ? "ICMP" : "ICMP6";
    return addresses + fmt::format("{} type {} code {}, length {}", name, transport[0], transport[1], bytes);
  }
  const bool has_ports_or_type = protocol == kTcp || protocol == kUdp || protocol == kIcmp || protocol == kIcmpv6;
  const bool misses_header = part.cut != 0 && has_ports_or_type && transport.size() < bytes;
  return addresses + fmt::format("protocol {}, length {}", protocol, bytes) +
         (misses_header ? ", " + part.too_short("") : "");
}

std::string ipv4_line(const Part& part) {
  const Bytes packet = part.bytes;
  constexpr std::size_t kHeader = 20;
  if (packet.size() < kHeader) return "IP, " + part.too_short("malformed header");
  const std::size_t header = std::size_t{packet[0]} % 16 * 4;
  if (packet[0] >> 4 != 4 || header < kHeader) return "IP, malformed header";
  const std::size_t total = std::max<std::size_t>(load_be16(packet.data() + 2), header);
  const std::string from = to_string(Ipv4Address{load_be32(packet.data() + 12)});
  const std::string to = to_string(Ipv4Address{load_be32(packet.data() + 16)});
  const std::size_t offset = std::size_t{load_be16(packet.data() + 6) & 0x1FFFU} * 8;
  if (offset != 0) {
    return fmt::format("IP {} > {}: protocol {}, fragment at {}, length {}", from, to, packet[9], offset,
                       total - header);
  }
  const Bytes transport = packet.subspan(std::min(header, packet.size()));
  const Part payload{transport.first(std::min(transport.size(), total - header)), part.cut};
  return "IP " + flow(from, to, packet[9], payload, total - header);
}

/// The line names an extension header by its number, like a protocol.
std::string ipv6_line(const Part& part) {
  const Bytes packet = part.bytes;
  constexpr std::size_t kHeader = 40;
  if (packet.size() < kHeader) return "IP6, " + part.too_short("malformed header");
  if (packet[0] >> 4 != 6) return "IP6, malformed header";
  const auto address = [&packet](std::size_t at) {
    return to_string(Ipv6Address{load_be64(packet.data() + at), load_be64(packet.data() + at + 8)});
  };
  return "IP6 " +
         flow(address(8), address(24), packet[6], {packet.subspan(kHeader), part.cut}, load_be16(packet.data() + 4));
}

std::string arp_line(const Part& part) {
  const Bytes packet = part.bytes;
  constexpr std::size_t kEthernetArp = 28;
  constexpr std::uint16_t kRequest = 1;
  if (packet.size() < kEthernetArp) return "ARP, " + part.too_short(fmt::format("length {}", packet.size()));
  const std::string sender = to_string(Ipv4Address{load_be32(packet.data() + 14)});
  if (load_be16(packet.data() + 6) != kRequest) {
    return fmt::format("ARP, reply {} is-at {}", sender, to_string(mac_at(packet.data() + 8)));
  }
  return fmt::format("ARP, request who-has {} tell {}", to_string(Ipv4Address{load_be32(packet.data() + 24)}), sender);
}

}  // namespace

std::string packet_line(Bytes frame, std::size_t wire_bytes) {
  constexpr std::size_t kEthernet = 14, kTag = 4;
  constexpr std::uint16_t kVlan = 0x8100, kServiceVlan = 0x88A8, kIpv4 = 0x0800, kArp = 0x0806, kIpv6 = 0x86DD;
  const std::size_t cut = frame.size() < wire_bytes ? frame.size() : 0;
  if (wire_bytes < kEthernet) return fmt::format("runt, length {}", wire_bytes);
  if (frame.size() < kEthernet) return fmt::format("[cut at {}], length {}", frame.size(), wire_bytes);
  std::string tags;
  std::uint16_t ethertype = load_be16(frame.data() + 12);
  std::size_t begin = kEthernet;
  while ((ethertype == kVlan || ethertype == kServiceVlan) && frame.size() >= begin + kTag) {
    tags += fmt::format("vlan {}, ", load_be16(frame.data() + begin) & 0xFFFU);
    ethertype = load_be16(frame.data() + begin + 2);
    begin += kTag;
  }
  const Part packet{frame.subspan(begin), cut};
  const bool misses_tag = cut != 0 && (ethertype == kVlan || ethertype == kServiceVlan);
  if (ethertype == kIpv4) return tags + ipv4_line(packet);
  if (ethertype == kIpv6) return tags + ipv6_line(packet);
  if (ethertype == kArp) return tags + arp_line(packet);
  return tags + fmt::format("{} > {}, ethertype 0x{:04x}, length {}{}", to_string(mac_at(frame.data() + 6)),
                            to_string(mac_at(frame.data())), ethertype, wire_bytes,
                            misses_tag ? ", " + packet.too_short("") : "");
}

std::string packet_lines(Bytes records) {
  std::string text;
  while (records.size() >= sizeof(io::CaptureRecord)) {
    io::CaptureRecord record{};
    std::memcpy(&record, records.data(), sizeof record);
    records = records.subspan(sizeof record);
    const Bytes frame = records.first(std::min<std::size_t>(record.captured_bytes, records.size()));
    records = records.subspan(frame.size());
    text += fmt::format("{:%H:%M:%S}.{:06} {}\n", fmt::localtime(static_cast<std::time_t>(record.seconds)),
                        record.nanoseconds / 1000, packet_line(frame, record.wire_bytes));
  }
  return text;
}

}  // namespace penumbra::cli
