// SPDX-License-Identifier: Apache-2.0
#include "control/rib.h"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>

namespace penumbra::control {
namespace {

template <class Prefix>
bool counts_before(const RibEntry<Prefix>& a, const RibEntry<Prefix>& b) {
  const auto rank = [](const RibEntry<Prefix>& entry) {
    return std::tuple(!entry.direct, unsigned{entry.source}, entry.metric, entry.order);
  };
  return rank(a) < rank(b);
}

}  // namespace

/// Returns the present routes of the key, in their order.
template <class Prefix>
std::vector<RibEntry<Prefix>*> Rib::routes_of(const RibKey<Prefix>& key) {
  std::vector<RibEntry<Prefix>*> found;
  family(key.prefix).table.for_each(key.prefix, [&](RibEntry<Prefix>& entry) {
    if (entry.source == key.source && entry.metric == key.metric && !entry.removed) found.push_back(&entry);
  });
  if (found.size() > 1) std::ranges::sort(found, {}, [](const auto* entry) { return entry->order; });
  return found;
}

template <class Prefix>
void Rib::insert(const RibKey<Prefix>& key, RibTargets::Id target, std::size_t order, bool direct) {
  RibEntry<Prefix> entry;
  entry.address = key.prefix.address;
  entry.length = key.prefix.length;
  entry.metric = key.metric;
  entry.target = target;
  entry.source = key.source;
  entry.direct = direct;
  entry.order = static_cast<std::uint16_t>(order);
  auto& [table, dirty] = family(key.prefix);
  table.insert(entry);
  dirty.push_back(key.prefix);
}

/// Clears the stale mark of the entry.
template <class Prefix>
void Rib::unmark(RibEntry<Prefix>& entry) {
  if (!entry.stale) return;
  entry.stale = false;
  --stale_[entry.source];
}

/// Marks the entry as removed. It stays until settle() has reported its successor.
template <class Prefix>
void Rib::retire(Family<Prefix>& family, RibEntry<Prefix>& entry) {
  unmark(entry);
  entry.removed = true;
  family.dirty.push_back(entry.prefix());
}

template <class Prefix>
bool Rib::put(const RibKey<Prefix>& key, const Spec& spec, RibPlace place, bool direct) {
  auto& of_family = family(key.prefix);
  const auto routes = routes_of(key);
  if (routes.size() >= std::numeric_limits<std::uint16_t>::max()) {
    throw std::length_error("too many routes to " + to_string(key.prefix) + " of one metric");
  }
  const RibTargets::Id target = targets_.acquire(spec);
  const auto same = std::ranges::find(routes, target, &RibEntry<Prefix>::target);
  const bool syncing = syncing_[key.source];
  std::size_t order = 0;
  bool replaces_itself = false;
  if (!syncing) {  // Renumbering keeps the numbers small, however often routes come and go.
    for (std::size_t i = 0; i < routes.size(); ++i) routes[i]->order = static_cast<std::uint16_t>(i);
  }
  if (syncing && place != RibPlace::only) {
    order = static_cast<std::size_t>(std::ranges::count(routes, false, [](const auto* entry) { return entry->stale; }));
  } else if (place == RibPlace::first) {
    for (auto* const entry : routes) ++entry->order;
  } else if (place == RibPlace::last && !routes.empty()) {
    order = routes.size();
  } else if (place == RibPlace::replace_first && !routes.empty()) {
    order = routes.front()->order;
    replaces_itself = routes.front()->target == target;
    if (!replaces_itself) retire(of_family, *routes.front());
  } else if (place == RibPlace::only) {
    for (auto* const entry : routes) {
      if (entry->target != target) retire(of_family, *entry);
    }
  }
  if (same == routes.end()) {
    insert(key, target, order, direct);
    return true;
  }
  targets_.release(target);
  RibEntry<Prefix>& entry = **same;
  const bool reported_again = syncing && entry.stale;
  const bool moves = reported_again || (!syncing && place != RibPlace::last);
  if (entry.direct != direct || (moves && entry.order != order)) of_family.dirty.push_back(key.prefix);
  if (moves) entry.order = static_cast<std::uint16_t>(order);
  unmark(entry);
  entry.direct = direct;
  return reported_again || replaces_itself;
}

template <class Prefix>
bool Rib::remove(const RibKey<Prefix>& key, const Spec& spec) {
  const auto routes = routes_of(key);
  if (routes.empty()) return false;
  const auto target = targets_.find(spec);
  auto at = routes.end();
  if (target) at = std::ranges::find(routes, *target, &RibEntry<Prefix>::target);
  if (at == routes.end() && routes.size() == 1) at = routes.begin();
  if (at == routes.end()) return false;
  retire(family(key.prefix), **at);
  return true;
}

template <class Prefix>
bool Rib::retarget(const RibKey<Prefix>& key, const Spec& before, const Spec& after) {
  const auto target = targets_.find(before);
  if (!target) return false;
  const auto routes = routes_of(key);
  const auto at = std::ranges::find(routes, *target, &RibEntry<Prefix>::target);
  if (at == routes.end()) return false;
  retire(family(key.prefix), **at);
  insert(key, targets_.acquire(after), (*at)->order, (*at)->direct);
  return true;
}

template <class Prefix>
bool Rib::contains(const RibKey<Prefix>& key, const Spec& spec) const {
  const auto target = targets_.find(spec);
  bool found = false;
  family(key.prefix).table.for_each(key.prefix, [&](const RibEntry<Prefix>& entry) {
    found |= entry.source == key.source && entry.metric == key.metric && !entry.removed && entry.target == target;
  });
  return found;
}

template <class Prefix>
std::vector<FeedTarget> Rib::targets(const RibKey<Prefix>& key) const {
  std::vector<std::pair<std::uint16_t, RibTargets::Id>> ordered;
  family(key.prefix).table.for_each(key.prefix, [&](const RibEntry<Prefix>& entry) {
    if (entry.source == key.source && entry.metric == key.metric && !entry.removed) {
      ordered.emplace_back(entry.order, entry.target);
    }
  });
  std::ranges::sort(ordered);
  std::vector<FeedTarget> found;
  found.reserve(ordered.size());
  for (const auto& [order, target] : ordered) found.push_back(targets_.leads(target));
  return found;
}

template <class Visit>
void Rib::for_each_route(Visit&& visit) {
  const auto each = [&visit](auto& family) { family.table.for_each([&](auto& entry) { visit(family, entry); }); };
  each(ipv4_);
  each(ipv6_);
}

/// Removes the objects. Withdraws the routes that use one of the objects and those for which `is_lost` is true, in one
/// pass over the table.
template <class IsLost>
void Rib::withdraw(const std::vector<ObjectRef>& objects, IsLost&& is_lost) {
  std::vector<bool> removed;  // Flags by target.
  for (const ObjectRef ref : objects) {
    const auto target = targets_.find(ref);
    if (!targets_.remove_object(ref) || !target) continue;
    if (removed.size() <= *target) removed.resize(*target + std::size_t{1});
    removed[*target] = true;
  }
  for_each_route([&](auto& family, auto& entry) {
    if (entry.removed) return;
    if (is_lost(entry) || (entry.target < removed.size() && removed[entry.target])) retire(family, entry);
  });
}

void Rib::remove_object(ObjectRef ref) {
  const bool is_used = targets_.find(ref).has_value();
  if (is_used) return withdraw({ref}, [](const auto& /*entry*/) { return false; });
  targets_.remove_object(ref);
}

/// Replaces each route over a target in `lessened` by a route over the remaining hops.
template <class Prefix>
void Rib::lessen(Family<Prefix>& family, RibSource source, const std::map<RibTargets::Id, FeedTarget>& lessened) {
  struct Rest {
    RibEntry<Prefix> before;
    const FeedTarget* target;
  };
  std::vector<Rest> rests;
  family.table.for_each([&](RibEntry<Prefix>& entry) {
    if (entry.source != source || entry.removed) return;
    const auto found = lessened.find(entry.target);
    if (found == lessened.end()) return;
    if (!found->second.hops.empty()) rests.push_back({entry, &found->second});
    retire(family, entry);
  });
  for (const auto& [before, target] : rests) {
    const RibKey<Prefix> key{before.prefix(), source, before.metric};
    insert(key, targets_.acquire(*target), before.order, before.direct);
  }
}

void Rib::lose_hops(RibSource source, const RibTargets::IsLost& is_lost) {
  auto lessened = targets_.lessened(is_lost);
  if (!lessened.empty()) lessen(ipv4_, source, lessened);
  std::erase_if(lessened, [](const auto& rest) { return rest.second.hops.empty(); });
  if (!lessened.empty()) lessen(ipv6_, source, lessened);
  lose_objects(source, is_lost);
}

void Rib::lose_objects(RibSource source, const RibTargets::IsLost& is_lost) {
  const auto objects = targets_.lost(source, is_lost);
  if (!objects.empty()) withdraw(objects, [](const auto& /*entry*/) { return false; });
}

void Rib::detach_objects(RibSource source) {
  std::map<RibTargets::Id, RibTargets::Id> detached;
  for_each_route([&](auto& /*family*/, auto& entry) {
    if (entry.source != source || entry.removed || !targets_.object_id(entry.target)) return;
    const auto [at, fresh] = detached.try_emplace(entry.target, 0);
    if (fresh) {
      at->second = targets_.acquire(FeedTarget(targets_.leads(entry.target)));
    } else {
      targets_.acquire(at->second);
    }
    targets_.release(std::exchange(entry.target, at->second));
  });
  targets_.forget_objects(source);
}

void Rib::begin_sync(RibSource source) {
  syncing_[source] = true;
  targets_.begin_sync(source);
  for_each_route([&](auto& /*family*/, auto& entry) {
    if (entry.source != source || entry.removed || entry.stale) return;
    entry.stale = true;
    ++stale_[source];
  });
}

void Rib::end_sync(RibSource source) {
  syncing_[source] = false;
  withdraw(targets_.stale(source), [source](const auto& entry) { return entry.source == source && entry.stale; });
}

/// Reports the prefix's best route if its target differs from the announced one, or if `leads_elsewhere`. Then erases
/// the removed entries.
template <class Prefix, class LeadsElsewhere>
void Rib::settle(Family<Prefix>& family, Prefix prefix, const LeadsElsewhere& leads_elsewhere) {
  RibEntry<Prefix>* best = nullptr;
  RibEntry<Prefix>* announced = nullptr;
  bool removed = false;
  family.table.for_each(prefix, [&](RibEntry<Prefix>& entry) {
    if (entry.announced) announced = &entry;
    removed |= entry.removed;
    const bool counts = !entry.removed && targets_.is_known(entry.target);
    if (counts && (best == nullptr || counts_before(entry, *best))) best = &entry;
  });
  if (best != nullptr) {
    if (announced == nullptr || announced->target != best->target || leads_elsewhere(*announced)) {
      listener_.set_route(prefix, targets_.leads(best->target));
    }
  } else if (announced != nullptr) {
    listener_.remove_route(prefix);
  }
  if (announced != nullptr) announced->announced = false;
  if (best != nullptr) best->announced = true;
  if (!removed) return;
  family.table.erase(prefix, [this](const RibEntry<Prefix>& entry) {
    if (entry.removed) targets_.release(entry.target);
    return entry.removed;
  });
}

template <class Prefix>
void Rib::settle_all(Family<Prefix>& family, const std::vector<bool>& changed) {
  const auto is_changed = [&changed](const auto& entry) { return !changed.empty() && changed[entry.target]; };
  // A removed route is settled with the dirty prefixes: the current target of its object, which may be unreachable,
  // does not matter.
  std::vector<Prefix> moved;
  if (!changed.empty()) {
    family.table.for_each([&](const RibEntry<Prefix>& entry) {
      // An unannounced route may become eligible now that its object is known.
      if (!entry.removed && is_changed(entry)) (entry.announced ? moved : family.dirty).push_back(entry.prefix());
    });
  }
  for (const Prefix& prefix : moved) settle(family, prefix, is_changed);
  const auto is_replaced = [&](const auto& entry) { return entry.removed && is_changed(entry); };
  for (const Prefix& prefix : family.dirty) settle(family, prefix, is_replaced);
  family.dirty.clear();
}

void Rib::commit() {
  const std::vector<bool> changed = targets_.update();
  settle_all(ipv4_, changed);
  settle_all(ipv6_, changed);
  listener_.commit();
}

template <class Prefix>
std::vector<Rib::Row> Rib::rows(Prefix prefix) const {
  std::vector<RibEntry<Prefix>> entries;
  family(prefix).table.for_each(prefix, [&](const RibEntry<Prefix>& entry) {
    if (!entry.removed) entries.push_back(entry);
  });
  std::ranges::sort(entries, counts_before<Prefix>);
  std::vector<Row> rows;
  rows.reserve(entries.size());
  for (const auto& entry : entries) {
    rows.push_back({.target = &targets_.leads(entry.target),
                    .source = entry.source,
                    .direct = entry.direct,
                    .metric = entry.metric,
                    .object_id = targets_.object_id(entry.target),
                    .active = entry.announced});
  }
  return rows;
}

template <class Prefix>
std::vector<Prefix> Rib::prefixes() const {
  std::vector<Prefix> found;
  family(Prefix{}).table.for_each([&](const RibEntry<Prefix>& entry) {
    if (!entry.removed) found.push_back(entry.prefix());
  });
  std::ranges::sort(found);
  const auto [first, last] = std::ranges::unique(found);
  found.erase(first, last);
  return found;
}

template bool Rib::put(const RibKey<Ipv4Prefix>&, const Spec&, RibPlace, bool);
template bool Rib::put(const RibKey<Ipv6Prefix>&, const Spec&, RibPlace, bool);
template bool Rib::remove(const RibKey<Ipv4Prefix>&, const Spec&);
template bool Rib::remove(const RibKey<Ipv6Prefix>&, const Spec&);
template bool Rib::retarget(const RibKey<Ipv4Prefix>&, const Spec&, const Spec&);
template bool Rib::retarget(const RibKey<Ipv6Prefix>&, const Spec&, const Spec&);
template bool Rib::contains(const RibKey<Ipv4Prefix>&, const Spec&) const;
template bool Rib::contains(const RibKey<Ipv6Prefix>&, const Spec&) const;
template std::vector<FeedTarget> Rib::targets(const RibKey<Ipv4Prefix>&) const;
template std::vector<FeedTarget> Rib::targets(const RibKey<Ipv6Prefix>&) const;
template std::vector<Rib::Row> Rib::rows(Ipv4Prefix) const;
template std::vector<Rib::Row> Rib::rows(Ipv6Prefix) const;
template std::vector<Ipv4Prefix> Rib::prefixes() const;
template std::vector<Ipv6Prefix> Rib::prefixes() const;

}  // namespace penumbra::control
