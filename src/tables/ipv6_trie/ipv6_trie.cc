// SPDX-License-Identifier: Apache-2.0
#include "tables/ipv6_trie/ipv6_trie.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "penumbra/huge_memory.h"
#include "penumbra/table_changes.h"
#include "tables/ipv6_trie/ipv6_trie.shader.h"

namespace penumbra {
namespace {

constexpr std::uint32_t kRootNodes = 1U << (IPV6_TRIE_ROOT_BITS - IPV6_TRIE_NODE_BITS);
constexpr std::uint32_t kAllNodes = kRootNodes + Ipv6Trie::kMaxNodes;
static_assert(kAllNodes <= (1U << 31) / IPV6_TRIE_NODE_ENTRIES, "ipv6_trie.avx512.h has entries' numbers in 31 bits");
constexpr unsigned kDepths = 1 + (128 - IPV6_TRIE_ROOT_BITS) / IPV6_TRIE_NODE_BITS;
constexpr std::size_t kRegion = 0;

/// An answer has the length of its prefix + 1 above the inverted next hop. An answer of 0 means no route.
constexpr unsigned kCoverShift = 16;
constexpr std::uint32_t answer(unsigned length, std::uint16_t next_hop) {
  return (length + 1) << kCoverShift | (static_cast<std::uint16_t>(~next_hop));
}
constexpr unsigned cover(std::uint32_t entry) {
  return entry >> kCoverShift;
}
constexpr bool is_node(std::uint32_t entry) {
  return entry >= IPV6_TRIE_NODE;
}
constexpr std::uint32_t node_of(std::uint32_t entry) {
  return entry - IPV6_TRIE_NODE;
}

/// Returns the number of address bits that are decided down to a depth. The root has depth 0.
constexpr unsigned bits_at(unsigned depth) {
  return IPV6_TRIE_ROOT_BITS + IPV6_TRIE_NODE_BITS * depth;
}
/// Returns the depth at which prefixes of a length have their entries.
constexpr unsigned depth_of(unsigned length) {
  return length <= IPV6_TRIE_ROOT_BITS ? 0
                                       : (length - IPV6_TRIE_ROOT_BITS + IPV6_TRIE_NODE_BITS - 1) / IPV6_TRIE_NODE_BITS;
}
std::size_t root_slot(Ipv6Address address) {
  return address.high >> (64 - IPV6_TRIE_ROOT_BITS);
}
std::size_t slot_in(std::uint32_t node, Ipv6Address address, unsigned depth) {
  const unsigned end = bits_at(depth);
  const std::uint64_t bits = end <= 64 ? address.high >> (64 - end) : address.low >> (128 - end);
  return std::size_t{node} * IPV6_TRIE_NODE_ENTRIES + bits % IPV6_TRIE_NODE_ENTRIES;
}

}  // namespace

/// A complete table.
class Ipv6Trie::Version {
 public:
  explicit Version(GracePeriods& grace_periods) : grace_periods_(grace_periods) {}

  /// Publishes the version to `table`. Readers may then exist, and changes are announced.
  void publish_to(Table& table) {
    table_ = &table;
    while (announced_nodes_ < used_.size()) announced_nodes_ *= 2;
    announced_nodes_ = std::min<std::size_t>(announced_nodes_, kMaxNodes);
    const std::size_t entries = (kRootNodes + announced_nodes_) * IPV6_TRIE_NODE_ENTRIES;
    table.publish(view_, {{offsetof(ipv6_trie_view, entries), reinterpret_cast<const std::byte*>(entries_.data()),
                           entries * sizeof(std::uint32_t)}});
  }

  void insert(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) {
    const unsigned depth = depth_of(prefix.length);
    const std::uint32_t entry = answer(prefix.length, next_hop);
    std::size_t slot = root_slot(prefix.address);
    std::uint32_t node = 0;
    unsigned at = 0;
    for (; at < depth && is_node(entries_[slot]); slot = slot_in(node, prefix.address, ++at)) {
      node = node_of(entries_[slot]);
    }
    if (at < depth) {
      hang(prefix, entry, slot, at);
      if (at > 0) ++used(node);
    } else {
      paint(slot, prefix.length, depth, entry);
      if (depth > 0 && is_new) ++used(node);
    }
    announce();
  }

  /// `parent` is the answer of the next shorter prefix that covers the prefix.
  void remove(Ipv6Prefix prefix, std::uint32_t parent) {
    std::array<std::size_t, kDepths> way;
    way[0] = root_slot(prefix.address);
    unsigned depth = 0;
    for (; depth < depth_of(prefix.length); ++depth) {
      way[depth + 1] = slot_in(node_of(entries_[way[depth]]), prefix.address, depth + 1);
    }
    paint(way[depth], prefix.length, depth, parent);
    for (; depth > 0; --depth) {
      const auto node = static_cast<std::uint32_t>(way[depth] / IPV6_TRIE_NODE_ENTRIES);
      if (--used(node) > 0) break;
      // The node has no prefix and no node left, so all its entries have one answer.
      write(way[depth - 1], entries_[way[depth]]);
      retired_.push_back({grace_periods_.start(), node});
    }
    announce();
  }

  std::size_t nodes() const { return used_.size() - retired_.size() - free_.size(); }
  std::size_t bytes() const { return (kRootNodes + used_.size()) * IPV6_TRIE_NODE_ENTRIES * sizeof(std::uint32_t); }

 private:
  /// An unlinked node and the token of the grace period after which no reader accesses it.
  struct RetiredNode {
    std::uint64_t token;
    std::uint32_t node;
  };

  std::uint16_t& used(std::uint32_t node) { return used_[node - kRootNodes]; }

  /// Adds the prefix in new nodes below `slot` at depth `at`. The nodes inherit the answer of the slot.
  void hang(Ipv6Prefix prefix, std::uint32_t entry, std::size_t slot, unsigned at) {
    unsigned depth = depth_of(prefix.length);
    reserve(depth - at);
    std::uint32_t below = 0;
    for (bool first = true; depth > at; --depth, first = false) {
      const std::uint32_t node = take_node();
      const std::size_t begin = std::size_t{node} * IPV6_TRIE_NODE_ENTRIES;
      for (std::size_t i = begin; i < begin + IPV6_TRIE_NODE_ENTRIES; ++i) write(i, entries_[slot]);
      const std::size_t in_node = slot_in(node, prefix.address, depth);
      if (first) {
        paint(in_node, prefix.length, depth, entry);
      } else {
        write(in_node, IPV6_TRIE_NODE + below);
      }
      used(node) = 1;
      below = node;
    }
    write(slot, IPV6_TRIE_NODE + below);
  }

  /// Ensures that `count` nodes are free. May wait for grace periods. Throws std::length_error if the trie is full.
  void reserve(std::size_t count) {
    while (!retired_.empty() && grace_periods_.elapsed(retired_.front().token, false)) free_oldest();
    const std::size_t unused = kMaxNodes - used_.size();
    if (free_.size() + retired_.size() + unused < count) {
      throw std::length_error("the IPv6 trie is full: its limit is " + std::to_string(kMaxNodes) +
                              " nodes; aggregate or filter routes longer than 24 bits");
    }
    while (free_.size() + unused < count) {
      grace_periods_.elapsed(retired_.front().token, true);
      free_oldest();
    }
  }
  void free_oldest() {
    free_.push_back(retired_.front().node);
    retired_.pop_front();
  }
  std::uint32_t take_node() {
    if (!free_.empty()) {
      const std::uint32_t node = free_.back();
      free_.pop_back();
      return node;
    }
    used_.push_back(0);
    return static_cast<std::uint32_t>(kRootNodes + used_.size() - 1);
  }

  /// Replaces the answers under a prefix that no longer prefix covers. `slot` is the first slot of the prefix at its
  /// depth.
  void paint(std::size_t slot, unsigned length, unsigned depth, std::uint32_t entry) {
    const std::size_t end = slot + (std::size_t{1} << (bits_at(depth) - length));
    for (; slot < end; ++slot) paint_slot(slot, length, entry);
  }
  void paint_slot(std::size_t slot, unsigned length, std::uint32_t entry) {
    const std::uint32_t current = entries_[slot];
    if (is_node(current)) {
      const std::size_t begin = std::size_t{node_of(current)} * IPV6_TRIE_NODE_ENTRIES;
      for (std::size_t i = begin; i < begin + IPV6_TRIE_NODE_ENTRIES; ++i) paint_slot(i, length, entry);
    } else if (cover(current) <= length + 1) {
      write(slot, entry);
    }
  }

  /// Writes an entry that readers may load at the same time. The store is a release store: a reader that sees the link
  /// to a node also sees the entries of the node.
  void write(std::size_t slot, std::uint32_t entry) {
    if (entries_[slot] == entry) return;
    std::atomic_ref(entries_[slot]).store(entry, std::memory_order_release);
    if (table_ != nullptr && slot < (kRootNodes + announced_nodes_) * IPV6_TRIE_NODE_ENTRIES) {
      changes_.add(*table_, slot);
    }
  }

  /// Announces the changes to mirrors, or publishes the table again if it has outgrown their copies.
  void announce() {
    if (table_ == nullptr) return;
    if (used_.size() <= announced_nodes_) return changes_.flush(*table_);
    changes_ = TableChanges<std::uint32_t>{kRegion};
    publish_to(*table_);
  }

  static constexpr std::size_t kFirstNodes = 1024;

  GracePeriods& grace_periods_;
  Table* table_ = nullptr;
  HugeArray<std::uint32_t> entries_{std::size_t{kAllNodes} * IPV6_TRIE_NODE_ENTRIES};
  const ipv6_trie_view view_{entries_.data()};
  TableChanges<std::uint32_t> changes_{kRegion};

  std::vector<std::uint16_t> used_;            ///< by node: number of prefixes and nodes that have entries in it
  std::size_t announced_nodes_ = kFirstNodes;  ///< capacity of the mirrors' copies, in nodes
  std::vector<std::uint32_t> free_;
  std::deque<RetiredNode> retired_;  ///< in the order of their tokens
};

Ipv6Trie::Ipv6Trie(GracePeriods& grace_periods)
    : Ipv6Lookup(grace_periods, "ipv6_trie"), version_(std::make_unique<Version>(grace_periods)) {
  version_->publish_to(table());
}

Ipv6Trie::~Ipv6Trie() = default;

void Ipv6Trie::put(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) {
  version_->insert(prefix, next_hop, is_new);
}

void Ipv6Trie::take(Ipv6Prefix prefix, std::uint16_t /*next_hop*/) {
  const auto parent = prefix.length == 0 ? std::nullopt : prefixes().match(prefix.address, prefix.length - 1U);
  version_->remove(prefix, parent ? answer(parent->prefix.length, parent->next_hop) : 0);
}

void Ipv6Trie::rebuild() {
  auto next = std::make_unique<Version>(grace_periods());
  for (const auto& [prefix, next_hop] : prefixes()) next->insert(prefix, next_hop, true);
  next->publish_to(table());
  const std::unique_ptr<Version> old = std::exchange(version_, std::move(next));
  grace_periods().elapsed(grace_periods().start(), true);
}

std::size_t Ipv6Trie::nodes() const {
  return version_->nodes();
}

std::size_t Ipv6Trie::lookup_bytes() const {
  return version_->bytes();
}

}  // namespace penumbra
