// SPDX-License-Identifier: Apache-2.0
//
// Writes matches and headers in ovs-ofctl's form.
#include <fmt/format.h>

#include <array>

#include "control/rules/flow_action.h"
#include "control/rules/flow_fields.h"
#include "control/rules/flow_syntax.h"
#include "control/rules/openflow10.h"

namespace penumbra::control::rules {
namespace {

using packet_fields::all_bits;
using packet_fields::Field;
using packet_fields::kTagPresent;
using packet_fields::Number;

/// Fields of which a match has all bits or none.
constexpr std::array kWholeFields{Field::in_port,    Field::eth_type, Field::nw_proto, Field::nw_ttl,
                                  Field::mpls_label, Field::mpls_tc,  Field::mpls_bos, Field::mpls_ttl};

/// Writes the fields of one match, one after another.
class MatchWriter {
 public:
  explicit MatchWriter(const SparseMatch& match) : match_(match), kind_(kind_of(match)) {}

  std::string write();

 private:
  std::uint64_t value(Field field) const { return get(match_.value, field).low; }
  std::uint64_t mask(Field field) const { return get(match_.mask, field).low; }
  bool has(Field field) const { return get(match_.mask, field) != Number{}; }
  bool is_whole(Field field) const { return get(match_.mask, field) == all_bits(place_of(field).bits); }
  void add(const std::string& word) { text_ += (text_.empty() ? "" : ",") + word; }
  void check() const;
  void add_protocol_names();
  void add_vlan();
  void add_masked(const char* name, Field field);
  void add_number(const char* name, Field field);
  void add_label();
  void add_addresses();
  void add_ip_fields();
  void add_transport();
  void add_port(const char* name, const char* icmp_name, Field field);

  const SparseMatch& match_;
  const PacketKind kind_;
  std::string text_;
  bool type_is_named_ = false, protocol_is_named_ = false;
};

/// Throws std::invalid_argument for a match that the parser cannot produce.
void MatchWriter::check() const {
  for (const Field field : kWholeFields) {
    require_sayable(!has(field) || is_whole(field), "a part of in_port, dl_type, nw_proto, nw_ttl or an MPLS label");
  }
  const std::uint64_t tos = mask(Field::nw_tos);
  require_sayable((tos & kDscpBits) == 0 || (tos & kDscpBits) == kDscpBits, "a part of nw_tos");
  require_sayable((tos & kEcnBits) == 0 || (tos & kEcnBits) == kEcnBits, "a part of nw_ecn");
  require_sayable((mask(Field::tcp_flags) & ~kTcpFlagBits) == 0 && !has(Field::vlan_tpid), "bits that are no field's");
  const MaskedBits fragment{.value = value(Field::nw_frag), .mask = mask(Field::nw_frag)};
  require_sayable(fragment.mask == 0 || !fragment_text(fragment).empty(), "this kind of fragments");
  const std::uint64_t tci = value(Field::vlan_tci), tci_mask = mask(Field::vlan_tci);
  const bool is_tagged = (tci & tci_mask & kTagPresent) != 0, has_no_tag = tci == 0 && tci_mask == kWholeTci;
  require_sayable(is_tagged || has_no_tag || (tci == 0 && (tci_mask & kTagPresent) == 0),
                  "a part of a VLAN tag that may be missing");
  const auto needs = [this](Field field, FlowLayer layer) {
    require_sayable(!has(field) || has_layer(kind_, layer), "fields that need others, without those");
  };
  const bool is_arp = has_layer(kind_, FlowLayer::arp);
  for (const Field field : {Field::nw_src, Field::nw_dst}) needs(field, FlowLayer::ipv4_or_arp);
  for (const Field field : {Field::ipv6_src, Field::ipv6_dst, Field::ipv6_label}) needs(field, FlowLayer::ipv6);
  for (const Field field : {Field::nw_tos, Field::nw_ttl, Field::nw_frag}) needs(field, FlowLayer::ip);
  for (const Field field : {Field::tp_src, Field::tp_dst}) needs(field, FlowLayer::ports);
  for (const Field field : {Field::mpls_label, Field::mpls_tc, Field::mpls_bos, Field::mpls_ttl}) {
    needs(field, FlowLayer::mpls);
  }
  needs(Field::nw_proto, FlowLayer::ip_or_arp);
  needs(Field::tcp_flags, FlowLayer::tcp);
  needs(Field::nd_target, FlowLayer::neighbour_discovery);
  needs(Field::arp_sha, is_arp ? FlowLayer::arp : FlowLayer::neighbour_solicitation);
  needs(Field::arp_tha, is_arp ? FlowLayer::arp : FlowLayer::neighbour_advertisement);
}

void MatchWriter::add_protocol_names() {
  const ProtocolName* const name = find_protocol_name(kind_);
  type_is_named_ = name != nullptr;
  protocol_is_named_ = name != nullptr && name->protocol.has_value();
  if (name != nullptr) add(std::string(name->name));
}

void MatchWriter::add_vlan() {
  constexpr std::uint64_t kPriorityBits = openflow::kVlanPriorityMask << kTciPriorityShift;
  const std::uint64_t tci = value(Field::vlan_tci), tci_mask = mask(Field::vlan_tci);
  if (tci_mask == 0) return;
  if (tci == 0 && tci_mask == kWholeTci) return add("vlan_tci=0x0000");
  const std::uint64_t vlan_mask = tci_mask & kVlanBits, priority_mask = tci_mask & kPriorityBits;
  const bool is_tagged = (tci_mask & kTagPresent) != 0, whole_vlan = vlan_mask == kVlanBits,
             whole_priority = priority_mask == kPriorityBits;
  if (is_tagged && (whole_vlan || vlan_mask == 0) && (whole_priority || priority_mask == 0) &&
      (whole_vlan || whole_priority)) {
    if (whole_vlan) add(fmt::format("dl_vlan={}", tci & kVlanBits));
    if (whole_priority) add(fmt::format("dl_vlan_pcp={}", tci >> kTciPriorityShift));
    return;
  }
  add(fmt::format("vlan_tci=0x{:04x}/0x{:04x}", tci, tci_mask));
}

void MatchWriter::add_masked(const char* name, Field field) {
  if (!has(field)) return;
  add(fmt::format("{}={}", name, field_text(field, get(match_.value, field), get(match_.mask, field))));
}

void MatchWriter::add_number(const char* name, Field field) {
  if (has(field)) add(fmt::format("{}={}", name, value(field)));
}

void MatchWriter::add_label() {
  if (!has(Field::ipv6_label)) return;
  const std::string text = fmt::format("ipv6_label=0x{:05x}", value(Field::ipv6_label));
  add(is_whole(Field::ipv6_label) ? text : fmt::format("{}/0x{:05x}", text, mask(Field::ipv6_label)));
}

void MatchWriter::add_addresses() {
  const bool is_arp = has_layer(kind_, FlowLayer::arp);
  add_masked(is_arp ? "arp_spa" : "nw_src", Field::nw_src);
  add_masked(is_arp ? "arp_tpa" : "nw_dst", Field::nw_dst);
  add_masked("ipv6_src", Field::ipv6_src);
  add_masked("ipv6_dst", Field::ipv6_dst);
  add_label();
  if (!protocol_is_named_) add_number(is_arp ? "arp_op" : "nw_proto", Field::nw_proto);
  if (!is_arp) return;
  add_masked("arp_sha", Field::arp_sha);
  add_masked("arp_tha", Field::arp_tha);
}

void MatchWriter::add_ip_fields() {
  const std::uint64_t tos = value(Field::nw_tos), tos_mask = mask(Field::nw_tos);
  if ((tos_mask & kDscpBits) != 0) add(fmt::format("nw_tos={}", tos & kDscpBits));
  if ((tos_mask & kEcnBits) != 0) add(fmt::format("nw_ecn={}", tos & kEcnBits));
  add_number("nw_ttl", Field::nw_ttl);
  add_number("mpls_label", Field::mpls_label);
  add_number("mpls_tc", Field::mpls_tc);
  add_number("mpls_ttl", Field::mpls_ttl);
  add_number("mpls_bos", Field::mpls_bos);
  if (!has(Field::nw_frag)) return;
  add(fmt::format("nw_frag={}", fragment_text({.value = value(Field::nw_frag), .mask = mask(Field::nw_frag)})));
}

void MatchWriter::add_port(const char* name, const char* icmp_name, Field field) {
  if (!has(field)) return;
  if (!is_whole(field)) return add(fmt::format("{}=0x{:x}/0x{:x}", name, value(field), mask(field)));
  const bool is_icmp = has_layer(kind_, FlowLayer::icmp_or_icmpv6) && value(field) <= 0xFF;
  add_number(is_icmp ? icmp_name : name, field);
}

void MatchWriter::add_transport() {
  add_port("tp_src", "icmp_type", Field::tp_src);
  add_port("tp_dst", "icmp_code", Field::tp_dst);
  add_masked("nd_target", Field::nd_target);
  if (has_layer(kind_, FlowLayer::neighbour_discovery)) {
    add_masked("nd_sll", Field::arp_sha);
    add_masked("nd_tll", Field::arp_tha);
  }
  if (!has(Field::tcp_flags)) return;
  add("tcp_flags=" + tcp_flags_text({.value = value(Field::tcp_flags), .mask = mask(Field::tcp_flags)}));
}

std::string MatchWriter::write() {
  check();
  add_protocol_names();
  if (has(Field::in_port)) add("in_port=" + flow_port_text(static_cast<std::uint16_t>(value(Field::in_port))));
  add_vlan();
  add_masked("dl_src", Field::eth_src);
  add_masked("dl_dst", Field::eth_dst);
  if (has(Field::eth_type) && !type_is_named_) add(fmt::format("dl_type=0x{:04x}", value(Field::eth_type)));
  add_addresses();
  add_ip_fields();
  add_transport();
  return text_;
}

}  // namespace

std::string flow_match_text(const SparseMatch& match) {
  return MatchWriter(match).write();
}

std::string flow_key_text(const RuleWords& key) {
  RuleMatch match;
  match.value = key;
  const auto say = [&](Place place, std::uint64_t mask) {
    if (place.get(key) != 0) place.set(match.mask, mask);
  };
  for (const Place place : {openflow::kSourceMac, openflow::kDestinationMac, openflow::kEthertype, openflow::kSource,
                            openflow::kDestination, protocol_place(RuleFields::openflow),
                            source_port_place(RuleFields::openflow), destination_port_place(RuleFields::openflow)}) {
    say(place, place.ones());
  }
  say(kTosPlace, openflow::kTosMask);
  say(openflow::kVlanPriority, openflow::kVlanPriorityMask);
  openflow::kInPort.set(match.mask, openflow::kInPort.ones());  // Always named, because an empty line is no header.
  if (openflow::kVlan.get(key) != openflow::kNoVlan) openflow::kVlan.set(match.mask, openflow::kVlan.ones());
  return flow_match_text(from_openflow10(match));
}

}  // namespace penumbra::control::rules
