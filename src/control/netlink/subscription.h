// SPDX-License-Identifier: Apache-2.0
//
// Provides one function's view of the routes that the kernel and an FPM client report in netlink messages. The routes
// of one table are merged with the configuration's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/netlink/links.h"
#include "control/netlink/message.h"
#include "control/netlink/table_choice.h"
#include "control/rib.h"
#include "penumbra/route_feed.h"

namespace penumbra::control::netlink {

/// Identifies the source of netlink messages.
enum class RouteSource : std::uint8_t { kernel, fpm };

/// Subscribes to routes. One thread applies messages; any thread may query. The kernel's local addresses and connected
/// networks are always included, its other routes only if they are followed.
class Subscription {
 public:
  /// Reports the request's own routes to the listener. Throws std::invalid_argument for a request that cannot be
  /// satisfied.
  Subscription(const FeedRequest& request, RouteListener& listener);

  /// Encloses a series of apply() calls: holds the lock, and commits the changes to the listener at its end.
  class Batch {
   public:
    explicit Batch(Subscription& subscription) : subscription_(subscription), lock_(subscription.mutex_) {}
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    ~Batch() { subscription_.rib_.commit(); }

    /// Applies a route of the kernel. Returns true if the kernel's routes are ambiguous afterwards, so that a
    /// synchronization is needed.
    bool apply(const RouteMessage& route, unsigned flags, const Links& links);
    /// Applies a route of an FPM client. A prefix has one FPM route regardless of the metric; a new one replaces it.
    void apply_fpm(const RouteMessage& route, const Links& links);
    void apply(const ObjectMessage& object, const Links& links, RouteSource origin);
    /// Handles an interface that went down or was deleted. The kernel then removes its IPv4 routes and next-hop objects
    /// over the interface without messages.
    void lose(const Link& link);
    /// Handles an interface without carrier. The kernel then removes its next-hop objects over the interface without
    /// messages.
    void lose_objects(const Link& link);
    /// begin_sync() and end_sync() enclose a complete report of the origin's routes. If `complete` is true, end_sync()
    /// withdraws the routes that were not applied in between. Otherwise, end_sync() withdraws nothing.
    ///
    /// begin_sync() forgets the next-hop objects of an FPM client, because another client numbers its objects
    /// differently.
    void begin_sync(RouteSource origin);
    void end_sync(RouteSource origin, bool complete);

   private:
    Subscription& subscription_;
    std::lock_guard<std::mutex> lock_;
  };

  RouteListener& listener() { return listener_; }
  bool follows_fpm() const { return fpm_.has_value(); }

  /// Returns the number of the origin's routes that were not applied again since begin_sync().
  std::size_t stale(RouteSource origin) const;

  /// See RouteSubscription.
  void replace_own(const FeedRequest& request);
  void change_own(const FeedRequest& request);

  template <class Prefix>
  std::vector<Prefix> prefixes() const {
    const std::lock_guard lock(mutex_);
    return rib_.prefixes<Prefix>();
  }
  template <class Prefix>
  void visit(Prefix prefix, const std::function<void(const FeedRow&)>& visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& row : rib_.rows(prefix)) visit(to_row(row));
  }

 private:
  bool is_wanted(const RouteMessage& route) const;
  bool is_followed(std::uint32_t table, const Links& links) const;
  std::optional<RibSource> source_of(const RouteMessage& route, bool direct, const Links& links) const;
  std::vector<RibSource> sources_of(RouteSource origin) const;
  FeedRow to_row(const Rib::Row& row) const;
  bool apply_route(const RibKey<Ipv4Prefix>& key, const Rib::Spec& spec, bool removed, unsigned flags, bool direct);
  bool apply_route(const RibKey<Ipv6Prefix>& key, const Rib::Spec& spec, bool removed, unsigned flags, bool direct);

  mutable std::mutex mutex_;
  RouteListener& listener_;
  TableChoice table_;
  bool wants_ipv4_, wants_ipv6_;
  std::vector<std::string> sources_;  ///< Names by RibSource.
  RibSource kernel_ = 0;              ///< The kernel's routes of tables other than `local`.
  bool follows_kernel_ = false;       ///< True: follows all routes; false: only direct ones.
  std::optional<RibSource> fpm_;
  Rib rib_;
  /// Pairs (prefix, metric) for which the kernel has two routes with the same target. Such routes differ only in
  /// attributes that are ignored here, such as a preferred source address. When one is removed, the other may remain.
  std::set<std::pair<Ipv4Prefix, std::uint32_t>> doubled_;
};

}  // namespace penumbra::control::netlink
