// SPDX-License-Identifier: Apache-2.0
//
// Provides a listener for fuzzers that checks its calls.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <set>

#include "control/netlink/testing.h"

namespace penumbra::control::netlink {

/// Aborts at an inconsistent call.
class SuspiciousListener final : public SilentListener {
 public:
  void set_route(Ipv4Prefix prefix, const FeedTarget& target) override { set(ipv4_, prefix, target); }
  void set_route(Ipv6Prefix prefix, const FeedTarget& target) override { set(ipv6_, prefix, target); }
  void remove_route(Ipv4Prefix prefix) override { remove(ipv4_, prefix); }
  void remove_route(Ipv6Prefix prefix) override { remove(ipv6_, prefix); }

 private:
  static void set(auto& known, auto prefix, const FeedTarget& target) {
    if (target.kind == FeedTarget::Kind::unicast && target.hops.empty()) std::abort();
    for (const auto& hop : target.hops) {
      if (hop.weight == 0) std::abort();
    }
    known.insert(prefix);
  }
  static void remove(auto& known, auto prefix) {
    if (known.erase(prefix) == 0) std::abort();
  }
  std::set<Ipv4Prefix> ipv4_;
  std::set<Ipv6Prefix> ipv6_;
};

}  // namespace penumbra::control::netlink
