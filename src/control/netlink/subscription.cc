// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/subscription.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace penumbra::control::netlink {
namespace {

constexpr RibSource kLocalTable = 0;
constexpr RibSource kStatic = 1;

std::uint16_t to_weight(std::uint32_t weight) {
  return static_cast<std::uint16_t>(std::clamp<std::uint32_t>(weight, 1, std::numeric_limits<std::uint16_t>::max()));
}

/// Translates a hop. A hop over a twin leads out of its port. A hop over another interface, or with an encapsulation,
/// leads to the host.
FeedHop to_hop(const HopMessage& message, const Links& links) {
  FeedHop hop;
  hop.gateway = message.gateway;
  hop.weight = to_weight(message.weight);
  const Link* const link = links.find(message.interface);
  if (link == nullptr) return hop;
  if (link->port && !message.encapsulated) {
    hop.port = *link->port;
  } else {
    hop.interface = link->name;
  }
  return hop;
}

bool leads_over(const FeedHop& hop, const Link& link) {
  return (link.port && hop.port == *link.port) || hop.interface == link.name;
}

/// Returns the target of a route or object with these next hops, or nothing if all are dead.
std::optional<FeedTarget> to_target(const std::vector<HopMessage>& hops, const Links& links) {
  FeedTarget target;
  for (const HopMessage& hop : hops) {
    if (!hop.dead) target.hops.push_back(to_hop(hop, links));
  }
  if (target.hops.empty()) return std::nullopt;
  std::ranges::sort(target.hops);
  return target;
}

/// Returns a route's target, or nothing if its type has no effect on forwarding.
std::optional<FeedTarget> to_target(const RouteMessage& route, const Links& links) {
  using Kind = FeedTarget::Kind;
  switch (route.type) {
    case RTN_UNICAST:
      return to_target(route.hops, links);
    case RTN_LOCAL:
    case RTN_ANYCAST:
    case RTN_BROADCAST: {
      FeedTarget target{.kind = route.type == RTN_BROADCAST ? Kind::broadcast : Kind::local, .hops = {}};
      for (const HopMessage& hop : route.hops) target.hops.push_back(to_hop(hop, links));
      return target;
    }
    case RTN_BLACKHOLE:
      return FeedTarget{.kind = Kind::blackhole, .hops = {}};
    case RTN_UNREACHABLE:
    case RTN_PROHIBIT:
    case RTN_THROW:  // There is no further table in which the kernel could continue the lookup.
      return FeedTarget{.kind = Kind::unreachable, .hops = {}};
    default:
      return std::nullopt;
  }
}

bool has_gateways(const FeedTarget& target) {
  return std::ranges::all_of(target.hops, [](const FeedHop& hop) { return hop.gateway.index() != 0; });
}

bool shares_hops(const FeedTarget& a, const FeedTarget& b) {
  return std::ranges::any_of(a.hops, [&b](const FeedHop& hop) { return std::ranges::count(b.hops, hop) > 0; });
}

}  // namespace

Subscription::Subscription(const FeedRequest& request, RouteListener& listener)
    : listener_(listener),
      table_(parse_table(request.table)),
      wants_ipv4_(request.wants_ipv4),
      wants_ipv6_(request.wants_ipv6),
      sources_{"local", "static"},
      rib_(listener) {
  for (const auto& name : request.follow) {
    const auto source = static_cast<RibSource>(sources_.size());
    if (name == "kernel") kernel_ = source;
    if (name == "fpm") fpm_ = source;
    sources_.push_back(name);
  }
  follows_kernel_ = kernel_ != 0;
  if (!follows_kernel_) {
    kernel_ = static_cast<RibSource>(sources_.size());
    sources_.emplace_back("kernel");
  }
  replace_own(request);
}

void Subscription::replace_own(const FeedRequest& request) {
  const std::lock_guard lock(mutex_);
  rib_.begin_sync(kStatic);
  try {
    const auto put_all = [&](const auto& routes) {
      for (const auto& route : routes) {
        rib_.put(RibKey{route.prefix, kStatic, route.metric}, request.targets.at(route.target), RibPlace::only);
      }
    };
    put_all(request.routes);
    put_all(request.ipv6_routes);
  } catch (...) {
    rib_.cancel_sync(kStatic);
    throw;
  }
  rib_.end_sync(kStatic);
  rib_.commit();
}

void Subscription::change_own(const FeedRequest& request) {
  const std::lock_guard lock(mutex_);
  const auto change_all = [&](const auto& routes) {
    for (const auto& route : routes) {
      const RibKey key{route.prefix, kStatic, route.metric};
      if (route.target == FeedRequest::kNoTarget) {
        // A key of this source has one route, which remove() removes regardless of the target.
        rib_.remove(key, FeedTarget{});
      } else {
        rib_.put(key, request.targets.at(route.target), RibPlace::only);
      }
    }
  };
  change_all(request.routes);
  change_all(request.ipv6_routes);
  rib_.commit();
}

bool Subscription::is_wanted(const RouteMessage& route) const {
  return std::holds_alternative<Ipv4Prefix>(route.prefix) ? wants_ipv4_ : wants_ipv6_;
}

bool Subscription::is_followed(std::uint32_t table, const Links& links) const {
  const auto* const vrf = std::get_if<std::string>(&table_);
  return (vrf == nullptr ? std::get<std::uint32_t>(table_) : links.vrf_table(*vrf)) == table;
}

/// Returns the RIB source of a kernel route, or nothing if the route is not followed.
std::optional<RibSource> Subscription::source_of(const RouteMessage& route, bool direct, const Links& links) const {
  if (route.table == RT_TABLE_LOCAL && !std::holds_alternative<std::string>(table_)) return kLocalTable;
  if (!is_followed(route.table, links) || (!follows_kernel_ && !direct)) return std::nullopt;
  return kernel_;
}

bool Subscription::Batch::apply(const RouteMessage& route, unsigned flags, const Links& links) {
  Subscription& self = subscription_;
  const bool own = route.type == RTN_LOCAL || route.type == RTN_BROADCAST || route.type == RTN_ANYCAST;
  const bool direct = own || (route.protocol == RTPROT_KERNEL && route.type == RTN_UNICAST);
  const auto source = self.source_of(route, direct, links);
  if (!source || !self.is_wanted(route) || route.cloned || route.tos != 0) return false;
  auto target = to_target(route, links);
  // The host looks up punted packets in its table main.
  if (route.table == RT_TABLE_MAIN && target && target->kind == FeedTarget::Kind::unreachable) {
    target->kind = FeedTarget::Kind::unreachable_by_host;
  }
  Rib::Spec spec;
  if (route.object) {
    spec = ObjectRef{self.kernel_, *route.object};
  } else if (target) {
    spec = *target;
  } else {
    return false;
  }
  return std::visit(
      [&](auto prefix) {
        return self.apply_route(RibKey{prefix, *source, route.metric}, spec, route.removed, flags, direct);
      },
      route.prefix);
}

/// The client's copies of kernel routes are ignored, because the client does not report changes of such routes.
void Subscription::Batch::apply_fpm(const RouteMessage& route, const Links& links) {
  Subscription& self = subscription_;
  if (!self.fpm_ || !self.is_wanted(route) || !self.is_followed(route.table, links) || route.tos != 0) return;
  const bool kernels = route.protocol == RTPROT_KERNEL;
  const auto target = to_target(route, links);
  const bool gone = route.removed || kernels || (!route.object && !target);
  std::visit(
      [&](auto prefix) {
        const RibKey key{prefix, *self.fpm_, 0};
        if (gone) {
          self.rib_.remove(key, FeedTarget{});
        } else if (route.object) {
          self.rib_.put(key, ObjectRef{*self.fpm_, *route.object}, RibPlace::only);
        } else {
          self.rib_.put(key, *target, RibPlace::only);
        }
      },
      route.prefix);
}

/// IPv4: NLM_F_REPLACE replaces the first route, NLM_F_APPEND adds the route at the end, otherwise it becomes the
/// first.
bool Subscription::apply_route(const RibKey<Ipv4Prefix>& key, const Rib::Spec& spec, bool removed, unsigned flags,
                               bool direct) {
  if (removed) {
    rib_.remove(key, spec);
    return doubled_.erase({key.prefix, key.metric}) > 0;
  }
  auto place = RibPlace::first;
  if ((flags & NLM_F_APPEND) != 0) place = RibPlace::last;
  if ((flags & NLM_F_REPLACE) != 0) place = RibPlace::replace_first;
  // When an object changes, the kernel also reports each of its routes, as if each were the first.
  const bool by_object = std::holds_alternative<ObjectRef>(spec);
  if (place == RibPlace::replace_first && by_object && rib_.contains(key, spec)) return false;
  if (!rib_.put(key, spec, place, direct)) doubled_.emplace(key.prefix, key.metric);
  return false;
}

/// IPv6: routes with gateways and the same prefix and metric form one multipath route. The kernel reports the whole
/// route when a hop is added, but only the hop when one is removed. Any other route is separate, and a new one is the
/// last.
bool Subscription::apply_route(const RibKey<Ipv6Prefix>& key, const Rib::Spec& spec, bool removed, unsigned flags,
                               bool direct) {
  const auto* const target = std::get_if<FeedTarget>(&spec);
  const bool shared = target != nullptr && target->kind == FeedTarget::Kind::unicast && has_gateways(*target);
  const auto known = rib_.targets(key);
  if (removed) {
    for (const FeedTarget& whole : known) {
      if (!shared || whole == *target || !has_gateways(whole) || !shares_hops(whole, *target)) continue;
      FeedTarget rest = whole;
      std::erase_if(rest.hops, [&](const FeedHop& hop) { return std::ranges::count(target->hops, hop) > 0; });
      if (!rest.hops.empty() && rib_.retarget(key, whole, rest)) return false;
    }
    rib_.remove(key, spec);
    return false;
  }
  if ((flags & NLM_F_REPLACE) == 0) {
    for (const FeedTarget& before : known) {
      if (!shared || before == *target || !has_gateways(before) || !shares_hops(before, *target)) continue;
      if (rib_.retarget(key, before, spec)) return false;
    }
    rib_.put(key, spec, RibPlace::last, direct);
    return false;
  }
  // Replaces the first route of its kind. If there is none, replaces the first route.
  const auto alike = std::ranges::find_if(known, [&](const FeedTarget& before) {
    return (before.kind == FeedTarget::Kind::unicast && has_gateways(before)) == shared;
  });
  if (alike != known.end() && rib_.retarget(key, *alike, spec)) return false;
  rib_.put(key, spec, RibPlace::replace_first, direct);
  return false;
}

void Subscription::Batch::apply(const ObjectMessage& object, const Links& links, RouteSource origin) {
  Subscription& self = subscription_;
  const auto source = origin == RouteSource::fpm ? self.fpm_ : self.kernel_;
  if (!source) return;
  const ObjectRef ref{*source, object.id};
  if (object.removed) return self.rib_.remove_object(ref);
  if (!object.group.empty()) {
    ObjectGroup group;
    for (const auto& member : object.group) group.members.push_back({member.id, to_weight(member.weight)});
    return self.rib_.set_object(ref, std::move(group));
  }
  const FeedTarget nowhere{.kind = object.blackhole ? FeedTarget::Kind::blackhole : FeedTarget::Kind::unreachable,
                           .hops = {}};
  std::optional<FeedTarget> target;
  if (object.hop) target = to_target({*object.hop}, links);
  self.rib_.set_object(ref, target.value_or(nowhere));
}

void Subscription::Batch::lose(const Link& link) {
  subscription_.rib_.lose_hops(subscription_.kernel_, [&link](const FeedHop& hop) { return leads_over(hop, link); });
}

void Subscription::Batch::lose_objects(const Link& link) {
  subscription_.rib_.lose_objects(subscription_.kernel_, [&link](const FeedHop& hop) { return leads_over(hop, link); });
}

std::vector<RibSource> Subscription::sources_of(RouteSource origin) const {
  if (origin == RouteSource::kernel) return {kLocalTable, kernel_};
  return fpm_ ? std::vector{*fpm_} : std::vector<RibSource>{};
}

std::size_t Subscription::stale(RouteSource origin) const {
  const std::lock_guard lock(mutex_);
  std::size_t stale = 0;
  for (const RibSource source : sources_of(origin)) stale += rib_.stale(source);
  return stale;
}

void Subscription::Batch::begin_sync(RouteSource origin) {
  if (origin == RouteSource::kernel) subscription_.doubled_.clear();
  Rib& rib = subscription_.rib_;
  for (const RibSource source : subscription_.sources_of(origin)) {
    if (origin == RouteSource::fpm) rib.detach_objects(source);
    rib.begin_sync(source);
  }
}

void Subscription::Batch::end_sync(RouteSource origin, bool complete) {
  Rib& rib = subscription_.rib_;
  for (const RibSource source : subscription_.sources_of(origin)) {
    if (complete) {
      rib.end_sync(source);
    } else {
      rib.cancel_sync(source);
    }
  }
}

FeedRow Subscription::to_row(const Rib::Row& row) const {
  FeedRow shown{.target = row.target,
                .source = sources_[row.source],
                .metric = row.metric,
                .nexthop_id = row.object_id,
                .active = row.active};
  if (row.target->kind == FeedTarget::Kind::local) shown.source = "local";
  if (row.target->kind == FeedTarget::Kind::broadcast) shown.source = "broadcast";
  if (row.direct && row.target->kind == FeedTarget::Kind::unicast) shown.source = "connected";
  return shown;
}

}  // namespace penumbra::control::netlink
