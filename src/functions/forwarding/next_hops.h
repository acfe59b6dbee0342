// SPDX-License-Identifier: Apache-2.0
//
// What stands behind the 16-bit next hops of the forwarding table. One of them names a set; a set leads to a slot, or
// by way of buckets to several; a slot says how to send a packet, or why not:
//
//   set -> slot, or one of the set's buckets -> slot: MAC addresses, port, MTU, outcome
//
// Readers change nothing and take no lock. What a reader can reach is either never written again (slots) or is one
// atomic word (a set's, a bucket's) of which the old value and the new one are both right. Sets, buckets and slots that
// nothing points to any more are written anew only after a grace period.
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
#include "penumbra/function.h"
#include "penumbra/ip.h"
#include "penumbra/route_feed.h"
#include "penumbra/table.h"

namespace penumbra::forwarding {

// What follows is written once for both families. `Family` is one of include/penumbra/ip.h's with what a function adds
// to it (functions/forwarding/function.h lists that).

/// The number of a set, which is what a look-up gives.
using SetId = std::uint16_t;

/// One way towards a destination, as control::NextHopOf, by the port's index.
template <class Family>
struct HopOf {
  static constexpr std::uint16_t kHost = 0xFFFF;

  std::uint16_t port = 0;                           ///< or kHost: only the host knows the way; then without gateway
  std::optional<typename Family::Address> gateway;  ///< none: whoever has the destination address on this port's link
  std::uint16_t weight = 1;
  bool on_link = false;  ///< the gateway is the destination itself: this stands for a hop without gateway

  auto operator<=>(const HopOf&) const = default;
};

/// Where a prefix leads. Equal targets share a set.
template <class Family>
struct TargetOf {
  using Kind = FeedTarget::Kind;
  Kind kind = Kind::unicast;
  std::vector<HopOf<Family>> hops;  ///< unicast: at least one; local and broadcast: who has the address; else none

  auto operator<=>(const TargetOf&) const = default;
};

/// How to send a packet on. Never changes while a reader can reach it.
template <class Family>
struct alignas(32) NextHopSlotOf {
  using Outcome = typename Family::Outcome;
  std::array<std::uint8_t, 12> addresses{};  ///< the frame's first bytes: destination and source MAC
  std::uint16_t port = 0;                    ///< of egress
  std::uint16_t mtu = 0;                ///< longest IP packet; 0 unless outcome is forward, so that one test serves
  Outcome outcome = Outcome::no_route;  ///< forward, or why nothing is sent this way
};
template <class Family>
class NextHops;

/// What workers use. Copies of it stay valid as long as the owner lives.
template <class Family>
class NextHopView {
 public:
  using NextHopSlot = NextHopSlotOf<Family>;
  static_assert(sizeof(NextHopSlot) == 32);

  /// The slot for a packet whose look-up gave `set` (Table::kNoRoute too). `flow_hash()` is called only if the set
  /// has more than one next hop.
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
  static constexpr std::uint32_t kShared = 1U << 16;  ///< in place of a slot's index: the set's buckets have several

  const std::uint32_t* sets_ = nullptr;     ///< 65,536 words, one for each answer of a look-up
  const std::uint16_t* buckets_ = nullptr;  ///< kBuckets a set
  const NextHopSlot* slots_ = nullptr;
};

/// The owner. One thread at a time.
template <class Family>
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
  static constexpr std::size_t kMaxHops = kMaxClaims;  ///< of one target

  NextHops(GracePeriods& grace_periods, std::span<const PortInfo> ports);
  NextHops(const NextHops&) = delete;
  NextHops& operator=(const NextHops&) = delete;

  const NextHopView<Family>& view() const { return view_; }

  /// The set of a target, made if there is none yet, with one more reference. Throws std::length_error at a limit and
  /// std::invalid_argument for a target of more than kMaxHops hops; nothing has changed then.
  SetId acquire(const Target& target);
  /// Takes one reference off. Without any the set is gone for acquire(), but readers may still use it.
  void release(SetId set);
  /// Makes references[set] the number of references of each set, and releases those with none.
  void set_references(std::span<const std::uint32_t> references);
  const Target& target(SetId set) const { return *sets_[set].target; }

  /// Says where packets to `gateway` on a port go, from now on. Returns whether that is news. Throws std::length_error.
  bool set_neighbour(std::uint16_t port, Address gateway, MacAddress mac);
  /// Forgets it. Returns whether it was known. Throws std::length_error.
  bool remove_neighbour(std::uint16_t port, Address gateway);
  std::optional<MacAddress> neighbour(std::uint16_t port, Address gateway) const;

  /// Takes over the ports' MAC addresses and MTUs. While nobody reads.
  void set_ports(std::span<const PortInfo> ports);

  /// What was released so far can no longer be reached by new packets: the grace period before its reuse begins.
  void retire();
  /// Whether an acquire() and a change of a neighbour can fail at the limits only; else reclaim(true) sees to that.
  bool has_room() const { return !free_sets_.empty() && free_slots_.size() > kMaxHops; }
  /// Makes what was retired long enough ago free again; with `wait` all that was retired.
  void reclaim(bool wait);

  std::size_t sets() const { return by_target_.size(); }

 private:
  /// A (gateway, port) that sets use or whose MAC address is known. Without gateway: the link as such.
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
  /// What waits for a grace period.
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
