// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/neighbours.h"

#include <linux/neighbour.h>

#include <set>
#include <string_view>
#include <utility>

namespace penumbra::control::netlink {
namespace {

constexpr unsigned kUsable = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;

std::string_view to_name(std::uint16_t state) {
  switch (state) {
    case NUD_INCOMPLETE:
      return "INCOMPLETE";
    case NUD_REACHABLE:
      return "REACHABLE";
    case NUD_STALE:
      return "STALE";
    case NUD_DELAY:
      return "DELAY";
    case NUD_PROBE:
      return "PROBE";
    case NUD_FAILED:
      return "FAILED";
    case NUD_NOARP:
      return "NOARP";
    case NUD_PERMANENT:
      return "PERMANENT";
    default:
      return "NONE";
  }
}

}  // namespace

std::optional<MacAddress> KernelNeighbours::Neighbour::usable() const {
  const bool sendable = mac && mac->value != 0 && !mac->is_multicast();
  return (state & kUsable) != 0 && sendable ? mac : std::nullopt;
}

void KernelNeighbours::pass_on(const Key& key, std::uint16_t port, std::optional<MacAddress> before,
                               std::optional<MacAddress> now, const Notify& notify) {
  if (before == now) return;
  notify([&](RouteListener& listener) {
    std::visit(
        [&](auto address) {
          if (now) {
            listener.set_neighbour(port, address, *now);
          } else {
            listener.remove_neighbour(port, address);
          }
        },
        key.address);
  });
}

void KernelNeighbours::note_lost(const Key& key, std::uint16_t port, std::optional<MacAddress> before,
                                 bool answers_not) {
  if (!before) return;
  ++lost_count_;
  if (lost_.size() < kMostLost) lost_.push_back({port, key.address, answers_not});
}

std::pair<std::vector<KernelNeighbours::Lost>, std::size_t> KernelNeighbours::take_lost() {
  return {std::exchange(lost_, {}), std::exchange(lost_count_, 0)};
}

void KernelNeighbours::apply(const NeighbourMessage& message, const Links& links, const Notify& notify) {
  const std::lock_guard lock(mutex_);
  const Key key{message.interface, message.address};
  const auto found = known_.find(key);
  const Link* const link = links.find(message.interface);
  const bool gone = message.removed || message.state == NUD_NONE || link == nullptr || !link->port;
  if (found != known_.end() && (gone || found->second.port != *link->port)) {
    pass_on(key, found->second.port, found->second.usable(), std::nullopt, notify);
    note_lost(key, found->second.port, found->second.usable(), false);
    known_.erase(found);
  }
  if (gone) return;
  if (!std::visit([](auto address) { return address.is_unicast(); }, key.address)) return;
  Neighbour& neighbour = known_[key];
  const auto before = neighbour.usable();
  neighbour.port = *link->port;
  neighbour.state = message.state;
  neighbour.mac = message.mac;
  neighbour.reported_again = true;
  pass_on(key, neighbour.port, before, neighbour.usable(), notify);
  if (!neighbour.usable()) note_lost(key, neighbour.port, before, message.state == NUD_FAILED);
  if (message.state == NUD_STALE && !neighbour.waits) {
    neighbour.waits = true;
    to_probe_.emplace_back(key.interface, key.address);
  }
}

void KernelNeighbours::begin_sync() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, neighbour] : known_) neighbour.reported_again = false;
}

void KernelNeighbours::end_sync(bool complete, const Notify& notify) {
  const std::lock_guard lock(mutex_);
  if (!complete) return;
  std::set<std::pair<std::uint16_t, Address>> withdrawn;
  std::erase_if(known_, [&](const auto& entry) {
    const auto& [key, neighbour] = entry;
    if (neighbour.reported_again) return false;
    pass_on(key, neighbour.port, neighbour.usable(), std::nullopt, notify);
    note_lost(key, neighbour.port, neighbour.usable(), false);
    withdrawn.emplace(neighbour.port, key.address);
    return true;
  });
  if (withdrawn.empty()) return;
  // A recreated interface has another index. The same neighbour may exist on the new interface.
  for (const auto& [key, neighbour] : known_) {
    if (!withdrawn.contains({neighbour.port, key.address})) continue;
    pass_on(key, neighbour.port, std::nullopt, neighbour.usable(), notify);
  }
}

std::optional<std::pair<std::uint32_t, KernelNeighbours::Address>> KernelNeighbours::next_to_probe() {
  const std::lock_guard lock(mutex_);
  while (!to_probe_.empty()) {
    const auto next = to_probe_.front();
    to_probe_.pop_front();
    const auto found = known_.find({next.first, next.second});
    if (found == known_.end()) continue;
    found->second.waits = false;
    if (found->second.state == NUD_STALE) return next;
  }
  return std::nullopt;
}

std::vector<FeedNeighbour> KernelNeighbours::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<FeedNeighbour> list;
  list.reserve(known_.size());
  for (const auto& [key, neighbour] : known_) {
    list.push_back({neighbour.port, key.address, neighbour.mac, to_name(neighbour.state)});
  }
  return list;
}

}  // namespace penumbra::control::netlink
