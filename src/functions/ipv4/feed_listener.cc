// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv4/feed_listener.h"

#include <stdexcept>

namespace penumbra::ipv4 {
namespace {

constexpr std::uint32_t kMetric = 0;

/// A way by a gateway of the other family (RFC 8950) is the host's.
Target to_target(const FeedTarget& from) {
  Target target{.kind = from.kind, .hops = {}};
  target.hops.reserve(from.hops.size());
  for (const FeedHop& hop : from.hops) {
    const auto* const gateway = std::get_if<Ipv4Address>(&hop.gateway);
    if (hop.port == FeedHop::kHost || (gateway == nullptr && hop.gateway.index() != 0)) {
      target.hops.push_back({.port = Hop::kHost, .gateway = std::nullopt, .weight = hop.weight});
    } else {
      target.hops.push_back({.port = hop.port,
                             .gateway = gateway == nullptr ? std::nullopt : std::optional(*gateway),
                             .weight = hop.weight});
    }
  }
  return target;
}

const Target& by_host() {
  static const Target kTarget{.kind = Target::Kind::unicast, .hops = {{.port = Hop::kHost, .gateway = std::nullopt}}};
  return kTarget;
}

/// Returns whether the table has taken the change; else it is at a limit.
template <class Change>
bool is_taken(const Change& change) {
  try {
    change();
    return true;
  } catch (const std::logic_error&) {
    return false;
  }
}

}  // namespace

/// Returns whether the table has taken the change; else it is tried again later.
template <class Change>
bool FeedListener::try_to(const Subject& subject, const Change& change) {
  const bool taken = is_taken(change);
  if (taken) {
    refused_.erase(subject);
  } else {
    refused_.insert_or_assign(subject, change);
  }
  refused_count_ = refused_.size();
  return taken;
}

/// Where something has gone there may be room. A failure costs microseconds, so a table that stays full is tried with a
/// few only, with others the next time.
void FeedListener::try_again() {
  constexpr int kMostFailures = 8;
  int failures = 0;
  auto at = refused_.upper_bound(last_tried_);
  for (std::size_t left = refused_.size(); left > 0 && failures < kMostFailures; --left) {
    if (at == refused_.end()) at = refused_.begin();
    last_tried_ = at->first;
    if (is_taken(at->second)) {
      at = refused_.erase(at);
    } else {
      ++failures;
      ++at;
    }
  }
  refused_count_ = refused_.size();
}

/// Where it led before is wrong now.
void FeedListener::give_to_host(Ipv4Prefix prefix) {
  if (is_taken([&] { fib_.replace_route(prefix, kMetric, by_host()); })) return;
  is_taken([&] { fib_.remove_route(prefix, kMetric); });
}

void FeedListener::set_route(Ipv4Prefix prefix, const FeedTarget& target) {
  const auto change = [this, prefix, to = to_target(target)] { fib_.replace_route(prefix, kMetric, to); };
  if (!try_to({prefix, std::nullopt}, change)) give_to_host(prefix);
}

/// IPv6 packets are punted, whatever their destination.
void FeedListener::set_route(Ipv6Prefix /*prefix*/, const FeedTarget& /*target*/) {}
void FeedListener::remove_route(Ipv6Prefix /*prefix*/) {}

void FeedListener::remove_route(Ipv4Prefix prefix) {
  // Its neighbours may need more room by the shorter way than by its own.
  const auto change = [this, prefix] { fib_.remove_route(prefix, kMetric); };
  if (!try_to({prefix, std::nullopt}, change)) give_to_host(prefix);
}

void FeedListener::set_neighbour(std::uint16_t port, Ipv4Address address, MacAddress mac) {
  try_to({{address, 32}, port}, [this, port, address, mac] { fib_.set_neighbour(port, address, mac); });
}

void FeedListener::remove_neighbour(std::uint16_t port, Ipv4Address address) {
  try_to({{address, 32}, port}, [this, port, address] { fib_.remove_neighbour(port, address); });
}

void FeedListener::commit() {
  try_again();
  fib_.commit();
}

}  // namespace penumbra::ipv4
