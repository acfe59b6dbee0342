// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/next_hops.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "functions/forwarding/families.h"

namespace penumbra::forwarding {
namespace {

constexpr std::size_t kWords = 65'536;  // all possible look-up results, including the result for no route
constexpr std::size_t kSlots = 65'536;  // twice kMaxLinks: all links can change without a grace period

/// Outcomes without next hop have fixed slots. Slot 0 means no route, because the word of a set is initially 0.
template <ForwardingFamily Family>
constexpr std::array kFixedSlots{Family::Outcome::no_route,    Family::Outcome::local,
                                 Family::kToBroadcast,         Family::Outcome::blackhole,
                                 Family::Outcome::unreachable, Family::Outcome::unreachable_by_host};

template <ForwardingFamily Family>
std::uint16_t fixed_slot(typename Family::Outcome outcome) {
  const auto& slots = kFixedSlots<Family>;
  return static_cast<std::uint16_t>(std::find(slots.begin(), slots.end(), outcome) - slots.begin());
}

template <class Element>
Element* untouched(std::size_t count) {  // pages stay unmapped until they are written
  void* memory = std::aligned_alloc(64, count * sizeof(Element));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<Element*>(memory);
}

void write_mac(MacAddress mac, std::uint8_t* bytes) {
  for (int i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(mac.value >> (40 - 8 * i));
}

/// Returns 32 bits for BucketClaim::identity. Different gateways of one target may, rarely, have the same number. Such
/// gateways compete for the same buckets more often.
std::uint64_t number(Ipv4Address address) {
  return address.value;
}
std::uint64_t number(Ipv6Address address) {
  return hash(Ipv6Prefix{address, Ipv6::kBits}) >> 32;
}

}  // namespace

template <ForwardingFamily Family>
NextHops<Family>::NextHops(GracePeriods& grace_periods, std::span<const PortInfo> ports)
    : grace_periods_(grace_periods),
      ports_(ports.begin(), ports.end()),
      words_(std::make_unique<std::uint32_t[]>(kWords)),
      buckets_(untouched<std::uint16_t>(kMaxSets * kBuckets)),
      slots_(untouched<NextHopSlot>(kSlots)),
      sets_(kMaxSets) {
  const auto& fixed = kFixedSlots<Family>;
  view_.sets_ = words_.get();
  view_.buckets_ = buckets_.get();
  view_.slots_ = slots_.get();
  for (std::size_t i = kMaxSets; i-- > 0;) free_sets_.push_back(static_cast<SetId>(i));
  for (std::size_t i = kSlots; i-- > fixed.size();) free_slots_.push_back(static_cast<std::uint16_t>(i));
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    slots_[i] = NextHopSlot{};
    slots_[i].outcome = fixed[i];
  }
}

template <ForwardingFamily Family>
SetId NextHops<Family>::acquire(const Target& target) {
  if (const auto found = by_target_.find(target); found != by_target_.end()) {
    ++sets_[found->second].references;
    return found->second;
  }
  std::set<LinkKey> links;
  if (target.kind == Target::Kind::unicast) {
    for (const Hop& hop : target.hops) links.insert({hop.port, hop.gateway});
  }
  check_room(target, links);

  const SetId id = free_sets_.back();
  free_sets_.pop_back();
  for (const LinkKey& key : links) {
    Link& link = links_[key];
    if (link.users.empty()) {
      link.slot = take_slot(describe(key, link));
      ++used_links_;
    }
    link.users.insert(id);
  }
  const auto inserted = by_target_.emplace(target, id).first;
  sets_[id] = {.target = &inserted->first, .references = 1, .word = 0};
  if (links.size() > 1) {
    share(id, target);
  } else {
    publish(id, word_of(target));
  }
  return id;
}

template <ForwardingFamily Family>
void NextHops<Family>::check_room(const Target& target, const std::set<LinkKey>& links) const {
  if (target.hops.size() > kMaxHops) {
    throw std::invalid_argument("a route may have at most " + std::to_string(kMaxHops) + " next hops");
  }
  const auto fresh = static_cast<std::size_t>(std::count_if(links.begin(), links.end(), [this](const LinkKey& key) {
    const auto found = links_.find(key);
    return found == links_.end() || found->second.users.empty();
  }));
  if (free_sets_.empty()) {
    throw std::length_error("the limit of " + std::to_string(kMaxSets) + " different sets of next hops is reached");
  }
  if (used_links_ + fresh > kMaxLinks || fresh > free_slots_.size()) {
    throw std::length_error("the limit of " + std::to_string(kMaxLinks) + " different next hops is reached");
  }
}

/// Requires a target that needs a single slot.
template <ForwardingFamily Family>
std::uint32_t NextHops<Family>::word_of(const Target& target) const {
  switch (target.kind) {
    case Target::Kind::local:
      return fixed_slot<Family>(Outcome::local);
    case Target::Kind::broadcast:
      return fixed_slot<Family>(Family::kToBroadcast);
    case Target::Kind::blackhole:
      return fixed_slot<Family>(Outcome::blackhole);
    case Target::Kind::unreachable:
      return fixed_slot<Family>(Outcome::unreachable);
    case Target::Kind::unreachable_by_host:
      return fixed_slot<Family>(Outcome::unreachable_by_host);
    case Target::Kind::unicast:
      break;
  }
  return links_.at({target.hops.front().port, target.hops.front().gateway}).slot;
}

/// Requires a target with several links.
template <ForwardingFamily Family>
void NextHops<Family>::share(SetId set, const Target& target) {
  std::map<LinkKey, std::uint32_t> weights;  // a link that occurs twice has both weights
  for (const Hop& hop : target.hops) weights[{hop.port, hop.gateway}] += hop.weight;
  std::vector<BucketClaim> claims;
  std::vector<std::uint16_t> slots;
  for (const auto& [key, weight] : weights) {
    const std::uint64_t gateway = key.gateway ? std::uint64_t{1} << 32 | number(*key.gateway) : 0;
    claims.push_back({.identity = std::uint64_t{key.port} << 33 | gateway, .weight = weight});
    slots.push_back(links_.at(key).slot);
  }
  const auto owners = fill_buckets(claims);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    __atomic_store_n(&buckets_[set * kBuckets + i], slots[owners[i]], __ATOMIC_RELEASE);
  }
  publish(set, NextHopView<Family>::kShared);
}

template <ForwardingFamily Family>
std::uint16_t NextHops<Family>::take_slot(const NextHopSlot& content) {
  const std::uint16_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot] = content;
  return slot;
}

template <ForwardingFamily Family>
NextHopSlotOf<Family> NextHops<Family>::describe(const LinkKey& key, const Link& link) const {
  NextHopSlot slot;
  if (key.port == Hop::kHost) {
    slot.outcome = Outcome::via_host;
    return slot;
  }
  const PortInfo& port = ports_[key.port];
  slot.port = key.port;
  slot.outcome = link.mac ? Outcome::forward : Outcome::unknown_neighbour;
  if (link.mac) {
    slot.mtu = port.mtu;
    write_mac(*link.mac, slot.addresses.data());
    write_mac(port.mac, slot.addresses.data() + 6);
  }
  return slot;
}

template <ForwardingFamily Family>
void NextHops<Family>::publish(SetId set, std::uint32_t word) {
  sets_[set].word = word;
  __atomic_store_n(&words_[set], word, __ATOMIC_RELEASE);
}

template <ForwardingFamily Family>
void NextHops<Family>::release(SetId set) {
  if (--sets_[set].references == 0) drop(set);
}

template <ForwardingFamily Family>
void NextHops<Family>::set_references(std::span<const std::uint32_t> references) {
  for (std::size_t set = 0; set < kMaxSets; ++set) {
    if (sets_[set].target == nullptr) continue;
    sets_[set].references = references[set];
    if (references[set] == 0) drop(static_cast<SetId>(set));
  }
}

/// Removes a set. The word, buckets and slots of the set stay because readers may still use them.
template <ForwardingFamily Family>
void NextHops<Family>::drop(SetId set) {
  const Target& target = *sets_[set].target;
  if (target.kind == Target::Kind::unicast) {
    for (const Hop& hop : target.hops) {
      const auto found = links_.find({hop.port, hop.gateway});
      if (found == links_.end() || found->second.users.erase(set) == 0 || !found->second.users.empty()) continue;
      released_.slots.push_back(found->second.slot);
      --used_links_;
      if (!found->second.mac) links_.erase(found);
    }
  }
  by_target_.erase(by_target_.find(target));
  sets_[set].target = nullptr;
  released_.sets.push_back(set);
}

template <ForwardingFamily Family>
bool NextHops<Family>::set_neighbour(std::uint16_t port, Address gateway, MacAddress mac) {
  const LinkKey key{port, gateway};
  const auto found = links_.find(key);
  if (found != links_.end() && found->second.mac == mac) return false;
  if (found != links_.end() && !found->second.users.empty() && free_slots_.empty()) {
    throw std::length_error("too many neighbours change at once");
  }
  Link& link = links_[key];
  link.mac = mac;
  move_link(key, link);
  return true;
}

template <ForwardingFamily Family>
bool NextHops<Family>::remove_neighbour(std::uint16_t port, Address gateway) {
  const LinkKey key{port, gateway};
  const auto found = links_.find(key);
  if (found == links_.end() || !found->second.mac) return false;
  if (found->second.users.empty()) {
    links_.erase(found);
    return true;
  }
  if (free_slots_.empty()) throw std::length_error("too many neighbours change at once");
  found->second.mac.reset();
  move_link(key, found->second);
  return true;
}

template <ForwardingFamily Family>
std::optional<MacAddress> NextHops<Family>::neighbour(std::uint16_t port, Address gateway) const {
  const auto found = links_.find({port, gateway});
  return found == links_.end() ? std::nullopt : found->second.mac;
}

/// Moves a link whose MAC address has changed to a new slot, and redirects its users.
template <ForwardingFamily Family>
void NextHops<Family>::move_link(const LinkKey& key, Link& link) {
  if (link.users.empty()) return;
  const std::uint16_t slot = take_slot(describe(key, link));
  for (const SetId set : link.users) redirect(set, link.slot, slot);
  released_.slots.push_back(link.slot);
  link.slot = slot;
}

template <ForwardingFamily Family>
void NextHops<Family>::redirect(SetId set, std::uint16_t from, std::uint16_t to) {
  if (sets_[set].word != NextHopView<Family>::kShared) {
    publish(set, to);
    return;
  }
  std::uint16_t* const buckets = &buckets_[set * kBuckets];
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (buckets[i] == from) __atomic_store_n(&buckets[i], to, __ATOMIC_RELEASE);
  }
}

template <ForwardingFamily Family>
void NextHops<Family>::set_ports(std::span<const PortInfo> ports) {
  ports_.assign(ports.begin(), ports.end());
  for (const auto& [key, link] : links_) {
    if (!link.users.empty()) slots_[link.slot] = describe(key, link);
  }
}

template <ForwardingFamily Family>
void NextHops<Family>::retire() {
  if (released_.empty()) return;
  released_.grace_period = grace_periods_.start();
  retired_.push_back(std::exchange(released_, {}));
}

template <ForwardingFamily Family>
void NextHops<Family>::reclaim(bool wait) {
  while (!retired_.empty() && grace_periods_.elapsed(retired_.front().grace_period, wait)) {
    const auto& [grace_period, sets, slots] = retired_.front();
    free_sets_.insert(free_sets_.end(), sets.begin(), sets.end());
    free_slots_.insert(free_slots_.end(), slots.begin(), slots.end());
    retired_.pop_front();
  }
}

#define INSTANTIATE(Family) template class NextHops<Family>;
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
