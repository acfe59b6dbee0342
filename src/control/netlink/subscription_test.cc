// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/subscription.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "control/netlink/testing.h"

namespace penumbra::control::netlink {
namespace {

class SubscriptionTest : public testing::Test {
 protected:
  /// Applies the route. Returns true if a synchronization is needed.
  bool report(unsigned flags, bool removed = false) {
    return Subscription::Batch(subscription_).apply(route(removed), flags, links_);
  }
  bool deleted() { return report(0, true); }
  void synchronize() {
    Subscription::Batch batch(subscription_);
    batch.begin_sync(RouteSource::kernel);
    batch.apply(route(false), 0, links_);
    batch.end_sync(RouteSource::kernel, true);
  }

 private:
  static RouteMessage route(bool removed) {
    RouteMessage route;
    route.removed = removed;
    route.prefix = Ipv4Prefix{{0x14000000}, 8};
    route.table = RT_TABLE_MAIN;
    route.type = RTN_UNICAST;
    route.protocol = RTPROT_STATIC;
    route.hops = {{.interface = 3, .gateway = Ipv4Address{0xC0000209}}};
    return route;
  }

  SilentListener listener_;
  Links links_{{}};
  Subscription subscription_{{.targets = {}, .routes = {}, .follow = {"kernel"}, .table = "main"}, listener_};
};

TEST_F(SubscriptionTest, OfTwoRoutesThatLookAlikeOneMayBeLeft) {
  report(NLM_F_CREATE);
  report(NLM_F_CREATE | NLM_F_APPEND);
  EXPECT_TRUE(deleted());
}

TEST_F(SubscriptionTest, ARouteInItsOwnPlaceIsNoSecondOne) {
  report(NLM_F_CREATE);
  report(NLM_F_CREATE | NLM_F_REPLACE);
  EXPECT_FALSE(deleted());
}

TEST_F(SubscriptionTest, ASynchronizationSaysHowManyThereAre) {
  synchronize();
  report(NLM_F_CREATE);  // This event was already on its way.
  synchronize();
  EXPECT_FALSE(deleted());
}

}  // namespace
}  // namespace penumbra::control::netlink
