// SPDX-License-Identifier: Apache-2.0
//
// Draws random actions for tests, and carries them out on the description of a frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/random.h"
#include "functions/megaflows/actions.h"
#include "packet/packet_key_testing.h"

namespace penumbra::megaflows::testing_support {

using namespace packet_fields::testing_support;
using packet_fields::all_bits;

/// Carries out an action other than an output.
inline void carry_out(FrameSpec& spec, const Action& action) {
  if (action.kind == Action::Kind::push_vlan) spec.tags.insert(spec.tags.begin(), {action.tpid, action.tci});
  if (action.kind == Action::Kind::pop_vlan && !spec.tags.empty()) spec.tags.erase(spec.tags.begin());
  if (action.kind != Action::Kind::set_field) return;
  const auto put = [&](auto& field) {
    using Value = std::remove_reference_t<decltype(field)>;
    field = static_cast<Value>((field & ~action.mask.low) | action.value.low);
  };
  const auto put_address = [&](Number& field) {
    field.high = (field.high & ~action.mask.high) | action.value.high;
    put(field.low);
  };
  const bool is_ipv4 = spec.type == ethertype::kIpv4, is_ipv6 = spec.type == ethertype::kIpv6;
  if (action.field == Field::eth_src) put(spec.eth_src);
  if (action.field == Field::eth_dst) put(spec.eth_dst);
  if (action.field == Field::nw_src && is_ipv4) put(spec.source.low);
  if (action.field == Field::nw_dst && is_ipv4) put(spec.destination.low);
  if (action.field == Field::ipv6_src && is_ipv6) put_address(spec.source);
  if (action.field == Field::ipv6_dst && is_ipv6) put_address(spec.destination);
  if (action.field == Field::ipv6_label && is_ipv6) put(spec.label);
  if (action.field == Field::nw_tos && spec.is_ip()) put(spec.tos);
  if (action.field == Field::nw_ttl && spec.is_ip()) put(spec.ttl);
  if (action.field == Field::tp_src && spec.has_ports()) put(spec.source_port);
  if (action.field == Field::tp_dst && spec.has_ports()) put(spec.destination_port);
}

/// Returns an action other than an output.
inline Action random_action(Random& random) {
  constexpr std::array kSet{Field::eth_src,  Field::eth_dst,  Field::nw_src,     Field::nw_dst,
                            Field::ipv6_src, Field::ipv6_dst, Field::ipv6_label, Field::nw_tos,
                            Field::nw_ttl,   Field::tp_src,   Field::tp_dst};
  Action action;
  if (random.below(5) == 0) {
    action.kind = Action::Kind::push_vlan;
    action.tpid = random.below(2) == 0 ? ethertype::kTag : ethertype::kServiceTag;
    action.tci = static_cast<std::uint16_t>(random.below(65536));
  } else if (random.below(5) == 0) {
    action.kind = Action::Kind::pop_vlan;
  } else {
    action.kind = Action::Kind::set_field;
    action.field = kSet.at(random.below(kSet.size()));
    action.mask = all_bits(place_of(action.field).bits);
    if (random.below(2) == 0) action.mask = {action.mask.high & random.next(), action.mask.low & random.next()};
    action.value = {action.mask.high & random.next(), action.mask.low & random.next()};
  }
  return action;
}

}  // namespace penumbra::megaflows::testing_support
