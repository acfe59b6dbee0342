// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "control/fpm/config.h"
#include "penumbra/route_feed.h"

namespace penumbra::control::netlink {

class Follower;
class Subscription;

/// Provides the routes of this network namespace's kernel, in any of its tables, and those of an FPM client.
class NetlinkFeed final : public RouteFeed {
 public:
  using Log = std::function<void(const std::string& line)>;

  /// `twins` are the names of the host interfaces that represent the ports, by port; empty for a port without one.
  /// `log` gets messages about FPM clients and the messages of Follower.
  NetlinkFeed(std::vector<std::string> twins, fpm::Config fpm, Log log);
  /// All subscriptions must have ended.
  ~NetlinkFeed() override;

  void check_source(const std::string& name) const override;
  void check_table(const std::string& text) const override;
  std::unique_ptr<RouteSubscription> subscribe(const FeedRequest& request, RouteListener& listener) override;

  /// Reports everything to all subscribers, then follows changes on its own thread. Does nothing without subscribers.
  /// Throws std::system_error, or InputError if it cannot listen for FPM clients.
  void start();
  /// Replaces the names of the twins, by port. Soon afterwards everything is reported again. Any thread may call it.
  void set_twins(std::vector<std::string> twins);
  /// Stops following. No listener is called afterwards.
  void stop();

 private:
  class Handle;

  std::vector<std::string> twins_;
  fpm::Config fpm_;
  Log log_;
  std::vector<Subscription*> subscriptions_;
  mutable std::mutex mutex_;  ///< Guards follower_.
  std::unique_ptr<Follower> follower_;
};

}  // namespace penumbra::control::netlink
