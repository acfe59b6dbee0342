// SPDX-License-Identifier: Apache-2.0
//
// The request that moves SAs and a policy to other addresses at once (MOBIKE).
#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>
#include <vector>

#include "control/xfrm/manager.h"
#include "control/xfrm/manager_request.h"
#include "control/xfrm/migration.h"

namespace penumbra::control::xfrm {

void Manager::migrate(Request& request) {
  const Migration migration = read_migration(request.fixed<xfrm_userpolicy_id>(), request.attributes);
  Policy* const policy = spd_.find(migration.policy);
  require(policy != nullptr, ENOENT, "there is no such policy");
  std::vector<Template> templates = policy->templates;
  require(xfrm::migrate(migration, templates), ENODATA, "the policy has no template with the old ends");
  struct Moved {
    std::uint64_t number;
    SaSettings settings;
  };
  std::vector<Moved> moved;
  for (const auto& [number, sa] : sad_.all()) {
    SaSettings settings = sa.settings;
    if (!sa.larval && xfrm::migrate(migration, settings)) moved.push_back({number, std::move(settings)});
  }
  // Nothing changes unless everything can.
  std::set<std::pair<SaId, Mark>> ids;
  for (const Moved& each : moved) {
    const Sa* const there = sad_.find(each.settings.id, each.settings.mark.value & each.settings.mark.mask);
    const bool stays = there != nullptr &&
                       std::ranges::none_of(moved, [&](const Moved& other) { return other.number == there->number; });
    require(!stays && ids.insert({each.settings.id, each.settings.mark}).second, ENODATA,
            "an SA of the new destination has the SPI");
  }
  policy->templates = std::move(templates);
  MessageWriter(request.notify(XFRMNLGRP_MIGRATE)).migrated(migration, false);
  MessageWriter(request.notify(PENUMBRA_XFRM_GROUP_DATA_PLANE)).migrated(migration, true);
  request.outcome.notifications.back().renumbers_sas = !moved.empty();
  for (Moved& each : moved) {
    lend_first(sad_.move(*sad_.find(each.number), std::move(each.settings)), request.outcome);
  }
}

}  // namespace penumbra::control::xfrm
