// SPDX-License-Identifier: Apache-2.0
//
// Implements the oracle for longest-prefix match. The oracle is slow and obvious, and shares no code with the tables of
// the data plane.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "penumbra/ip.h"

namespace penumbra {

/// Stores entries by prefix in a binary trie, with one node per bit. A look-up walks from the root and returns the last
/// entry that it meets. An Entry is an aggregate with a `prefix` of the family.
template <class Family, class Entry>
class PrefixOracle {
 public:
  using Address = typename Family::Address;
  using Prefix = typename Family::Prefix;
  static constexpr std::uint16_t kNoRoute = 0xFFFF;  ///< answer of next_hop() that no prefix covers

  PrefixOracle() = default;
  explicit PrefixOracle(std::span<const Entry> entries) {
    for (const Entry& entry : entries) insert(entry);
  }

  /// Inserts the entry, or replaces that of the same prefix. Returns true if the prefix is new.
  bool insert(const Entry& entry) {
    std::uint32_t at = 0;
    for (unsigned depth = 0; depth < entry.prefix.length; ++depth) {
      const bool side = bit(entry.prefix.address, depth);
      if (nodes_[at].child[side] == 0) {
        nodes_[at].child[side] = static_cast<std::uint32_t>(nodes_.size());
        nodes_.emplace_back();
      }
      at = nodes_[at].child[side];
    }
    if (nodes_[at].entry != kNone) {
      entries_[nodes_[at].entry] = entry;
      return false;
    }
    nodes_[at].entry = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back(entry);
    ++size_;
    return true;
  }
  /// Removes the entry of a prefix. Returns false if there is none.
  bool remove(Prefix prefix) {
    const std::optional<std::uint32_t> node = node_of(prefix);
    if (!node || nodes_[*node].entry == kNone) return false;
    nodes_[*node].entry = kNone;
    --size_;
    return true;
  }
  void clear() { *this = {}; }

  /// Returns the entry of exactly this prefix.
  std::optional<Entry> find(Prefix prefix) const {
    const std::optional<std::uint32_t> node = node_of(prefix);
    return node ? entry_at(nodes_[*node].entry) : std::nullopt;
  }
  /// Returns the entry of the longest prefix that covers the address.
  std::optional<Entry> match(Address address) const {
    std::uint32_t at = 0, best = nodes_[0].entry;
    for (unsigned depth = 0; depth < Family::kBits; ++depth) {
      at = nodes_[at].child[bit(address, depth)];
      if (at == 0) break;
      if (nodes_[at].entry != kNone) best = nodes_[at].entry;
    }
    return entry_at(best);
  }
  /// Returns the next hop of match(), or kNoRoute. Requires entries with a `next_hop`.
  std::uint16_t next_hop(Address address) const {
    const auto best = match(address);
    return best ? best->next_hop : kNoRoute;
  }

  std::size_t size() const { return size_; }
  /// Returns the entries in the order of address, then length.
  std::vector<Entry> entries() const {
    std::vector<Entry> entries;
    append(0, entries);
    return entries;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Node {
    std::array<std::uint32_t, 2> child{};  ///< Index of the child; 0: none, because the root is no child.
    std::uint32_t entry = kNone;           ///< Index into `entries_`.
  };

  static bool bit(Ipv4Address address, unsigned depth) { return (address.value >> (31 - depth) & 1) != 0; }
  static bool bit(Ipv6Address address, unsigned depth) {
    return ((depth < 64 ? address.high >> (63 - depth) : address.low >> (127 - depth)) & 1) != 0;
  }
  std::optional<std::uint32_t> node_of(Prefix prefix) const {
    std::uint32_t at = 0;
    for (unsigned depth = 0; depth < prefix.length; ++depth) {
      at = nodes_[at].child[bit(prefix.address, depth)];
      if (at == 0) return std::nullopt;
    }
    return at;
  }
  std::optional<Entry> entry_at(std::uint32_t index) const {
    return index == kNone ? std::nullopt : std::optional(entries_[index]);
  }
  void append(std::uint32_t at, std::vector<Entry>& to) const {
    if (const auto entry = entry_at(nodes_[at].entry)) to.push_back(*entry);
    for (const std::uint32_t child : nodes_[at].child) {
      if (child != 0) append(child, to);
    }
  }

  std::vector<Node> nodes_{Node{}};
  std::vector<Entry> entries_;  ///< Places of removed entries stay unused until clear().
  std::size_t size_ = 0;
};

}  // namespace penumbra
