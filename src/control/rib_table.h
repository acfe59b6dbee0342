// SPDX-License-Identifier: Apache-2.0
//
// Stores the routes of one address family compactly: a hash table with open addressing and linear probing. An entry has
// 16 bytes for IPv4 and 32 for IPv6. A prefix may have several entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "penumbra/ip.h"

namespace penumbra::control {

/// Holds one source's route.
template <class Prefix>
struct RibEntry {
  decltype(Prefix::address) address;
  std::uint32_t metric = 0;
  std::uint32_t target = 0;
  std::uint8_t length = 0;
  std::uint8_t source : 3 = 0;
  bool used : 1 = false;       ///< The slot is not empty.
  bool direct : 1 = false;     ///< Preferred to the routes of every source.
  bool announced : 1 = false;  ///< The listener knows this route.
  bool removed : 1 = false;    ///< Removed, but the listener may still know the route.
  bool stale : 1 = false;      ///< Not reported again in the current synchronization.
  std::uint16_t order = 0;     ///< Position among the routes of the same prefix, source and metric.

  Prefix prefix() const { return {address, length}; }
};
static_assert(sizeof(RibEntry<Ipv4Prefix>) == 16 && sizeof(RibEntry<Ipv6Prefix>) == 32);

template <class Prefix>
class RibTable {
 public:
  using Entry = RibEntry<Prefix>;

  /// Calls `visit` for each entry of the prefix. `visit` may change the entry except its prefix.
  template <class Visit>
  void for_each(Prefix prefix, Visit&& visit) {
    for (std::size_t at = home(prefix); slots_[at].used; at = next(at)) {
      if (slots_[at].prefix() == prefix) visit(slots_[at]);
    }
  }
  template <class Visit>
  void for_each(Prefix prefix, Visit&& visit) const {
    for (std::size_t at = home(prefix); slots_[at].used; at = next(at)) {
      if (slots_[at].prefix() == prefix) visit(slots_[at]);
    }
  }
  /// Visits all entries, in no order.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Entry& entry : slots_) {
      if (entry.used) visit(entry);
    }
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : slots_) {
      if (entry.used) visit(entry);
    }
  }

  void insert(Entry entry) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    entry.used = true;
    place(entry);
    ++size_;
  }

  /// Erases the entries of the prefix for which `unwanted` is true.
  template <class Unwanted>
  void erase(Prefix prefix, Unwanted&& unwanted) {
    for (std::size_t at = home(prefix); slots_[at].used;) {
      if (slots_[at].prefix() == prefix && unwanted(std::as_const(slots_[at]))) {
        close_gap(at);
        --size_;
      } else {
        at = next(at);
      }
    }
  }

  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kFirstSlots = 64;

  std::size_t home(Prefix prefix) const { return hash(prefix) & (slots_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void place(const Entry& entry) {
    std::size_t at = home(entry.prefix());
    while (slots_[at].used) at = next(at);
    slots_[at] = entry;
  }

  void grow() {
    std::vector<Entry> old(slots_.size() * 2);
    slots_.swap(old);
    for (const Entry& entry : old) {
      if (entry.used) place(entry);
    }
  }

  /// Moves later entries of the probe sequence back into the gap. Thus probing needs no tombstones.
  void close_gap(std::size_t gap) {
    for (std::size_t at = next(gap); slots_[at].used; at = next(at)) {
      const std::size_t wanted = home(slots_[at].prefix());
      const std::size_t mask = slots_.size() - 1;
      if (((at - wanted) & mask) < ((at - gap) & mask)) continue;
      slots_[gap] = slots_[at];
      gap = at;
    }
    slots_[gap].used = false;
  }

  std::vector<Entry> slots_ = std::vector<Entry>(kFirstSlots);
  std::size_t size_ = 0;
};

}  // namespace penumbra::control
