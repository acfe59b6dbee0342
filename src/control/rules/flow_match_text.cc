// SPDX-License-Identifier: Apache-2.0
//
// Writes matches and headers in ovs-ofctl's form.
#include <fmt/format.h>

#include <bit>
#include <stdexcept>

#include "control/rules/flow_action.h"
#include "control/rules/flow_fields.h"
#include "control/rules/flow_syntax.h"
#include "penumbra/ip.h"

namespace penumbra::control::rules {
namespace {

constexpr Place kProtocolPlace = protocol_place(RuleFields::openflow);
constexpr Place kSourcePortPlace = source_port_place(RuleFields::openflow);
constexpr Place kDestinationPortPlace = destination_port_place(RuleFields::openflow);

void require_sayable(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("the syntax of flows cannot say ") + what);
}

/// Writes the fields of one match, one after another.
class MatchWriter {
 public:
  explicit MatchWriter(const RuleMatch& match) : match_(match) {}

  std::string write();

 private:
  std::uint64_t value(Place place) const { return place.get(match_.value); }
  std::uint64_t mask(Place place) const { return place.get(match_.mask); }
  void add(const std::string& word) { text_ += (text_.empty() ? "" : ",") + word; }
  void check() const;
  void add_protocol_names();
  void add_vlan();
  void add_mac(const char* name, Place place);
  void add_address(const char* name, Place place);
  void add_port(const char* name, const char* icmp_name, Place place);

  const RuleMatch& match_;
  std::string text_;
  bool type_is_named_ = false, protocol_is_named_ = false;
};

/// Throws std::invalid_argument for a match that the parser cannot produce.
void MatchWriter::check() const {
  const auto whole_or_none = [this](Place place, std::uint64_t whole) {
    return mask(place) == 0 || mask(place) == whole;
  };
  require_sayable(!match_.has_ranges(), "ranges of ports");
  require_sayable(whole_or_none(openflow::kInPort, openflow::kInPort.ones()) &&
                      whole_or_none(openflow::kEthertype, openflow::kEthertype.ones()) &&
                      whole_or_none(kProtocolPlace, kProtocolPlace.ones()) &&
                      whole_or_none(kTosPlace, openflow::kTosMask),
                  "a part of in_port, dl_type, nw_proto or nw_tos");
  require_sayable(match_.mask[3] >> 32 == 0 && (match_.mask[4] & 0xFFFF) == 0, "bits that are no field's");
  const auto needs = [this](Place place, FlowLayer layer) {
    require_sayable(mask(place) == 0 || has_layer(match_, layer), "fields that need others, without those");
  };
  needs(openflow::kSource, FlowLayer::ip_or_arp);
  needs(openflow::kDestination, FlowLayer::ip_or_arp);
  needs(kProtocolPlace, FlowLayer::ip_or_arp);
  needs(kTosPlace, FlowLayer::ip);
  needs(kSourcePortPlace, FlowLayer::ports);
  needs(kDestinationPortPlace, FlowLayer::ports);
  // The VLAN is unspecified, no tag, or a tag with possibly some bits of it.
  const std::uint64_t vlan_mask = mask(openflow::kVlan), tag = openflow::kTaggedMask;
  const bool has_no_tag = vlan_mask == openflow::kVlan.ones() && value(openflow::kVlan) == openflow::kNoVlan;
  const bool has_tag = (vlan_mask & tag) == tag && (value(openflow::kVlan) & tag) == 0;
  require_sayable((mask(openflow::kVlanPriority) & ~openflow::kVlanPriorityMask) == 0,
                  "a priority of more than 3 bits");
  require_sayable(has_tag || (mask(openflow::kVlanPriority) == 0 && (vlan_mask == 0 || has_no_tag)),
                  "a part of a VLAN tag that may be missing");
}

void MatchWriter::add_protocol_names() {
  if (mask(openflow::kEthertype) == 0) return;
  type_is_named_ = true;
  switch (value(openflow::kEthertype)) {
    case kArpType:
      return add("arp");
    case kRarpType:
      return add("rarp");
    case kIpv6Type:
      return add("ipv6");
    case kMplsType:
      return add("mpls");
    case kMplsMulticastType:
      return add("mplsm");
    case kIpType:
      break;
    default:
      type_is_named_ = false;
      return;
  }
  protocol_is_named_ = mask(kProtocolPlace) != 0;
  switch (protocol_is_named_ ? value(kProtocolPlace) : 0) {
    case kIcmpProtocol:
      return add("icmp");
    case kTcpProtocol:
      return add("tcp");
    case kUdpProtocol:
      return add("udp");
    case kSctpProtocol:
      return add("sctp");
    default:
      break;
  }
  protocol_is_named_ = false;
  add("ip");
}

void MatchWriter::add_vlan() {
  const std::uint64_t vlan = value(openflow::kVlan), vlan_mask = mask(openflow::kVlan);
  const std::uint64_t priority = value(openflow::kVlanPriority), priority_mask = mask(openflow::kVlanPriority);
  if (vlan_mask == 0) return;
  if (vlan == openflow::kNoVlan) return add("vlan_tci=0x0000");
  const bool whole_vlan = vlan_mask == openflow::kVlan.ones(), any_vlan = vlan_mask == openflow::kTaggedMask;
  const bool whole_priority = priority_mask == openflow::kVlanPriorityMask;
  if ((whole_vlan || any_vlan) && (whole_priority || priority_mask == 0) && (whole_vlan || whole_priority)) {
    if (whole_vlan) add(fmt::format("dl_vlan={}", vlan));
    if (whole_priority) add(fmt::format("dl_vlan_pcp={}", priority));
    return;
  }
  constexpr std::uint64_t kTag = 0x1000, kVlanBits = 0x0FFF;
  add(fmt::format("vlan_tci=0x{:04x}/0x{:04x}", priority << 13 | kTag | vlan,
                  priority_mask << 13 | kTag | (vlan_mask & kVlanBits)));
}

void MatchWriter::add_mac(const char* name, Place place) {
  if (mask(place) == 0) return;
  std::string text = fmt::format("{}={}", name, to_string(MacAddress{value(place)}));
  if (mask(place) != place.ones()) text += "/" + to_string(MacAddress{mask(place)});
  add(text);
}

void MatchWriter::add_address(const char* name, Place place) {
  const auto bits = static_cast<std::uint32_t>(mask(place));
  if (bits == 0) return;
  std::string text = fmt::format("{}={}", name, to_string(Ipv4Address{static_cast<std::uint32_t>(value(place))}));
  if (!is_prefix_mask(bits, Ipv4::kBits)) {
    text += "/" + to_string(Ipv4Address{bits});
  } else if (bits != 0xFFFFFFFF) {
    text += fmt::format("/{}", std::popcount(bits));
  }
  add(text);
}

void MatchWriter::add_port(const char* name, const char* icmp_name, Place place) {
  if (mask(place) == 0) return;
  if (mask(place) != place.ones()) return add(fmt::format("{}=0x{:x}/0x{:x}", name, value(place), mask(place)));
  const bool is_icmp = has_layer(match_, FlowLayer::icmp) && value(place) <= 0xFF;
  add(fmt::format("{}={}", is_icmp ? icmp_name : name, value(place)));
}

std::string MatchWriter::write() {
  check();
  add_protocol_names();
  if (mask(openflow::kInPort) != 0) {
    add("in_port=" + flow_port_text(static_cast<std::uint16_t>(value(openflow::kInPort))));
  }
  add_vlan();
  add_mac("dl_src", openflow::kSourceMac);
  add_mac("dl_dst", openflow::kDestinationMac);
  if (mask(openflow::kEthertype) != 0 && !type_is_named_)
    add(fmt::format("dl_type=0x{:04x}", value(openflow::kEthertype)));
  const bool is_arp = has_layer(match_, FlowLayer::arp);
  add_address(is_arp ? "arp_spa" : "nw_src", openflow::kSource);
  add_address(is_arp ? "arp_tpa" : "nw_dst", openflow::kDestination);
  if (mask(kProtocolPlace) != 0 && !protocol_is_named_) {
    add(fmt::format("{}={}", is_arp ? "arp_op" : "nw_proto", value(kProtocolPlace)));
  }
  if (mask(kTosPlace) != 0) add(fmt::format("nw_tos={}", value(kTosPlace)));
  add_port("tp_src", "icmp_type", kSourcePortPlace);
  add_port("tp_dst", "icmp_code", kDestinationPortPlace);
  return text_;
}

}  // namespace

std::string flow_match_text(const RuleMatch& match) {
  return MatchWriter(match).write();
}

std::string flow_key_text(const RuleWords& key) {
  RuleMatch match;
  match.value = key;
  const auto say = [&](Place place, std::uint64_t mask) {
    if (place.get(key) != 0) place.set(match.mask, mask);
  };
  for (const Place place : {openflow::kSourceMac, openflow::kDestinationMac, openflow::kEthertype, openflow::kSource,
                            openflow::kDestination, kProtocolPlace, kSourcePortPlace, kDestinationPortPlace}) {
    say(place, place.ones());
  }
  say(kTosPlace, openflow::kTosMask);
  say(openflow::kVlanPriority, openflow::kVlanPriorityMask);
  openflow::kInPort.set(match.mask, openflow::kInPort.ones());  // Always named, because an empty line is no header.
  if (openflow::kVlan.get(key) != openflow::kNoVlan) openflow::kVlan.set(match.mask, openflow::kVlan.ones());
  return flow_match_text(match);
}

}  // namespace penumbra::control::rules
