// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/feed_listener.h"

#include <stdexcept>

#include "functions/forwarding/families.h"

namespace penumbra::forwarding {
namespace {

constexpr std::uint32_t kMetric = 0;

/// Converts a target. A next hop with a gateway of the other family (RFC 8950) is left to the host.
template <ForwardingFamily Family>
TargetOf<Family> to_target(const FeedTarget& from) {
  using Address = typename Family::Address;
  using Hop = HopOf<Family>;
  TargetOf<Family> target{.kind = from.kind, .hops = {}};
  target.hops.reserve(from.hops.size());
  for (const FeedHop& hop : from.hops) {
    const auto* const gateway = std::get_if<Address>(&hop.gateway);
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

template <ForwardingFamily Family>
const TargetOf<Family>& by_host() {
  static const TargetOf<Family> kTarget{.kind = FeedTarget::Kind::unicast,
                                        .hops = {{.port = HopOf<Family>::kHost, .gateway = std::nullopt}}};
  return kTarget;
}

/// Returns false if the table refuses the change because of a limit.
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

/// Returns false if the table refuses the change. A refused change is stored and tried again later.
template <ForwardingFamily Family>
template <class Change>
bool FeedListener<Family>::try_to(const Subject& subject, const Change& change) {
  const bool taken = is_taken(change);
  if (taken) {
    refused_.erase(subject);
  } else {
    refused_.insert_or_assign(subject, change);
  }
  refused_count_ = refused_.size();
  return taken;
}

/// Tries refused changes again, because removed entries may have made room. A failure costs microseconds, so a call
/// stops after a few failures. The next call continues after the last change that was tried.
template <ForwardingFamily Family>
void FeedListener<Family>::try_again() {
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

/// Lets the host forward packets to `prefix`, because the former target is no longer valid.
template <ForwardingFamily Family>
void FeedListener<Family>::give_to_host(Prefix prefix) {
  if (is_taken([&] { fib_.replace_route(prefix, kMetric, by_host<Family>()); })) return;
  is_taken([&] { fib_.remove_route(prefix, kMetric); });
}

template <ForwardingFamily Family>
void FeedListener<Family>::put(Prefix prefix, const FeedTarget& target) {
  if (!Family::is_looked_up(prefix)) return;
  const auto change = [this, prefix, to = to_target<Family>(target)] { fib_.replace_route(prefix, kMetric, to); };
  if (!try_to({prefix, std::nullopt}, change)) give_to_host(prefix);
}

template <ForwardingFamily Family>
void FeedListener<Family>::remove(Prefix prefix) {
  if (!Family::is_looked_up(prefix)) return;
  // The neighbours below the prefix may need more room with the covering route than with this route.
  const auto change = [this, prefix] { fib_.remove_route(prefix, kMetric); };
  if (!try_to({prefix, std::nullopt}, change)) give_to_host(prefix);
}

template <ForwardingFamily Family>
void FeedListener<Family>::put(std::uint16_t port, Address address, MacAddress mac) {
  try_to({{address, Family::kBits}, port}, [this, port, address, mac] { fib_.set_neighbour(port, address, mac); });
}

template <ForwardingFamily Family>
void FeedListener<Family>::remove(std::uint16_t port, Address address) {
  try_to({{address, Family::kBits}, port}, [this, port, address] { fib_.remove_neighbour(port, address); });
}

template <ForwardingFamily Family>
void FeedListener<Family>::commit() {
  try_again();
  fib_.commit();
}

#define INSTANTIATE(Family) template class FeedListener<Family>;
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
