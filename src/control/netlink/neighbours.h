// SPDX-License-Identifier: Apache-2.0
//
// Tracks the kernel's neighbours on ports.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "control/netlink/links.h"
#include "control/netlink/message.h"
#include "penumbra/route_feed.h"

namespace penumbra::control::netlink {

/// Follows the kernel's neighbours. The kernel does not see forwarded traffic, so it lets a neighbour become STALE
/// while Penumbra uses it. Such an entry may be deleted, or may keep its MAC address after the machine was replaced.
/// Therefore each stale neighbour is probed, a few at a time.
///
/// One thread makes changes; any thread may call list().
class KernelNeighbours {
 public:
  using Address = std::variant<Ipv4Address, Ipv6Address>;
  /// Calls the function with every listener.
  using Notify = std::function<void(const std::function<void(RouteListener&)>&)>;

  /// Applies a message and reports changes to the listeners.
  void apply(const NeighbourMessage& message, const Links& links, const Notify& notify);
  /// begin_sync() and end_sync() enclose a dump of all neighbours. If the dump is `complete`, end_sync() forgets the
  /// other neighbours.
  void begin_sync();
  void end_sync(bool complete, const Notify& notify);

  /// Returns the interface and address of a neighbour to probe, or nothing.
  std::optional<std::pair<std::uint32_t, Address>> next_to_probe();

  std::vector<FeedNeighbour> list() const;

  /// Describes a neighbour that became unreachable.
  struct Lost {
    std::uint16_t port = 0;
    Address address;
    /// True: the neighbour did not answer the kernel. False: the kernel deleted the entry.
    bool answers_not = false;
  };
  /// Returns the first kMostLost neighbours lost since the last call, and the number of all. For the thread that makes
  /// changes.
  static constexpr std::size_t kMostLost = 8;
  std::pair<std::vector<Lost>, std::size_t> take_lost();

 private:
  struct Key {
    std::uint32_t interface = 0;
    Address address;
    auto operator<=>(const Key&) const = default;
  };
  struct Neighbour {
    std::uint16_t port = 0;
    std::uint16_t state = 0;
    std::optional<MacAddress> mac;
    bool reported_again = true;
    bool waits = false;  ///< The neighbour is in to_probe_.
    /// Returns the MAC address to which packets may be sent, if any.
    std::optional<MacAddress> usable() const;
  };

  void note_lost(const Key& key, std::uint16_t port, std::optional<MacAddress> before, bool answers_not);
  static void pass_on(const Key& key, std::uint16_t port, std::optional<MacAddress> before,
                      std::optional<MacAddress> now, const Notify& notify);

  mutable std::mutex mutex_;
  std::map<Key, Neighbour> known_;
  std::deque<std::pair<std::uint32_t, Address>> to_probe_;
  std::vector<Lost> lost_;
  std::size_t lost_count_ = 0;
};

}  // namespace penumbra::control::netlink
