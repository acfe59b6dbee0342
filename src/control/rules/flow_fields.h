// SPDX-License-Identifier: Apache-2.0
//
// Describes the fields of flows: their names, their positions, and the packets that have them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/rules/places.h"

namespace penumbra::control::rules {

/// Ethertypes and protocols with names or fields of their own.
inline constexpr std::uint64_t kIpType = 0x0800, kArpType = 0x0806, kRarpType = 0x8035, kIpv6Type = 0x86DD,
                               kMplsType = 0x8847, kMplsMulticastType = 0x8848;
inline constexpr std::uint64_t kIcmpProtocol = 1, kTcpProtocol = 6, kUdpProtocol = 17, kSctpProtocol = 132;

/// The packets that have a field ("prerequisites" in Open vSwitch).
enum class FlowLayer : std::uint8_t { any, ip, arp, ip_or_arp, ports, tcp, udp, sctp, icmp };

/// Returns true if all packets that match have the fields of `layer`.
bool has_layer(const RuleMatch& match, FlowLayer layer);
/// Returns the words, for a message, that a flow must contain to use a field of `layer`.
std::string_view words_for(FlowLayer layer);

/// Distinguishes the syntax of fields' values.
enum class FlowForm : std::uint8_t { number, port, mac, address, tos, dscp };
struct FlowField {
  std::string_view name, other_name;
  Place place;
  FlowForm form;
  std::uint64_t most;
  bool maskable;
  FlowLayer layer;
};

/// Returns the field with this name or alias, or nullptr. The fields of VLAN tags are not included, because they depend
/// on each other.
const FlowField* find_flow_field(std::string_view name);

/// Describes a word for an ethertype and possibly an IP protocol.
struct ProtocolName {
  std::string_view name;
  std::uint64_t ethertype;
  std::optional<std::uint64_t> protocol;
};
const ProtocolName* find_protocol_name(std::string_view name);
/// Returns true for names of IPv6 protocols, which OpenFlow 1.0 does not support.
bool is_ipv6_protocol(std::string_view name);

/// Returns the names of all fields and protocols.
std::vector<std::string> flow_field_names();

}  // namespace penumbra::control::rules
