// SPDX-License-Identifier: Apache-2.0
//
// The reasons of the function, by their places in the RFCs.
#pragma once

#include <cstdint>
#include <vector>

#include "penumbra/function.h"

namespace penumbra::ipsec {

enum class Why : std::uint16_t {
  no_policy_state,
  malformed,
  no_sa,
  wrong_encapsulation,
  cut,
  late,
  replayed,
  bad_icv,
  bad_pad,
  bad_inner,
  dummy,
  bad_ecn,
  policy_mismatch,
  discarded,
  expired_hard,
  fragment_wanted,
  keepalive,
  no_outbound_sa,
  seq_exhausted,
  not_transportable,
  too_long,
  ttl_expired,
  fragmented,
  packet_too_big,
  no_tunnel_policy,
  tunnel_loop,
  no_memory,
  ike,
};

/// Returns the reasons, in the order of Why.
const std::vector<Reason>& reasons_of_ipsec();

}  // namespace penumbra::ipsec
