// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the RIB's tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "control/netlink/testing.h"
#include "control/rib.h"

namespace penumbra::control {

/// Keeps the reported routes as a table.
class RecordingListener final : public netlink::SilentListener {
 public:
  void set_route(Ipv4Prefix prefix, const FeedTarget& target) override { set(ipv4, prefix, target); }
  void set_route(Ipv6Prefix prefix, const FeedTarget& target) override { set(ipv6, prefix, target); }
  void remove_route(Ipv4Prefix prefix) override { remove(ipv4, prefix); }
  void remove_route(Ipv6Prefix prefix) override { remove(ipv6, prefix); }
  void commit() override {
    ++commits;
    changed_.clear();
  }

  std::map<Ipv4Prefix, FeedTarget> ipv4;
  std::map<Ipv6Prefix, FeedTarget> ipv6;
  std::size_t changes = 0, commits = 0;

 private:
  void set(auto& table, auto prefix, const FeedTarget& target) {
    count(prefix);
    table[prefix] = target;
  }
  void remove(auto& table, auto prefix) {
    count(prefix);
    EXPECT_EQ(table.erase(prefix), 1U) << to_string(prefix) << " was not known";
  }
  /// Packets flow during a batch, so a prefix must never have a temporary target. Each prefix is reported at most once
  /// in a batch.
  void count(auto prefix) {
    ++changes;
    EXPECT_TRUE(changed_.insert(to_string(prefix)).second) << to_string(prefix) << " is reported twice in a batch";
  }

  std::set<std::string> changed_;
};

inline FeedTarget via(std::uint32_t gateway, std::uint16_t port = 0) {
  FeedTarget target;
  target.hops.push_back({.port = port, .interface = {}, .gateway = Ipv4Address{gateway}});
  return target;
}
inline const FeedTarget kBlackhole{.kind = FeedTarget::Kind::blackhole, .hops = {}};
inline const FeedTarget kUnreachable{.kind = FeedTarget::Kind::unreachable, .hops = {}};

inline Ipv4Prefix net(const char* text) {
  return parse_ipv4_prefix(text).value();
}

}  // namespace penumbra::control
