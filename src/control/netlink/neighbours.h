// SPDX-License-Identifier: Apache-2.0
//
// The kernel's neighbours on ports.
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

/// The kernel sees nothing of what goes past it and so lets a neighbour grow STALE that is in use here. Unused there,
/// it may be forgotten, or stay as it was when the machine is another. So each one that grows stale is to be asked
/// about, a few at a time.
///
/// One thread changes, any thread asks for the list.
class KernelNeighbours {
 public:
  using Address = std::variant<Ipv4Address, Ipv6Address>;
  using Tell = std::function<void(const std::function<void(RouteListener&)>&)>;  ///< does it with every listener

  /// Takes a message over and passes on what is news.
  void apply(const NeighbourMessage& message, const Links& links, const Tell& tell);
  /// What is applied between the two is all there is; only if it is `complete`, the others are forgotten.
  void begin_sync();
  void end_sync(bool complete, const Tell& tell);

  /// One that is to be asked about: interface and address.
  std::optional<std::pair<std::uint32_t, Address>> next_to_probe();

  std::vector<FeedNeighbour> list() const;

  /// A neighbour that packets could be sent to until the kernel said otherwise.
  struct Lost {
    std::uint16_t port = 0;
    Address address;
    bool answers_not = false;  ///< it did not answer the kernel; else the kernel has deleted its entry
  };
  /// Those lost since the last call, the first kMostLost of them, and how many they were. By the thread that changes.
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
    bool told_again = true;
    bool waits = false;  ///< stands in to_probe_
    /// What packets may be sent to, if any.
    std::optional<MacAddress> usable() const;
  };

  void note_lost(const Key& key, std::uint16_t port, std::optional<MacAddress> before, bool answers_not);
  static void pass_on(const Key& key, std::uint16_t port, std::optional<MacAddress> before,
                      std::optional<MacAddress> now, const Tell& tell);

  mutable std::mutex mutex_;
  std::map<Key, Neighbour> known_;
  std::deque<std::pair<std::uint32_t, Address>> to_probe_;
  std::vector<Lost> lost_;
  std::size_t lost_count_ = 0;
};

}  // namespace penumbra::control::netlink
