// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/fib_state.h"

#include <algorithm>
#include <utility>

#include "functions/forwarding/families.h"

namespace penumbra::forwarding {

template <ForwardingFamily Family>
bool needs_address(const TargetOf<Family>& target) {
  return target.kind == FeedTarget::Kind::unicast &&
         std::any_of(target.hops.begin(), target.hops.end(),
                     [](const HopOf<Family>& hop) { return !hop.gateway && hop.port != HopOf<Family>::kHost; });
}

template <ForwardingFamily Family>
TargetOf<Family> for_address(TargetOf<Family> target, typename Family::Address address) {
  for (HopOf<Family>& hop : target.hops) {
    if (hop.gateway || hop.port == HopOf<Family>::kHost) continue;
    hop.gateway = address;
    hop.on_link = true;
  }
  return target;
}

template <ForwardingFamily Family>
SetId FibState<Family>::acquire(const Target& target) {
  make_room();
  return next_hops.acquire(target);
}

template <ForwardingFamily Family>
void FibState<Family>::make_room() {
  if (next_hops.has_room()) return;
  commit();
  next_hops.reclaim(true);
}

template <ForwardingFamily Family>
void FibState<Family>::commit() {
  table.commit();
  next_hops.retire();
  next_hops.reclaim(false);
}

template <ForwardingFamily Family>
typename FibState<Family>::Routes FibState<Family>::routes_of(Prefix prefix) const {
  if (const auto found = routes.find(prefix); found != routes.end()) return found->second;
  if (interfaces.contains(prefix)) return {};
  if (prefix.length == kHost && adjacencies.contains(prefix.address)) return {};
  const auto active = table.find(prefix);
  if (!active) return {};
  return {{.metric = usual_metric, .set = *active}};
}

/// Returns the active set of a prefix that has these routes.
template <ForwardingFamily Family>
std::optional<SetId> FibState<Family>::winner(Prefix prefix, const Routes& candidates) const {
  if (const auto found = interfaces.find(prefix); found != interfaces.end()) return found->second.set;
  if (!candidates.empty()) return candidates.front().set;
  if (prefix.length == kHost) {
    if (const auto found = adjacencies.find(prefix.address); found != adjacencies.end()) return found->second.set;
  }
  return std::nullopt;
}

template <ForwardingFamily Family>
bool FibState<Family>::table_remembers(Prefix prefix, std::uint32_t metric, std::uint32_t metric_of_table) const {
  return metric == metric_of_table && !interfaces.contains(prefix) &&
         (prefix.length != kHost || !adjacencies.contains(prefix.address));
}

template <ForwardingFamily Family>
void FibState<Family>::remember(Prefix prefix, Routes known) {
  if (known.empty() || (known.size() == 1 && table_remembers(prefix, known.front().metric, usual_metric))) {
    routes.erase(prefix);
  } else {
    routes.insert_or_assign(prefix, std::move(known));
  }
}

/// New adjacencies are added before their cover changes, and old adjacencies are removed
/// after that. So no packet takes the covering route when it should reach the neighbour.
template <ForwardingFamily Family>
void FibState<Family>::change_routes(Prefix prefix, Routes changed) {
  const Step step{prefix, table.find(prefix), winner(prefix, changed)};
  if (step.before == step.after) return remember(prefix, std::move(changed));
  std::vector<AdjacencyChange> adjacency_changes = plan_adjacencies(prefix, step.after);
  std::vector<Step> steps;
  for (const auto& change : adjacency_changes) {
    if (const auto adjacency = adjacency_step(change); adjacency && adjacency->after) steps.push_back(*adjacency);
  }
  steps.push_back(step);
  for (const auto& change : adjacency_changes) {
    if (const auto adjacency = adjacency_step(change); adjacency && !adjacency->after) steps.push_back(*adjacency);
  }
  try {
    take(steps);
  } catch (...) {
    for (const auto& change : adjacency_changes) {
      if (change.set) next_hops.release(*change.set);
    }
    throw;
  }
  for (const auto& change : adjacency_changes) settle(change);
  remember(prefix, std::move(changed));
}

/// Returns the changes of the adjacencies below `prefix` if the prefix leads to `after`. The new sets are acquired.
template <ForwardingFamily Family>
std::vector<typename FibState<Family>::AdjacencyChange> FibState<Family>::plan_adjacencies(Prefix prefix,
                                                                                           std::optional<SetId> after) {
  std::vector<AdjacencyChange> changes;
  if (prefix.length == kHost) return changes;
  std::optional<std::pair<int, std::optional<SetId>>>
      cover;  // the same for all adjacencies whose cover `prefix` is or was
  if (after) cover = {prefix.length, after};
  try {
    const Address last = prefix.last();
    for (auto at = adjacencies.lower_bound(prefix.address); at != adjacencies.end() && at->first <= last; ++at) {
      if (at->second.cover > prefix.length) continue;
      if (!cover) cover = cover_of(prefix.address, prefix.length - 1);
      changes.push_back({at, cover->first, std::nullopt});
      changes.back().set = acquire_adjacency(at->first, at->second, cover->second);
    }
  } catch (...) {
    for (const auto& change : changes) {
      if (change.set) next_hops.release(*change.set);
    }
    throw;
  }
  return changes;
}

template <ForwardingFamily Family>
std::pair<int, std::optional<SetId>> FibState<Family>::cover_of(Address address, int longest) const {
  for (int length = longest; length >= 0; --length) {
    const Prefix prefix = Prefix::around(address, static_cast<std::uint8_t>(length));
    if (const auto found = table.find(prefix)) return {length, found};
  }
  return {-1, std::nullopt};
}

/// Returns the cover's target with the address as gateway of hops without one. Returns std::nullopt if no such hop
/// leads to the known neighbour.
template <ForwardingFamily Family>
std::optional<TargetOf<Family>> FibState<Family>::adjacency_target(Address address, const Adjacency& adjacency,
                                                                   SetId cover) const {
  const Target& target = next_hops.target(cover);
  if (target.kind != Target::Kind::unicast) return std::nullopt;
  const auto reaches_neighbour = [&](const Hop& hop) { return !hop.gateway && adjacency.ports.contains(hop.port); };
  if (std::none_of(target.hops.begin(), target.hops.end(), reaches_neighbour)) return std::nullopt;
  return for_address<Family>(target, address);
}

template <ForwardingFamily Family>
std::optional<SetId> FibState<Family>::acquire_adjacency(Address address, const Adjacency& adjacency,
                                                         std::optional<SetId> cover) {
  if (!cover) return std::nullopt;
  const auto target = adjacency_target(address, adjacency, *cover);
  return target ? std::optional(acquire(*target)) : std::nullopt;
}

/// Returns the step of the look-up table for this change. Returns std::nullopt if a route or an address of the router
/// has priority at the address.
template <ForwardingFamily Family>
std::optional<typename FibState<Family>::Step> FibState<Family>::adjacency_step(const AdjacencyChange& change) const {
  const Prefix host{change.at->first, kHost};
  if (change.set == change.at->second.set || interfaces.contains(host) || routes.contains(host)) return std::nullopt;
  return Step{host, change.at->second.set, change.set};
}

/// Applies all steps or none.
template <ForwardingFamily Family>
void FibState<Family>::take(std::span<const Step> steps) {
  std::size_t taken = 0;
  try {
    for (; taken < steps.size(); ++taken) enter(steps[taken].prefix, steps[taken].after);
  } catch (...) {
    while (taken-- > 0) enter(steps[taken].prefix, steps[taken].before);
    throw;
  }
}

template <ForwardingFamily Family>
void FibState<Family>::enter(Prefix prefix, std::optional<SetId> set) {
  if (set) {
    table.insert(prefix, *set);
  } else {
    table.remove(prefix);
  }
}

template <ForwardingFamily Family>
void FibState<Family>::apply_adjacency(const AdjacencyChange& change) {
  try {
    if (const auto step = adjacency_step(change)) take({&*step, 1});
  } catch (...) {
    if (change.set) next_hops.release(*change.set);
    throw;
  }
}

template <ForwardingFamily Family>
void FibState<Family>::settle(const AdjacencyChange& change) {
  change.at->second.cover = change.cover;
  if (const auto old = std::exchange(change.at->second.set, change.set)) next_hops.release(*old);
}

#define INSTANTIATE(Family)                                     \
  template struct FibState<Family>;                             \
  template bool needs_address<Family>(const TargetOf<Family>&); \
  template TargetOf<Family> for_address<Family>(TargetOf<Family>, Family::Address);
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
