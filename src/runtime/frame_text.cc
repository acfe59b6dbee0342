// SPDX-License-Identifier: Apache-2.0
#include "runtime/frame_text.h"

#include <fmt/format.h>

#include "packet/edits.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::runtime {
namespace {

using Bytes = std::span<const std::uint8_t>;

std::string hex(Bytes bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string first_bytes(Bytes bytes) {
  constexpr std::size_t kShown = 16;
  return bytes.size() <= kShown ? hex(bytes) : hex(bytes.first(kShown)) + "...";
}

std::string describe_ipv4(const PacketHeaders& headers, const std::uint8_t* header) {
  using namespace ip_protocol;
  std::string source = to_string(Ipv4Address{load_be32(header + 12)});
  std::string destination = to_string(Ipv4Address{load_be32(header + 16)});
  const std::uint8_t protocol = header[9];
  if (headers.has(PacketHeaders::kPorts) && (protocol == kTcp || protocol == kUdp)) {
    source += fmt::format(":{}", headers.source_port);
    destination += fmt::format(":{}", headers.destination_port);
  }
  const std::string name = protocol == kIcmp  ? "ICMP"
                           : protocol == kTcp ? "TCP"
                           : protocol == kUdp ? "UDP"
                                              : fmt::format("protocol {}", protocol);
  return fmt::format("IPv4 {} > {} {} ttl {} length {}", source, destination, name, header[8], load_be16(header + 2));
}

}  // namespace

std::string describe_frame(Bytes frame, std::size_t length) {
  if (frame.size() < kEthernetHeaderBytes) return fmt::format("{} bytes: {}", length, first_bytes(frame));
  const PacketHeaders headers = parse_headers(frame.data(), frame.size(), length);
  const bool is_untagged_ipv4 = headers.has(PacketHeaders::kIpv4) && headers.tags == 0;
  return fmt::format("{} bytes, {} > {}, ethertype 0x{:04x}: {}", length, to_string(mac_at(frame.data() + 6)),
                     to_string(mac_at(frame.data())), load_be16(frame.data() + kEthertypeAt),
                     is_untagged_ipv4 ? describe_ipv4(headers, frame.data() + headers.network)
                                      : first_bytes(frame.subspan(kEthernetHeaderBytes)));
}

}  // namespace penumbra::runtime
