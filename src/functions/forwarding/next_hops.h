// SPDX-License-Identifier: Apache-2.0
//
// Resolves the 16-bit next hops of the forwarding table. A next hop is the number of a set. A set leads to one slot
// directly, or to several slots through buckets. A slot has all data to send a packet, or the reason why none is sent:
//
//   set -> slot, or one of the set's buckets -> slot: MAC addresses, port, MTU, outcome
//
// Readers change nothing and take no lock. All data that a reader can reach is either immutable (slots) or one atomic
// word (of a set or a bucket). For such a word both the old and the new value are valid. Unreferenced sets, buckets and
// slots are reused only after a grace period.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "functions/forwarding/buckets.h"
#include "functions/forwarding/family.h"
#include "penumbra/function.h"
#include "penumbra/ip.h"
#include "penumbra/route_feed.h"
#include "penumbra/table.h"

namespace penumbra::forwarding {

/// Numbers the sets. A look-up returns such a number.
using SetId = std::uint16_t;

/// Represents a next hop like control::NextHopOf, but with the index of its port.
template <ForwardingFamily Family>
struct HopOf {
  static constexpr std::uint16_t kHost = 0xFFFF;

  std::uint16_t port = 0;  ///< index of the port, or kHost without gateway if only the host reaches the next hop
  std::optional<typename Family::Address> gateway;  ///< std::nullopt: the destination itself, on the link of this port
  std::uint16_t weight = 1;
  bool on_link = false;  ///< true if the gateway is the destination itself, which replaces a hop without gateway

  auto operator<=>(const HopOf&) const = default;
};

/// Represents the target of a prefix. Equal targets share a set.
template <ForwardingFamily Family>
struct TargetOf {
  using Kind = FeedTarget::Kind;
  Kind kind = Kind::unicast;
  std::vector<HopOf<Family>>
      hops;  ///< unicast: at least one; local and broadcast: the port with the address; empty for all other kinds

  auto operator<=>(const TargetOf&) const = default;
};

/// Holds the data to send a packet. A slot is immutable while a reader can reach it.
template <ForwardingFamily Family>
struct alignas(32) NextHopSlotOf {
  using Outcome = typename Family::Outcome;
  std::array<std::uint8_t, 12> addresses{};  ///< the first bytes of the frame: destination and source MAC
  std::uint16_t port = 0;                    ///< egress port
  std::uint16_t mtu = 0;  ///< longest IP packet, bytes; 0 unless outcome is forward, so that one comparison suffices
  Outcome outcome = Outcome::no_route;  ///< forward, or the reason why no packet is sent
};
template <ForwardingFamily Family>
class NextHops;

/// Gives readers access to the next hops. Copies stay valid as long as the owner lives.
template <ForwardingFamily Family>
class NextHopView {
 public:
  using NextHopSlot = NextHopSlotOf<Family>;
  static_assert(sizeof(NextHopSlot) == 32);

  /// Returns the slot for a packet with the look-up result `set`, which may be Table::kNoRoute. Calls `flow_hash()`
  /// only if the set has more than one next hop.
  template <class FlowHash>
  const NextHopSlot& slot(std::uint16_t set, FlowHash&& flow_hash) const {
    std::uint32_t word = __atomic_load_n(&sets_[set], __ATOMIC_ACQUIRE);
    if (word == kShared) {
      word = __atomic_load_n(&buckets_[set * kBuckets + flow_hash() % kBuckets], __ATOMIC_ACQUIRE);
    }
    return slots_[word];
  }

 private:
  friend class NextHops<Family>;
  static constexpr std::uint32_t kShared = 1U << 16;  ///< marks a set with buckets; replaces the index of a slot

  const std::uint32_t* sets_ = nullptr;     ///< 65,536 words, one for each look-up result
  const std::uint16_t* buckets_ = nullptr;  ///< kBuckets for each set
  const NextHopSlot* slots_ = nullptr;
};

/// Owns the next hops. Only one thread at a time may use this class.
template <ForwardingFamily Family>
class NextHops {
 public:
  using SetId = forwarding::SetId;
  using Address = typename Family::Address;
  using Outcome = typename Family::Outcome;
  using Hop = HopOf<Family>;
  using Target = TargetOf<Family>;
  using NextHopSlot = NextHopSlotOf<Family>;
  static constexpr std::size_t kMaxSets = 32'768;      ///< different targets
  static constexpr std::size_t kMaxLinks = 32'768;     ///< different (gateway, port)
  static constexpr std::size_t kMaxHops = kMaxClaims;  ///< hops of one target

  NextHops(GracePeriods& grace_periods, std::span<const PortInfo> ports);
  NextHops(const NextHops&) = delete;
  NextHops& operator=(const NextHops&) = delete;

  const NextHopView<Family>& view() const { return view_; }

  /// Returns the set of a target with one more reference, and creates the set if necessary. Throws std::length_error at
  /// a limit, and std::invalid_argument if the target has more than kMaxHops hops. An exception leaves everything
  /// unchanged.
  SetId acquire(const Target& target);
  /// Removes one reference. acquire() no longer finds a set without references, but readers may still use the set.
  void release(SetId set);
  /// Sets the number of references of each set to references[set], and releases the sets without references.
  void set_references(std::span<const std::uint32_t> references);
  const Target& target(SetId set) const { return *sets_[set].target; }

  /// Sets the MAC address for packets to `gateway` on a port. Returns false if the address is already set. Throws
  /// std::length_error.
  bool set_neighbour(std::uint16_t port, Address gateway, MacAddress mac);
  /// Removes a neighbour. Returns false if the neighbour is unknown. Throws std::length_error.
  bool remove_neighbour(std::uint16_t port, Address gateway);
  std::optional<MacAddress> neighbour(std::uint16_t port, Address gateway) const;

  /// Sets the ports' MAC addresses and MTUs. No worker may read during the call.
  void set_ports(std::span<const PortInfo> ports);

  /// Starts the grace period of everything that was released so far. New packets must no longer reach the released
  /// sets.
  void retire();
  /// True if only the limits can make acquire() or a change of a neighbour fail. Otherwise reclaim(true) makes room.
  bool has_room() const { return !free_sets_.empty() && free_slots_.size() > kMaxHops; }
  /// Frees everything whose grace period has elapsed. With `wait`, waits for the grace periods of all retired objects.
  void reclaim(bool wait);

  std::size_t sets() const { return by_target_.size(); }

 private:
  /// Identifies a (gateway, port) that sets use or whose MAC address is known. Without gateway, the key names the link
  /// itself.
  struct LinkKey {
    std::uint16_t port = 0;
    std::optional<Address> gateway;
    auto operator<=>(const LinkKey&) const = default;
  };
  struct Link {
    std::optional<MacAddress> mac;
    std::uint16_t slot = 0;  ///< valid while there are users
    std::set<SetId> users;
  };
  using Links = std::map<LinkKey, Link>;

  struct Set {
    const Target* target = nullptr;  ///< the key in by_target_
    std::uint32_t references = 0;
    std::uint32_t word = 0;  ///< as published
  };
  /// Sets and slots that wait for the end of a grace period.
  struct Retired {
    std::uint64_t grace_period = 0;
    std::vector<SetId> sets;
    std::vector<std::uint16_t> slots;
    bool empty() const { return sets.empty() && slots.empty(); }
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  void check_room(const Target& target, const std::set<LinkKey>& links) const;
  std::uint32_t word_of(const Target& target) const;
  void share(SetId set, const Target& target);
  std::uint16_t take_slot(const NextHopSlot& content);
  NextHopSlot describe(const LinkKey& key, const Link& link) const;
  void move_link(const LinkKey& key, Link& link);
  void redirect(SetId set, std::uint16_t from, std::uint16_t to);
  void publish(SetId set, std::uint32_t word);
  void drop(SetId set);

  GracePeriods& grace_periods_;
  std::vector<PortInfo> ports_;

  std::unique_ptr<std::uint32_t[]> words_;
  std::unique_ptr<std::uint16_t[], Free> buckets_;
  std::unique_ptr<NextHopSlot[], Free> slots_;
  NextHopView<Family> view_;

  std::map<Target, SetId> by_target_;
  std::vector<Set> sets_;
  Links links_;
  std::size_t used_links_ = 0;  ///< links that have users
  std::vector<SetId> free_sets_;
  std::vector<std::uint16_t> free_slots_;
  Retired released_;
  std::deque<Retired> retired_;
};

}  // namespace penumbra::forwarding
