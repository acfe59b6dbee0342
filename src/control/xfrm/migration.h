// SPDX-License-Identifier: Apache-2.0
//
// Moves SAs and the templates of a policy to other addresses (XFRM_MSG_MIGRATE), as the keeper and the data plane do.
#pragma once

#include <linux/xfrm.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "control/xfrm/attributes.h"
#include "control/xfrm/model.h"
#include "control/xfrm/spd.h"

namespace penumbra::control::xfrm {

/// The ends before and after. Several moves of a request apply one after the other, as in Linux.
struct Move {
  Address old_destination, old_source, new_destination, new_source;
  std::uint16_t old_family = 0, new_family = 0;
  std::uint8_t protocol = 0;
  Mode mode = Mode::tunnel;
  std::uint32_t request = 0;  ///< reqid; 0: any.
};

struct Migration {
  PolicyKey policy;
  std::vector<Move> moves;  ///< At least one.
  std::optional<Encapsulation> encapsulation;
  std::optional<xfrm_user_kmaddress> ike;  ///< Addresses of the daemons, which listeners get.
};

/// Reads a request. Throws Refused with EINVAL as Linux does.
Migration read_migration(const xfrm_userpolicy_id& raw, const Attributes& attributes);
/// Moves an SA, and returns false if no move is for it.
bool migrate(const Migration& migration, SaSettings& sa);
/// Moves templates, and returns false if no move is for one. As in Linux, the ends of a template in transport mode
/// stay.
bool migrate(const Migration& migration, std::vector<Template>& templates);

xfrm_user_migrate raw_move(const Move& move);

}  // namespace penumbra::control::xfrm
