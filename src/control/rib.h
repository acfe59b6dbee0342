// SPDX-License-Identifier: Apache-2.0
//
// The routes that all sources tell of, merged: for each prefix the one that counts is worked out and reported.
//
// For one prefix counts: a direct route (the host's own addresses and connected networks), then the preferred source's,
// then the lowest metric, then the first in the source's order. (Linux knows several routes of one prefix and metric,
// in an order: `ip route append`.) A source that has lost touch tells everything anew between begin_sync() and
// end_sync(); what it does not tell again is withdrawn then, so that nothing is missing meanwhile.
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

/// Whose routes: the one with the lower number is preferred.
using RibSource = std::uint8_t;
inline constexpr RibSource kMaxRibSources = 8;

/// What has routes in an order: often just one.
template <class Prefix>
struct RibKey {
  Prefix prefix;
  RibSource source = 0;
  std::uint32_t metric = 0;
};

/// Where a route comes to stand among those of its key.
enum class RibPlace : std::uint8_t {
  only,           ///< in place of them
  first,          ///< before them
  last,           ///< after them
  replace_first,  ///< in place of the first
};

/// One thread at a time. Methods for prefixes exist for both families. Changes are reported by commit(), of one prefix
/// only the last; throws std::length_error for more than 65,535 routes of one key.
class Rib {
 public:
  using Spec = RibTargets::Spec;

  /// `listener` outlives it.
  explicit Rib(RouteListener& listener) : listener_(listener) {}
  Rib(const Rib&) = delete;
  Rib& operator=(const Rib&) = delete;

  /// Adds a route; one that leads there already moves to that place, but not to the last. In a synchronization routes
  /// are told in their order, and `place` says nothing unless it is `only`. Returns whether it was not there (in a
  /// synchronization: had not been told) before, or comes in place of itself.
  template <class Prefix>
  bool put(const RibKey<Prefix>& key, const Spec& spec, RibPlace place, bool direct = false);
  /// Takes out the route that leads there, or if there is only one that one: a source may tell of a next hop otherwise
  /// than before. Returns whether there was one.
  template <class Prefix>
  bool remove(const RibKey<Prefix>& key, const Spec& spec);
  /// Lets the route that leads to `before` lead to `after`. Returns whether there was one.
  template <class Prefix>
  bool retarget(const RibKey<Prefix>& key, const Spec& before, const Spec& after);
  /// Whether there is a route that leads there.
  template <class Prefix>
  bool contains(const RibKey<Prefix>& key, const Spec& spec) const;
  /// Where a key's routes lead, in their order.
  template <class Prefix>
  std::vector<FeedTarget> targets(const RibKey<Prefix>& key) const;

  /// Defines a next-hop object, or changes it with all routes that use it.
  void set_object(ObjectRef ref, ObjectContent content) { targets_.set_object(ref, std::move(content)); }
  /// Takes out the routes that use it with it.
  void remove_object(ObjectRef ref);
  /// The source's IPv4 routes, its IPv6 routes of several next hops and its objects lose the next hops for which
  /// `is_lost`; those that have no others go, but for IPv6 routes: that one of them goes the kernel says itself.
  void lose_hops(RibSource source, const RibTargets::IsLost& is_lost);
  /// Its objects with the routes that use them only.
  void lose_objects(RibSource source, const RibTargets::IsLost& is_lost);
  /// Forgets the source's objects, as of the last commit(); routes that use them stay and lead where they led then.
  void detach_objects(RibSource source);

  /// What the source tells until end_sync() is all it knows.
  void begin_sync(RibSource source);
  /// How many routes of the source have not been told again.
  std::size_t stale(RibSource source) const { return stale_[source]; }
  /// Withdraws what was not told.
  void end_sync(RibSource source);
  /// It could not tell everything: nothing is withdrawn.
  void cancel_sync(RibSource source) { syncing_[source] = false; }

  /// Reports what has changed.
  void commit();

  struct Row {
    const FeedTarget* target = nullptr;  ///< valid until the next change
    RibSource source = 0;
    bool direct = false;
    std::uint32_t metric = 0;
    std::optional<std::uint32_t> object_id;
    bool active = false;
  };
  /// The routes of a prefix, the best first.
  template <class Prefix>
  std::vector<Row> rows(Prefix prefix) const;
  /// All prefixes, sorted.
  template <class Prefix>
  std::vector<Prefix> prefixes() const;

  std::size_t routes() const { return ipv4_.table.size() + ipv6_.table.size(); }
  std::size_t different_targets() const { return targets_.size(); }

 private:
  template <class Prefix>
  struct Family {
    RibTable<Prefix> table;
    std::vector<Prefix> dirty;  ///< what commit() has to look at; the same one may stand there several times
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
