// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "penumbra/function.h"

namespace penumbra::ndn {

/// Lists the reasons why a packet is not sent, in the order of their indices.
enum class Outcome : std::uint8_t {
  runt,
  wrong_mac,
  not_ndn,
  unknown_face,
  segmented,
  truncated,
  bad_checksum,
  malformed,
  unknown_type,
  unknown_lp_field,
  fragmented,
  idle,
  localhost,
  no_pit_token,
  bad_pit_token,
  hop_limit_used_up,
  no_route,
  long_pit_token,
  too_long,
  no_headroom,
};

const std::vector<Reason>& outcome_reasons();

}  // namespace penumbra::ndn
