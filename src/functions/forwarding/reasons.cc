// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/reasons.h"

#include <algorithm>
#include <utility>

namespace penumbra::forwarding {

Reasons with_looked_up(std::vector<Reason> before, const std::string& hops_used_up, const std::string& limit,
                       const std::string& too_long) {
  constexpr auto kDrop = Verdict::Kind::drop;
  constexpr auto kPunt = Verdict::Kind::punt;
  const std::vector<Reason> behind{
      {"local", kPunt, "to an address of this router"},
      {"no_route", kDrop, "no route to the destination"},
      {"blackhole", kDrop, "a blackhole route"},
      {"unreachable", kDrop, "an unreachable route"},
      {"unreachable_by_host", kPunt, "an unreachable or prohibit route of the host's, which tells the sender"},
      {"via_host", kPunt,
       "the route leads to an interface of the host that is no port's, or by a gateway of the other family"},
      {hops_used_up, kPunt, limit + " used up"},
      {"unknown_neighbour", kPunt, "the next hop's MAC address is not known"},
      {too_long, kPunt, "longer than the egress port's MTU"},
  };
  before.insert(before.end(), behind.begin(), behind.end());
  Reasons reasons{before, std::move(before)};
  std::ranges::find(reasons.beside_host, "no_route", &Reason::name)->kind = kPunt;
  return reasons;
}

}  // namespace penumbra::forwarding
