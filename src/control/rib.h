// SPDX-License-Identifier: Apache-2.0
//
// Merges the routes of all sources. For each prefix, the RIB selects the active route and reports it.
//
// The order of preference is: a direct route (a local address or connected network), the preferred source, the lowest
// metric, the first in the source's order. (Linux keeps several routes of one prefix and metric in an order: `ip route
// append`.) A source that may have missed changes reports everything again between begin_sync() and end_sync(). Routes
// that it does not report again are withdrawn only at the end, so that forwarding has no gap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "control/rib_table.h"
#include "control/rib_targets.h"
#include "penumbra/ip.h"
#include "penumbra/route_feed.h"

namespace penumbra::control {

/// Identifies a route source. The lower number is preferred.
using RibSource = std::uint8_t;
inline constexpr RibSource kMaxRibSources = 8;

/// Identifies an ordered list of routes, which often has one element.
template <class Prefix>
struct RibKey {
  Prefix prefix;
  RibSource source = 0;
  std::uint32_t metric = 0;
};

/// Selects the position of a new route among the routes of its key.
enum class RibPlace : std::uint8_t {
  only,           ///< Replaces them.
  first,          ///< Before them.
  last,           ///< After them.
  replace_first,  ///< Replaces the first.
};

/// Merges the routes of all sources. One thread at a time may use it. Methods with a prefix exist for both families.
/// commit() reports changes, of each prefix only the final state. Throws std::length_error for more than 65,535 routes
/// of one key.
class Rib {
 public:
  using Spec = RibTargets::Spec;

  /// `listener` must outlive the RIB.
  explicit Rib(RouteListener& listener) : listener_(listener) {}
  Rib(const Rib&) = delete;
  Rib& operator=(const Rib&) = delete;

  /// Adds a route, or moves an existing route with the same target to `place`; RibPlace::last does not move it. During
  /// a synchronization the source reports routes in order, and `place` has an effect only if it is `only`. Returns true
  /// if the route is new (during a synchronization: not yet reported) or replaces itself.
  template <class Prefix>
  bool put(const RibKey<Prefix>& key, const Spec& spec, RibPlace place, bool direct = false);
  /// Removes the route that leads to `spec`. If the key has a single route, removes it regardless of its target,
  /// because a source may describe a next hop in different ways. Returns true if a route was removed.
  template <class Prefix>
  bool remove(const RibKey<Prefix>& key, const Spec& spec);
  /// Changes the target of the route that leads to `before` to `after`. Returns true if there was such a route.
  template <class Prefix>
  bool retarget(const RibKey<Prefix>& key, const Spec& before, const Spec& after);
  /// Returns true if there is a route that leads to `spec`.
  template <class Prefix>
  bool contains(const RibKey<Prefix>& key, const Spec& spec) const;
  /// Returns the targets of a key's routes, in their order.
  template <class Prefix>
  std::vector<FeedTarget> targets(const RibKey<Prefix>& key) const;

  /// Defines a next-hop object, or changes it together with all routes that use it.
  void set_object(ObjectRef ref, ObjectContent content) { targets_.set_object(ref, std::move(content)); }
  /// Removes the object and the routes that use it.
  void remove_object(ObjectRef ref);
  /// Removes lost next hops from the source's routes and removes its next-hop objects with a lost hop. An IPv4 route
  /// without remaining hops is withdrawn. An IPv6 route without remaining hops stays, because the kernel reports its
  /// removal itself.
  void lose_hops(RibSource source, const RibTargets::IsLost& is_lost);
  /// Removes only the source's objects with a lost hop, and the routes that use them.
  void lose_objects(RibSource source, const RibTargets::IsLost& is_lost);
  /// Forgets the source's objects. Routes that use them stay and keep the targets of the last commit().
  void detach_objects(RibSource source);

  /// Begins a synchronization: until end_sync() the source reports all that it knows.
  void begin_sync(RibSource source);
  /// Returns the number of the source's routes that were not reported again.
  std::size_t stale(RibSource source) const { return stale_[source]; }
  /// Ends the synchronization and withdraws the routes and objects that were not reported again.
  void end_sync(RibSource source);
  /// Ends an incomplete synchronization without withdrawing routes.
  void cancel_sync(RibSource source) { syncing_[source] = false; }

  /// Reports the changes since the last commit().
  void commit();

  struct Row {
    const FeedTarget* target = nullptr;  ///< Valid until the next change.
    RibSource source = 0;
    bool direct = false;
    std::uint32_t metric = 0;
    std::optional<std::uint32_t> object_id;
    bool active = false;
  };
  /// Returns the routes of a prefix, the best first.
  template <class Prefix>
  std::vector<Row> rows(Prefix prefix) const;
  /// Returns all prefixes, sorted.
  template <class Prefix>
  std::vector<Prefix> prefixes() const;

  std::size_t routes() const { return ipv4_.table.size() + ipv6_.table.size(); }
  std::size_t different_targets() const { return targets_.size(); }

 private:
  template <class Prefix>
  struct Family {
    RibTable<Prefix> table;
    std::vector<Prefix> dirty;  ///< Prefixes for commit() to examine, possibly with duplicates.
  };
  Family<Ipv4Prefix>& family(Ipv4Prefix /*prefix*/) { return ipv4_; }
  Family<Ipv6Prefix>& family(Ipv6Prefix /*prefix*/) { return ipv6_; }
  const Family<Ipv4Prefix>& family(Ipv4Prefix /*prefix*/) const { return ipv4_; }
  const Family<Ipv6Prefix>& family(Ipv6Prefix /*prefix*/) const { return ipv6_; }

  template <class Prefix>
  std::vector<RibEntry<Prefix>*> routes_of(const RibKey<Prefix>& key);
  template <class Prefix>
  void insert(const RibKey<Prefix>& key, RibTargets::Id target, std::size_t order, bool direct);
  template <class Prefix>
  void retire(Family<Prefix>& family, RibEntry<Prefix>& entry);
  template <class Prefix>
  void unmark(RibEntry<Prefix>& entry);
  template <class Prefix, class LeadsElsewhere>
  void settle(Family<Prefix>& family, Prefix prefix, const LeadsElsewhere& leads_elsewhere);
  template <class Prefix>
  void settle_all(Family<Prefix>& family, const std::vector<bool>& changed);
  template <class Prefix>
  void lessen(Family<Prefix>& family, RibSource source, const std::map<RibTargets::Id, FeedTarget>& lessened);
  template <class Visit>
  void for_each_route(Visit&& visit);
  template <class IsLost>
  void withdraw(const std::vector<ObjectRef>& objects, IsLost&& is_lost);

  RouteListener& listener_;
  RibTargets targets_;
  Family<Ipv4Prefix> ipv4_;
  Family<Ipv6Prefix> ipv6_;
  std::array<bool, kMaxRibSources> syncing_{};
  std::array<std::size_t, kMaxRibSources> stale_{};
};

}  // namespace penumbra::control
