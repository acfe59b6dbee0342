// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/header_oracle.h"

#include <algorithm>

#include "cli/verify/ipv4_rules.h"
#include "cli/verify/ipv6_rules.h"

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

}  // namespace

std::string inspect(const PortInfo& port, Frame frame, Families families) {
  if (frame.size() < kEthernetBytes) return "runt";
  const Frame destination_mac = frame.first(6), packet = frame.subspan(kEthernetBytes);
  const bool to_group = is_group(destination_mac);
  if (!port.promiscuous && !to_group && !is_own(port, destination_mac)) return "wrong_mac";
  switch (read16(frame, 12)) {
    case 0x0800:
      return families.ipv4 ? Ipv4Rules::inspect(packet, to_group) : "ipv4";
    case 0x0806:
      return "arp";
    case 0x86DD:
      return families.ipv6 ? Ipv6Rules::inspect(packet, to_group) : punted_ipv6(packet);
    default:
      return "other_ethertype";
  }
}

bool is_ipv6(Frame frame) {
  return read16(frame, 12) == 0x86DD;
}

unsigned ip_bytes(Frame frame) {
  const Frame packet = frame.subspan(kEthernetBytes);
  return is_ipv6(frame) ? Ipv6Rules::bytes(packet) : Ipv4Rules::bytes(packet);
}

FlowKey flow_key(Frame frame) {
  const Frame packet = frame.subspan(kEthernetBytes);
  return is_ipv6(frame) ? Ipv6Rules::flow_key(packet) : Ipv4Rules::flow_key(packet);
}

std::vector<std::uint8_t> routed_contents(Frame frame) {
  std::vector<std::uint8_t> contents(frame.begin() + 12, frame.end());
  const std::span<std::uint8_t> packet(contents.begin() + 2, contents.end());
  if (is_ipv6(frame)) {
    Ipv6Rules::take_a_hop_off(packet);
  } else {
    Ipv4Rules::take_a_hop_off(packet);
  }
  return contents;
}

Frame without_excess(Frame frame, unsigned mtu) {
  if (frame.size() <= kEthernetBytes + mtu) return frame;
  return frame.first(std::min<std::size_t>(frame.size(), kEthernetBytes + ip_bytes(frame)));
}

}  // namespace penumbra::cli::verify
