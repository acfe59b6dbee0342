// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "penumbra/route_feed.h"

namespace penumbra::control::netlink {

/// Ignores routes and neighbours, for tests.
class SilentListener : public RouteListener {
 public:
  void set_route(Ipv4Prefix /*prefix*/, const FeedTarget& /*target*/) override {}
  void set_route(Ipv6Prefix /*prefix*/, const FeedTarget& /*target*/) override {}
  void remove_route(Ipv4Prefix /*prefix*/) override {}
  void remove_route(Ipv6Prefix /*prefix*/) override {}
  void set_neighbour(std::uint16_t /*port*/, Ipv4Address /*address*/, MacAddress /*mac*/) override {}
  void set_neighbour(std::uint16_t /*port*/, Ipv6Address /*address*/, MacAddress /*mac*/) override {}
  void remove_neighbour(std::uint16_t /*port*/, Ipv4Address /*address*/) override {}
  void remove_neighbour(std::uint16_t /*port*/, Ipv6Address /*address*/) override {}
  void commit() override {}
};

}  // namespace penumbra::control::netlink
