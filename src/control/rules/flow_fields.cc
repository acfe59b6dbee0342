// SPDX-License-Identifier: Apache-2.0
#include "control/rules/flow_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "control/rules/number.h"

namespace penumbra::control::rules {
namespace {

using packet_fields::Field;

/// The second names are those of newer versions of ovs-ofctl.
constexpr std::array<FlowField, 41> kFields{
    {{"in_port", "", Field::in_port, FlowForm::port, 0xFFFF, false, FlowLayer::any},
     {"dl_src", "eth_src", Field::eth_src, FlowForm::mac, 0, true, FlowLayer::any},
     {"dl_dst", "eth_dst", Field::eth_dst, FlowForm::mac, 0, true, FlowLayer::any},
     {"dl_type", "eth_type", Field::eth_type, FlowForm::number, 0xFFFF, false, FlowLayer::any},
     {"nw_src", "ip_src", Field::nw_src, FlowForm::address, 0, true, FlowLayer::ipv4_or_arp},
     {"nw_dst", "ip_dst", Field::nw_dst, FlowForm::address, 0, true, FlowLayer::ipv4_or_arp},
     {"arp_spa", "", Field::nw_src, FlowForm::address, 0, true, FlowLayer::arp},
     {"arp_tpa", "", Field::nw_dst, FlowForm::address, 0, true, FlowLayer::arp},
     {"arp_sha", "", Field::arp_sha, FlowForm::mac, 0, true, FlowLayer::arp},
     {"arp_tha", "", Field::arp_tha, FlowForm::mac, 0, true, FlowLayer::arp},
     {"ipv6_src", "", Field::ipv6_src, FlowForm::ipv6_address, 0, true, FlowLayer::ipv6},
     {"ipv6_dst", "", Field::ipv6_dst, FlowForm::ipv6_address, 0, true, FlowLayer::ipv6},
     {"ipv6_label", "", Field::ipv6_label, FlowForm::number, 0xFFFFF, true, FlowLayer::ipv6},
     {"nw_proto", "ip_proto", Field::nw_proto, FlowForm::number, 0xFF, false, FlowLayer::ip_or_arp},
     {"arp_op", "", Field::nw_proto, FlowForm::number, 0xFF, false, FlowLayer::arp},
     {"nw_tos", "", Field::nw_tos, FlowForm::tos, 0xFF, false, FlowLayer::ip, kDscpBits},
     {"ip_dscp", "", Field::nw_tos, FlowForm::dscp, 0x3F, false, FlowLayer::ip, kDscpBits},
     {"nw_ecn", "ip_ecn", Field::nw_tos, FlowForm::number, 3, false, FlowLayer::ip, kEcnBits},
     {"nw_ttl", "", Field::nw_ttl, FlowForm::number, 0xFF, false, FlowLayer::ip},
     {"nw_frag", "ip_frag", Field::nw_frag, FlowForm::fragment, 0, false, FlowLayer::ip},
     {"tp_src", "", Field::tp_src, FlowForm::number, 0xFFFF, true, FlowLayer::ports},
     {"tp_dst", "", Field::tp_dst, FlowForm::number, 0xFFFF, true, FlowLayer::ports},
     {"tcp_src", "", Field::tp_src, FlowForm::number, 0xFFFF, true, FlowLayer::tcp},
     {"tcp_dst", "", Field::tp_dst, FlowForm::number, 0xFFFF, true, FlowLayer::tcp},
     {"tcp_flags", "", Field::tcp_flags, FlowForm::tcp_flags, 0, false, FlowLayer::tcp},
     {"udp_src", "", Field::tp_src, FlowForm::number, 0xFFFF, true, FlowLayer::udp},
     {"udp_dst", "", Field::tp_dst, FlowForm::number, 0xFFFF, true, FlowLayer::udp},
     {"sctp_src", "", Field::tp_src, FlowForm::number, 0xFFFF, true, FlowLayer::sctp},
     {"sctp_dst", "", Field::tp_dst, FlowForm::number, 0xFFFF, true, FlowLayer::sctp},
     {"icmp_type", "", Field::tp_src, FlowForm::number, 0xFF, false, FlowLayer::icmp_or_icmpv6},
     {"icmp_code", "", Field::tp_dst, FlowForm::number, 0xFF, false, FlowLayer::icmp_or_icmpv6},
     {"icmpv6_type", "", Field::tp_src, FlowForm::number, 0xFF, false, FlowLayer::icmpv6},
     {"icmpv6_code", "", Field::tp_dst, FlowForm::number, 0xFF, false, FlowLayer::icmpv6},
     {"nd_target", "", Field::nd_target, FlowForm::ipv6_address, 0, true, FlowLayer::neighbour_discovery},
     {"nd_sll", "", Field::arp_sha, FlowForm::mac, 0, true, FlowLayer::neighbour_solicitation},
     {"nd_tll", "", Field::arp_tha, FlowForm::mac, 0, true, FlowLayer::neighbour_advertisement},
     {"mpls_label", "", Field::mpls_label, FlowForm::number, 0xFFFFF, false, FlowLayer::mpls},
     {"mpls_tc", "", Field::mpls_tc, FlowForm::number, 7, false, FlowLayer::mpls},
     {"mpls_ttl", "", Field::mpls_ttl, FlowForm::number, 0xFF, false, FlowLayer::mpls},
     {"mpls_bos", "", Field::mpls_bos, FlowForm::number, 1, false, FlowLayer::mpls}}};

constexpr std::array<ProtocolName, 14> kProtocols{{{"ip", kIpType, std::nullopt},
                                                   {"icmp", kIpType, kIcmpProtocol},
                                                   {"tcp", kIpType, kTcpProtocol},
                                                   {"udp", kIpType, kUdpProtocol},
                                                   {"sctp", kIpType, kSctpProtocol},
                                                   {"arp", kArpType, std::nullopt},
                                                   {"rarp", kRarpType, std::nullopt},
                                                   {"ipv6", kIpv6Type, std::nullopt},
                                                   {"icmp6", kIpv6Type, kIcmpv6Protocol},
                                                   {"tcp6", kIpv6Type, kTcpProtocol},
                                                   {"udp6", kIpv6Type, kUdpProtocol},
                                                   {"sctp6", kIpv6Type, kSctpProtocol},
                                                   {"mpls", kMplsType, std::nullopt},
                                                   {"mplsm", kMplsMulticastType, std::nullopt}}};

/// Bit 0 of a fragment is set in all fragments, bit 1 in all but the first.
struct FragmentName {
  std::string_view name;
  MaskedBits bits;
};
constexpr std::array<FragmentName, 5> kFragments{
    {{"no", {0, 3}}, {"first", {1, 3}}, {"later", {3, 3}}, {"yes", {1, 1}}, {"not_later", {0, 2}}}};

/// The names by bit.
constexpr std::array<std::string_view, 9> kTcpFlags{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns"};

std::optional<std::uint64_t> tcp_flag(std::string_view name) {
  const auto* const found = std::ranges::find(kTcpFlags, name);
  if (found == kTcpFlags.end()) return std::nullopt;
  return std::uint64_t{1} << (found - kTcpFlags.begin());
}

}  // namespace

PacketKind kind_of(const SparseMatch& match) {
  const auto exact = [&match](Field field) {
    const bool is_exact = get(match.mask, field) == packet_fields::all_bits(place_of(field).bits);
    return is_exact ? std::optional(get(match.value, field).low) : std::nullopt;
  };
  return {.ethertype = exact(Field::eth_type),
          .protocol = exact(Field::nw_proto),
          .icmp_type = exact(Field::tp_src),
          .icmp_code = exact(Field::tp_dst),
          .is_later_fragment = (get(match.value, Field::nw_frag).low & packet_fields::kLaterFragment) != 0};
}

bool has_layer(const PacketKind& kind, FlowLayer layer) {
  constexpr std::uint64_t kSolicitation = 135, kAdvertisement = 136;
  const auto is_type = [&kind](std::uint64_t type) { return kind.ethertype == type; };
  const auto is_protocol = [&kind](std::uint64_t protocol) {
    return kind.protocol == protocol && !kind.is_later_fragment;
  };
  const bool is_arp = is_type(kArpType) || is_type(kRarpType);
  const bool is_ipv4 = is_type(kIpType), is_ipv6 = is_type(kIpv6Type), is_ip = is_ipv4 || is_ipv6;
  const bool is_icmp = is_ipv4 && is_protocol(kIcmpProtocol), is_icmpv6 = is_ipv6 && is_protocol(kIcmpv6Protocol);
  const auto is_neighbour = [&](std::uint64_t type) {
    return is_icmpv6 && kind.icmp_type == type && kind.icmp_code == std::uint64_t{0};
  };
  switch (layer) {
    case FlowLayer::any:
      return true;
    case FlowLayer::ip:
      return is_ip;
    case FlowLayer::ipv4:
      return is_ipv4;
    case FlowLayer::ipv6:
      return is_ipv6;
    case FlowLayer::arp:
      return is_arp;
    case FlowLayer::ipv4_or_arp:
      return is_ipv4 || is_arp;
    case FlowLayer::ip_or_arp:
      return is_ip || is_arp;
    case FlowLayer::ports:
      return is_icmp || is_icmpv6 ||
             (is_ip && (is_protocol(kTcpProtocol) || is_protocol(kUdpProtocol) || is_protocol(kSctpProtocol)));
    case FlowLayer::tcp:
      return is_ip && is_protocol(kTcpProtocol);
    case FlowLayer::udp:
      return is_ip && is_protocol(kUdpProtocol);
    case FlowLayer::sctp:
      return is_ip && is_protocol(kSctpProtocol);
    case FlowLayer::icmp:
      return is_icmp;
    case FlowLayer::icmpv6:
      return is_icmpv6;
    case FlowLayer::icmp_or_icmpv6:
      return is_icmp || is_icmpv6;
    case FlowLayer::neighbour_discovery:
      return is_neighbour(kSolicitation) || is_neighbour(kAdvertisement);
    case FlowLayer::neighbour_solicitation:
      return is_neighbour(kSolicitation);
    case FlowLayer::neighbour_advertisement:
      return is_neighbour(kAdvertisement);
    case FlowLayer::mpls:
      break;
  }
  return is_type(kMplsType) || is_type(kMplsMulticastType);
}

std::string_view words_for(FlowLayer layer) {
  switch (layer) {
    case FlowLayer::ip:
      return "'ip' or 'ipv6'";
    case FlowLayer::ipv4:
      return "'ip'";
    case FlowLayer::ipv6:
      return "'ipv6'";
    case FlowLayer::arp:
      return "'arp' or 'rarp'";
    case FlowLayer::ipv4_or_arp:
      return "'ip', 'arp' or 'rarp'";
    case FlowLayer::ip_or_arp:
      return "'ip', 'ipv6', 'arp' or 'rarp'";
    case FlowLayer::ports:
      return "'tcp', 'udp', 'sctp' or 'icmp', or of IPv6 'tcp6' and so on,";
    case FlowLayer::tcp:
      return "'tcp' or 'tcp6'";
    case FlowLayer::udp:
      return "'udp' or 'udp6'";
    case FlowLayer::sctp:
      return "'sctp' or 'sctp6'";
    case FlowLayer::icmp:
      return "'icmp'";
    case FlowLayer::icmpv6:
      return "'icmp6'";
    case FlowLayer::icmp_or_icmpv6:
      return "'icmp' or 'icmp6'";
    case FlowLayer::neighbour_discovery:
      return "'icmp6,icmpv6_type=135,icmpv6_code=0', or the type 136,";
    case FlowLayer::neighbour_solicitation:
      return "'icmp6,icmpv6_type=135,icmpv6_code=0'";
    case FlowLayer::neighbour_advertisement:
      return "'icmp6,icmpv6_type=136,icmpv6_code=0'";
    case FlowLayer::mpls:
      return "'mpls' or 'mplsm'";
    case FlowLayer::any:
      break;
  }
  return "";
}

void require_sayable(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("the syntax of flows cannot say ") + what);
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

const ProtocolName* find_protocol_name(const PacketKind& kind) {
  const ProtocolName* of_type = nullptr;
  for (const ProtocolName& each : kProtocols) {
    if (kind.ethertype != each.ethertype) continue;
    if (!each.protocol) of_type = &each;
    if (each.protocol && kind.protocol == each.protocol) return &each;
  }
  return of_type;
}

std::optional<MaskedBits> parse_fragment(std::string_view word) {
  const auto found = std::ranges::find(kFragments, word, &FragmentName::name);
  return found == kFragments.end() ? std::nullopt : std::optional(found->bits);
}

std::string_view fragment_text(MaskedBits bits) {
  for (const FragmentName& each : kFragments) {
    if (each.bits.value == bits.value && each.bits.mask == bits.mask) return each.name;
  }
  return {};
}

std::optional<MaskedBits> parse_tcp_flags(std::string_view word) {
  const std::size_t slash = word.find('/');
  if (const auto value = parse_number(word.substr(0, slash), kTcpFlagBits)) {
    const auto mask =
        slash == std::string_view::npos ? std::optional(kTcpFlagBits) : parse_number(word.substr(slash + 1), 0xFFFF);
    if (!mask) return std::nullopt;
    return MaskedBits{*value & *mask, *mask & kTcpFlagBits};
  }
  if (word.ends_with('|')) return std::nullopt;
  MaskedBits bits{};
  const bool has_signs = word.starts_with('+') || word.starts_with('-');
  while (!word.empty()) {
    const bool is_set = word.front() != '-';
    if (has_signs && is_set && word.front() != '+') return std::nullopt;
    if (has_signs) word.remove_prefix(1);
    const std::size_t end = std::min(word.find_first_of(has_signs ? "+-" : "|"), word.size());
    const auto flag = tcp_flag(word.substr(0, end));
    if (!flag || (bits.mask & *flag) != 0) return std::nullopt;
    bits.mask |= *flag;
    if (is_set) bits.value |= *flag;
    word.remove_prefix(has_signs ? end : std::min(end + 1, word.size()));
  }
  if (bits.mask == 0) return std::nullopt;
  if (!has_signs) bits.mask = kTcpFlagBits;
  return bits;
}

std::string tcp_flags_text(MaskedBits bits) {
  constexpr std::uint64_t kNamed = (std::uint64_t{1} << kTcpFlags.size()) - 1;
  const bool is_exact = bits.mask == kTcpFlagBits;
  if (((is_exact ? bits.value : bits.mask) & ~kNamed) != 0 || (is_exact && bits.value == 0)) {
    return is_exact ? fmt::format("{:#x}", bits.value) : fmt::format("{:#x}/{:#x}", bits.value, bits.mask);
  }
  std::string text;
  for (std::size_t bit = 0; bit < kTcpFlags.size(); ++bit) {
    const std::uint64_t flag = std::uint64_t{1} << bit;
    if (((is_exact ? bits.value : bits.mask) & flag) == 0) continue;
    if (!is_exact) {
      text += (bits.value & flag) != 0 ? '+' : '-';
    } else if (!text.empty()) {
      text += '|';
    }
    text += kTcpFlags[bit];
  }
  return text;
}

std::vector<std::string> flow_field_names() {
  std::vector<std::string> names{"dl_vlan", "dl_vlan_pcp", "vlan_vid", "vlan_tci"};
  for (const auto& field : kFields) names.emplace_back(field.name);
  for (const auto& protocol : kProtocols) names.emplace_back(protocol.name);
  return names;
}

}  // namespace penumbra::control::rules
