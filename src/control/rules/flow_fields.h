// SPDX-License-Identifier: Apache-2.0
//
// The fields of flows: what they are called, where they stand, and which packets have them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/rules/places.h"

namespace penumbra::control::rules {

/// What ethertypes and protocols have names or fields.
inline constexpr std::uint64_t kIpType = 0x0800, kArpType = 0x0806, kRarpType = 0x8035, kIpv6Type = 0x86DD,
                               kMplsType = 0x8847, kMplsMulticastType = 0x8848;
inline constexpr std::uint64_t kIcmpProtocol = 1, kTcpProtocol = 6, kUdpProtocol = 17, kSctpProtocol = 132;

/// What packets have a field: OVS calls it the field's prerequisites.
enum class FlowLayer : std::uint8_t { any, ip, arp, ip_or_arp, ports, tcp, udp, sctp, icmp };

/// Whether all packets of a match have what such fields are of.
bool has_layer(const RuleMatch& match, FlowLayer layer);
/// What has to be named for a field of that layer, as words of a message.
std::string_view words_for(FlowLayer layer);

/// How a field's value is written.
enum class FlowForm : std::uint8_t { number, port, mac, address, tos, dscp };
struct FlowField {
  std::string_view name, other_name;
  Place place;
  FlowForm form;
  std::uint64_t most;
  bool maskable;
  FlowLayer layer;
};

/// By either of its names; nullptr if there is none. The fields of VLAN tags are not among them: they depend on
/// another.
const FlowField* find_flow_field(std::string_view name);

/// A word that stands for an ethertype, and maybe for a protocol behind it.
struct ProtocolName {
  std::string_view name;
  std::uint64_t ethertype;
  std::optional<std::uint64_t> protocol;
};
const ProtocolName* find_protocol_name(std::string_view name);
/// Protocols of IPv6, which OpenFlow 1.0 has not.
bool is_ipv6_protocol(std::string_view name);

/// Of all fields and protocols.
std::vector<std::string> flow_field_names();

}  // namespace penumbra::control::rules
