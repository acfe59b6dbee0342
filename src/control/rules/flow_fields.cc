// SPDX-License-Identifier: Apache-2.0
#include "control/rules/flow_fields.h"

#include <algorithm>
#include <array>

namespace penumbra::control::rules {
namespace {

using openflow::kEthertype;
constexpr Place kProtocol = protocol_place(RuleFields::openflow);
constexpr Place kTpSource = source_port_place(RuleFields::openflow);
constexpr Place kTpDestination = destination_port_place(RuleFields::openflow);

/// The second names are those of newer versions of ovs-ofctl.
constexpr std::array<FlowField, 22> kFields{
    {{"in_port", "", openflow::kInPort, FlowForm::port, 0xFFFF, false, FlowLayer::any},
     {"dl_src", "eth_src", openflow::kSourceMac, FlowForm::mac, 0, true, FlowLayer::any},
     {"dl_dst", "eth_dst", openflow::kDestinationMac, FlowForm::mac, 0, true, FlowLayer::any},
     {"dl_type", "eth_type", kEthertype, FlowForm::number, 0xFFFF, false, FlowLayer::any},
     {"nw_src", "ip_src", openflow::kSource, FlowForm::address, 0, true, FlowLayer::ip_or_arp},
     {"nw_dst", "ip_dst", openflow::kDestination, FlowForm::address, 0, true, FlowLayer::ip_or_arp},
     {"arp_spa", "", openflow::kSource, FlowForm::address, 0, true, FlowLayer::arp},
     {"arp_tpa", "", openflow::kDestination, FlowForm::address, 0, true, FlowLayer::arp},
     {"nw_proto", "ip_proto", kProtocol, FlowForm::number, 0xFF, false, FlowLayer::ip_or_arp},
     {"arp_op", "", kProtocol, FlowForm::number, 0xFF, false, FlowLayer::arp},
     {"nw_tos", "", kTosPlace, FlowForm::tos, 0xFF, false, FlowLayer::ip},
     {"ip_dscp", "", kTosPlace, FlowForm::dscp, 0x3F, false, FlowLayer::ip},
     {"tp_src", "", kTpSource, FlowForm::number, 0xFFFF, true, FlowLayer::ports},
     {"tp_dst", "", kTpDestination, FlowForm::number, 0xFFFF, true, FlowLayer::ports},
     {"tcp_src", "", kTpSource, FlowForm::number, 0xFFFF, true, FlowLayer::tcp},
     {"tcp_dst", "", kTpDestination, FlowForm::number, 0xFFFF, true, FlowLayer::tcp},
     {"udp_src", "", kTpSource, FlowForm::number, 0xFFFF, true, FlowLayer::udp},
     {"udp_dst", "", kTpDestination, FlowForm::number, 0xFFFF, true, FlowLayer::udp},
     {"sctp_src", "", kTpSource, FlowForm::number, 0xFFFF, true, FlowLayer::sctp},
     {"sctp_dst", "", kTpDestination, FlowForm::number, 0xFFFF, true, FlowLayer::sctp},
     {"icmp_type", "", kTpSource, FlowForm::number, 0xFF, false, FlowLayer::icmp},
     {"icmp_code", "", kTpDestination, FlowForm::number, 0xFF, false, FlowLayer::icmp}}};

constexpr std::array<ProtocolName, 10> kProtocols{{{"ip", kIpType, std::nullopt},
                                                   {"icmp", kIpType, kIcmpProtocol},
                                                   {"tcp", kIpType, kTcpProtocol},
                                                   {"udp", kIpType, kUdpProtocol},
                                                   {"sctp", kIpType, kSctpProtocol},
                                                   {"arp", kArpType, std::nullopt},
                                                   {"rarp", kRarpType, std::nullopt},
                                                   {"ipv6", kIpv6Type, std::nullopt},
                                                   {"mpls", kMplsType, std::nullopt},
                                                   {"mplsm", kMplsMulticastType, std::nullopt}}};
constexpr std::array<std::string_view, 4> kIpv6Protocols{"tcp6", "udp6", "sctp6", "icmp6"};

}  // namespace

bool has_layer(const RuleMatch& match, FlowLayer layer) {
  if (layer == FlowLayer::any) return true;
  if (kEthertype.get(match.mask) != kEthertype.ones()) return false;
  const std::uint64_t type = kEthertype.get(match.value);
  const bool is_arp = type == kArpType || type == kRarpType;
  if (layer == FlowLayer::arp) return is_arp;
  if (layer == FlowLayer::ip_or_arp && is_arp) return true;
  if (type != kIpType) return false;
  if (layer == FlowLayer::ip || layer == FlowLayer::ip_or_arp) return true;
  if (kProtocol.get(match.mask) != kProtocol.ones()) return false;
  const std::uint64_t protocol = kProtocol.get(match.value);
  switch (layer) {
    case FlowLayer::tcp:
      return protocol == kTcpProtocol;
    case FlowLayer::udp:
      return protocol == kUdpProtocol;
    case FlowLayer::sctp:
      return protocol == kSctpProtocol;
    case FlowLayer::icmp:
      return protocol == kIcmpProtocol;
    default:
      break;
  }
  return protocol == kTcpProtocol || protocol == kUdpProtocol || protocol == kSctpProtocol || protocol == kIcmpProtocol;
}

std::string_view words_for(FlowLayer layer) {
  switch (layer) {
    case FlowLayer::ip:
      return "'ip'";
    case FlowLayer::arp:
      return "'arp' or 'rarp'";
    case FlowLayer::ip_or_arp:
      return "'ip', 'arp' or 'rarp'";
    case FlowLayer::ports:
      return "'tcp', 'udp', 'sctp' or 'icmp'";
    case FlowLayer::tcp:
      return "'tcp'";
    case FlowLayer::udp:
      return "'udp'";
    case FlowLayer::sctp:
      return "'sctp'";
    case FlowLayer::icmp:
      return "'icmp'";
    case FlowLayer::any:
      break;
  }
  return "";
}

const FlowField* find_flow_field(std::string_view name) {
  const auto found = std::ranges::find_if(kFields, [name](const FlowField& each) {
    return each.name == name || (!each.other_name.empty() && each.other_name == name);
  });
  return found == kFields.end() ? nullptr : &*found;
}

const ProtocolName* find_protocol_name(std::string_view name) {
  const auto found = std::ranges::find(kProtocols, name, &ProtocolName::name);
  return found == kProtocols.end() ? nullptr : &*found;
}

bool is_ipv6_protocol(std::string_view name) {
  return std::ranges::find(kIpv6Protocols, name) != kIpv6Protocols.end();
}

std::vector<std::string> flow_field_names() {
  std::vector<std::string> names{"dl_vlan", "dl_vlan_pcp", "vlan_tci"};
  for (const auto& field : kFields) names.emplace_back(field.name);
  for (const auto& protocol : kProtocols) names.emplace_back(protocol.name);
  return names;
}

}  // namespace penumbra::control::rules
