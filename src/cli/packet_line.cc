// SPDX-License-Identifier: Apache-2.0
#include "cli/packet_line.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/capture_writer.h"
#include "packet/edits.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::cli {
namespace {

using Bytes = std::span<const std::uint8_t>;

std::string flags_of(std::uint8_t bits) {
  constexpr std::string_view kLetters = "FSRP.UEW";  // tcpdump's letters, from bit 0 on
  std::string text;
  for (unsigned bit = 0; bit < kLetters.size(); ++bit) {
    if ((bits >> bit & 1U) != 0) text += kLetters[bit];
  }
  return text.empty() ? "none" : text;
}

/// A frame and its headers. A capture may have cut off its end.
struct Captured {
  Bytes frame;
  PacketHeaders headers;
  bool is_cut = false;

  const std::uint8_t* network() const { return frame.data() + headers.network; }
  /// Returns why a header cannot be read: the capture cut it, or the packet is malformed as `wrong` says.
  std::string too_short(const std::string& wrong) const {
    const bool by_capture = is_cut && headers.fault == HeaderFault::not_accessible;
    return by_capture ? fmt::format("[cut at {}]", frame.size()) : wrong;
  }
};

/// Returns the bytes of the IP packet after the IP header and its options or extension headers.
std::size_t payload_bytes(const Captured& packet) {
  const bool is_ipv4 = packet.headers.has(PacketHeaders::kIpv4);
  const std::size_t length = load_be16(packet.network() + (is_ipv4 ? 2 : 4)) + (is_ipv4 ? 0U : 40U);
  const std::size_t headers = packet.headers.transport - packet.headers.network;
  return length - std::min(length, headers);
}

/// Returns the ports if the transport header is present, and a summary of the payload.
std::string transport_line(const std::string& from, const std::string& to, const Captured& packet) {
  constexpr std::size_t kUdpHeader = 8, kFlagsAt = 13;
  const PacketHeaders& headers = packet.headers;
  const std::size_t bytes = payload_bytes(packet);
  const std::string addresses = from + " > " + to + ": ";
  if (headers.has(PacketHeaders::kLaterFragment)) {
    return addresses +
           fmt::format("protocol {}, fragment at {}, length {}", headers.protocol, headers.fragment_offset, bytes);
  }
  const std::string ports = fmt::format("{}.{} > {}.{}: ", from, headers.source_port, to, headers.destination_port);
  if (headers.has(PacketHeaders::kPorts) && headers.protocol == ip_protocol::kUdp) {
    return ports + fmt::format("UDP, length {}", bytes - std::min(bytes, kUdpHeader));
  }
  if (headers.has(PacketHeaders::kPorts) && headers.protocol == ip_protocol::kTcp) {
    const bool has_flags = std::min<std::size_t>(headers.end, packet.frame.size()) > headers.transport + kFlagsAt;
    if (!has_flags) return ports + (packet.is_cut ? "TCP, " + packet.too_short("") : "TCP");
    const std::size_t header = headers.payload - std::size_t{headers.transport};
    return ports + fmt::format("TCP [{}], length {}", flags_of(headers.tcp_flags), bytes - std::min(bytes, header));
  }
  if (headers.has(PacketHeaders::kIcmp)) {
    const char* const name = headers.has(PacketHeaders::kIpv4) ? "ICMP" : "ICMP6";
    return addresses + fmt::format("{} type {} code {}, length {}", name, headers.icmp_type, headers.icmp_code, bytes);
  }
  const std::string cut = packet.too_short("");
  return addresses + fmt::format("protocol {}, length {}", headers.protocol, bytes) + (cut.empty() ? "" : ", " + cut);
}

std::string ip_line(const Captured& packet) {
  const bool is_ipv4 = packet.headers.ethertype == ethertype::kIpv4;
  const std::string name = is_ipv4 ? "IP" : "IP6";
  if (!packet.headers.is_ip() || packet.headers.transport == 0)
    return name + ", " + packet.too_short("malformed header");
  const std::uint8_t* const ip = packet.network();
  const auto address = [ip, is_ipv4](std::size_t at) {
    return is_ipv4 ? to_string(Ipv4Address{load_be32(ip + at)})
                   : to_string(Ipv6Address{load_be64(ip + at), load_be64(ip + at + 8)});
  };
  return name + " " + transport_line(address(is_ipv4 ? 12 : 8), address(is_ipv4 ? 16 : 24), packet);
}

std::string arp_line(const Captured& packet) {
  constexpr std::size_t kEthernetArp = 28;
  constexpr std::uint16_t kRequest = 1;
  const std::size_t bytes = packet.frame.size() - packet.headers.network;
  if (bytes < kEthernetArp) return "ARP, " + packet.too_short(fmt::format("length {}", bytes));
  const std::uint8_t* const arp = packet.network();
  const std::string sender = to_string(Ipv4Address{load_be32(arp + 14)});
  if (load_be16(arp + 6) != kRequest) return fmt::format("ARP, reply {} is-at {}", sender, to_string(mac_at(arp + 8)));
  return fmt::format("ARP, request who-has {} tell {}", to_string(Ipv4Address{load_be32(arp + 24)}), sender);
}

}  // namespace

std::string packet_line(Bytes frame, std::size_t wire_bytes) {
  if (wire_bytes < kEthernetHeaderBytes) return fmt::format("runt, length {}", wire_bytes);
  if (frame.size() < kEthernetHeaderBytes) return fmt::format("[cut at {}], length {}", frame.size(), wire_bytes);
  const Captured packet{frame, parse_headers(frame.data(), frame.size(), wire_bytes), frame.size() < wire_bytes};
  std::string tags;
  for (unsigned tag = 0; tag < packet.headers.tags; ++tag) {
    tags += fmt::format("vlan {}, ", load_be16(frame.data() + kEthernetHeaderBytes + tag * kTagBytes) & 0xFFFU);
  }
  const std::uint16_t ethertype = packet.headers.ethertype;
  if (ethertype == ethertype::kIpv4 || ethertype == ethertype::kIpv6) return tags + ip_line(packet);
  if (ethertype == ethertype::kArp) return tags + arp_line(packet);
  const std::string cut = packet.too_short("");
  return tags + fmt::format("{} > {}, ethertype 0x{:04x}, length {}{}", to_string(mac_at(frame.data() + 6)),
                            to_string(mac_at(frame.data())), ethertype, wire_bytes, cut.empty() ? "" : ", " + cut);
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
