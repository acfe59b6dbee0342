// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/packet_fields.h"
#include "control/rules/flow_fields.h"
#include "control/rules/openflow10.h"
#include "penumbra/rule.h"

namespace penumbra::gswitch::testing_support {

/// Returns the key of OpenFlow 1.0's fields that has the same values as a key of all fields.
inline RuleWords narrow(const SparseWords& key) {
  using packet_fields::Field;
  SparseMatch match;
  for (const Field field : {Field::in_port, Field::eth_src, Field::eth_dst, Field::eth_type, Field::vlan_tci}) {
    set(match.mask, field, packet_fields::all_bits(place_of(field).bits));
  }
  if (get(key, Field::eth_type).low != control::rules::kIpv6Type) {
    for (const Field field : {Field::nw_src, Field::nw_dst, Field::nw_proto, Field::tp_src, Field::tp_dst}) {
      set(match.mask, field, packet_fields::all_bits(place_of(field).bits));
    }
    set(match.mask, Field::nw_tos, {0, control::rules::kDscpBits});
  }
  for (std::size_t word = 0; word < key.size(); ++word) match.value[word] = key[word] & match.mask[word];
  return control::rules::openflow10(match).value().value;
}

}  // namespace penumbra::gswitch::testing_support
