// SPDX-License-Identifier: Apache-2.0
//
// Describes the fields of flows: their names, their positions, and the packets that have them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/packet_fields.h"
#include "control/rules/places.h"

namespace penumbra::control::rules {

/// Ethertypes and protocols with names or fields of their own.
inline constexpr std::uint64_t kIpType = 0x0800, kArpType = 0x0806, kIpv6Type = 0x86DD, kMplsType = 0x8847,
                               kMplsMulticastType = 0x8848;
using packet_fields::kRarpType;
inline constexpr std::uint64_t kIcmpProtocol = 1, kTcpProtocol = 6, kUdpProtocol = 17, kIcmpv6Protocol = 58,
                               kSctpProtocol = 132;

/// The packets that have a field ("prerequisites" in Open vSwitch). `ip` is either version, as are `tcp` and so on.
enum class FlowLayer : std::uint8_t {
  any,
  ip,
  ipv4,
  ipv6,
  arp,
  ipv4_or_arp,
  ip_or_arp,
  ports,  ///< TCP, UDP, SCTP and both versions of ICMP
  tcp,
  udp,
  sctp,
  icmp,
  icmpv6,
  icmp_or_icmpv6,
  neighbour_discovery,
  neighbour_solicitation,
  neighbour_advertisement,
  mpls,
};

/// The kind of packets that a match names. Fields that it names in part do not count.
struct PacketKind {
  // NOLINTBEGIN(readability-redundant-member-init): initialisers may omit the members
  std::optional<std::uint64_t> ethertype = {}, protocol = {};
  std::optional<std::uint64_t> icmp_type = {}, icmp_code = {};
  bool is_later_fragment = false;  ///< later fragments have no transport header
  // NOLINTEND(readability-redundant-member-init)
};
PacketKind kind_of(const SparseMatch& match);

/// Returns true if all packets of this kind have the fields of `layer`.
bool has_layer(const PacketKind& kind, FlowLayer layer);
/// Returns the words, for a message, that a flow must contain to use a field of `layer`.
std::string_view words_for(FlowLayer layer);

/// Throws std::invalid_argument unless the syntax of flows can say `what`.
void require_sayable(bool holds, const char* what);

/// Distinguishes the syntax of fields' values.
enum class FlowForm : std::uint8_t { number, port, mac, address, ipv6_address, tos, dscp, tcp_flags, fragment };
struct FlowField {
  std::string_view name, other_name;
  packet_fields::Field field;
  FlowForm form;
  std::uint64_t most;
  bool maskable;
  FlowLayer layer;
  std::uint64_t part = 0;  ///< mask of a field that is a part of `field`, or 0
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
/// Returns the name of a kind: of ethertype and protocol if there is one, else of the ethertype. Returns nullptr if
/// there is none.
const ProtocolName* find_protocol_name(const PacketKind& kind);

/// The upper and lower bits of the type of service.
inline constexpr std::uint64_t kDscpBits = 0xFC, kEcnBits = 0x03;
/// The bits of TCP's flags that flows can have.
inline constexpr std::uint64_t kTcpFlagBits = 0xFFF;

/// A value of TCP's flags or of a fragment with its mask.
struct MaskedBits {
  std::uint64_t value, mask;
};
/// Parses `no`, `yes`, `first`, `later` or `not_later`.
std::optional<MaskedBits> parse_fragment(std::string_view word);
/// Returns the word of parse_fragment(), or an empty one if there is none.
std::string_view fragment_text(MaskedBits bits);
/// Parses `+syn-ack`, `syn|ack`, or numbers as `0x2/0x12`.
std::optional<MaskedBits> parse_tcp_flags(std::string_view word);
/// Returns the form that Open vSwitch prints, or numbers if some bits have no name.
std::string tcp_flags_text(MaskedBits bits);

/// Returns the names of all fields and protocols.
std::vector<std::string> flow_field_names();

}  // namespace penumbra::control::rules
