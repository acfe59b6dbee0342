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

/// The routes of this network namespace's kernel, in any of its tables, and those that an FPM client tells.
class NetlinkFeed final : public RouteFeed {
 public:
  using Log = std::function<void(const std::string& line)>;

  /// `twins`: the names of the host's interfaces that stand for the ports, by port; empty for a port without one. `log`
  /// is told of FPM clients that come and go, and what Follower tells.
  NetlinkFeed(std::vector<std::string> twins, fpm::Config fpm, Log log);
  /// No subscription may be left.
  ~NetlinkFeed() override;

  void check_source(const std::string& name) const override;
  void check_table(const std::string& text) const override;
  std::unique_ptr<RouteSubscription> subscribe(const FeedRequest& request, RouteListener& listener) override;

  /// Tells all subscribers all there is, then follows on a thread of its own. Does nothing without subscribers. Throws
  /// std::system_error, InputError if FPM clients cannot be listened for.
  void start();
  /// Other interfaces stand for the ports, by port. Everything is told again soon. Any thread.
  void set_twins(std::vector<std::string> twins);
  /// No listener is called any more.
  void stop();

 private:
  class Handle;

  std::vector<std::string> twins_;
  fpm::Config fpm_;
  Log log_;
  std::vector<Subscription*> subscriptions_;
  mutable std::mutex mutex_;  ///< of follower_, that those who ask find it or not
  std::unique_ptr<Follower> follower_;
};

}  // namespace penumbra::control::netlink
