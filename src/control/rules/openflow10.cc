// SPDX-License-Identifier: Apache-2.0
#include "control/rules/openflow10.h"

#include <algorithm>
#include <array>

#include "base/packet_fields.h"
#include "control/rules/flow_fields.h"

namespace penumbra::control::rules {
namespace {

using packet_fields::Field;
using packet_fields::kTagPresent;

/// Fields that both kinds of keys have. The VLAN and its priority are apart, because they are coded in another way.
struct SharedField {
  Field field;
  Place place;
};
constexpr std::array<SharedField, 10> kShared{{{Field::in_port, openflow::kInPort},
                                               {Field::eth_src, openflow::kSourceMac},
                                               {Field::eth_dst, openflow::kDestinationMac},
                                               {Field::eth_type, openflow::kEthertype},
                                               {Field::nw_src, openflow::kSource},
                                               {Field::nw_dst, openflow::kDestination},
                                               {Field::nw_proto, protocol_place(RuleFields::openflow)},
                                               {Field::nw_tos, kTosPlace},
                                               {Field::tp_src, source_port_place(RuleFields::openflow)},
                                               {Field::tp_dst, destination_port_place(RuleFields::openflow)}}};

/// A tag that is there, with any VLAN and priority.
constexpr bool has_tag(std::uint64_t vlan, std::uint64_t vlan_mask) {
  return (vlan_mask & openflow::kTaggedMask) == openflow::kTaggedMask && (vlan & openflow::kTaggedMask) == 0;
}

}  // namespace

std::optional<RuleMatch> openflow10(const SparseMatch& match) {
  RuleMatch narrow;
  SparseWords others = match.mask;
  for (const auto& [field, place] : kShared) {
    place.set(narrow.value, get(match.value, field).low);
    place.set(narrow.mask, get(match.mask, field).low);
    set(others, field, {});
  }
  const std::uint64_t tci = get(match.value, Field::vlan_tci).low, tci_mask = get(match.mask, Field::vlan_tci).low;
  set(others, Field::vlan_tci, {});
  if (others != SparseWords{} || (kTosPlace.get(narrow.mask) & kEcnBits) != 0) return std::nullopt;
  const bool has_ip_fields = narrow.mask[kRuleWords - 1] != 0;
  if (has_ip_fields && kind_of(match).ethertype == kIpv6Type) return std::nullopt;
  if (tci_mask == 0) return narrow;
  if ((tci_mask & kTagPresent) == 0) return std::nullopt;
  const bool is_tagged = (tci & kTagPresent) != 0;
  openflow::kVlan.set(narrow.value, is_tagged ? tci & kVlanBits : openflow::kNoVlan);
  openflow::kVlan.set(narrow.mask, is_tagged ? openflow::kTaggedMask | (tci_mask & kVlanBits) : openflow::kNoVlan);
  if (!is_tagged) return narrow;
  openflow::kVlanPriority.set(narrow.value, tci >> kTciPriorityShift);
  openflow::kVlanPriority.set(narrow.mask, tci_mask >> kTciPriorityShift);
  return narrow;
}

SparseMatch from_openflow10(const RuleMatch& match) {
  require_sayable(!match.has_ranges(), "ranges of ports");
  SparseMatch sparse;
  RuleWords others = match.mask;
  for (const auto& [field, place] : kShared) {
    set(sparse.mask, field, {0, place.get(match.mask)});
    set(sparse.value, field, {0, place.get(match.value) & place.get(match.mask)});
    place.set(others, 0);
  }
  const std::uint64_t vlan = openflow::kVlan.get(match.value), vlan_mask = openflow::kVlan.get(match.mask);
  const std::uint64_t priority_mask = openflow::kVlanPriority.get(match.mask);
  openflow::kVlan.set(others, 0);
  openflow::kVlanPriority.set(others, 0);
  require_sayable(others == RuleWords{}, "bits that are no field's");
  require_sayable((priority_mask & ~openflow::kVlanPriorityMask) == 0, "a priority of more than 3 bits");
  if (vlan_mask == openflow::kVlan.ones() && vlan == openflow::kNoVlan && priority_mask == 0) {
    set(sparse.mask, Field::vlan_tci, {0, kWholeTci});
    return sparse;
  }
  const bool is_tagged = has_tag(vlan, vlan_mask);
  require_sayable(is_tagged || (vlan_mask | priority_mask) == 0, "a part of a VLAN tag that may be missing");
  if (!is_tagged) return sparse;
  const std::uint64_t mask = priority_mask << kTciPriorityShift | kTagPresent | (vlan_mask & kVlanBits);
  const std::uint64_t priority = openflow::kVlanPriority.get(match.value);
  set(sparse.mask, Field::vlan_tci, {0, mask});
  set(sparse.value, Field::vlan_tci, {0, (priority << kTciPriorityShift | kTagPresent | vlan) & mask});
  return sparse;
}

}  // namespace penumbra::control::rules
