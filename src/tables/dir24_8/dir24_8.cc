// SPDX-License-Identifier: Apache-2.0
#include "dir24_8.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dir24_8.shader.h"
#include "penumbra/huge_memory.h"
#include "penumbra/table_changes.h"

namespace penumbra {
namespace {

static_assert(Dir24_8::kMaxGroups == DIR24_8_GROUPS && Dir24_8::kMaxNextHops == DIR24_8_NEXT_HOPS);
static_assert(Dir24_8::kNoRoute == DIR24_8_NO_ROUTE);

constexpr std::uint32_t kSlash24s = 1U << 24;
constexpr std::uint32_t kGroupNodes = 2 * DIR24_8_GROUP_ENTRIES;
constexpr std::size_t kTbl24Region = 0, kTbl8Region = 1;

/// Returns a next hop as the prefix heaps store it; 0 means no prefix.
constexpr std::uint16_t held(std::uint16_t next_hop) {
  return static_cast<std::uint16_t>(next_hop + 1);
}
constexpr std::uint16_t released(std::uint16_t value) {
  return static_cast<std::uint16_t>(value - 1);
}

bool is_group(std::uint16_t entry) {
  return entry >= DIR24_8_NEXT_HOPS && entry != DIR24_8_NO_ROUTE;
}

/// Returns the node of a prefix of at most 24 bits in a binary heap. Node 1 is the default route, and the children of p
/// are 2p and 2p + 1.
std::size_t short_node(std::uint32_t address, unsigned length) {
  return std::size_t{1} << length | static_cast<std::size_t>(std::uint64_t{address} >> (32 - length));
}

/// Returns the node of a prefix longer than 24 bits in the heap of its /24. Node 1 would be the /24 itself.
std::size_t long_node(std::uint32_t address, unsigned length) {
  return std::size_t{1} << (length - 24) | (address & 0xFF) >> (32 - length);
}

void require_valid(Ipv4Prefix prefix) {
  if (prefix.length > 32 || (prefix.address.value & ~prefix.mask()) != 0) {
    throw std::invalid_argument(to_string(prefix) + " is not a prefix: it has bits set past its length");
  }
}

void require_next_hop(std::uint16_t next_hop) {
  if (next_hop >= Dir24_8::kMaxNextHops) {
    throw std::length_error("next hop " + std::to_string(next_hop) + " is past the IPv4 table's limit of " +
                            std::to_string(Dir24_8::kMaxNextHops) + " next hops; let routes share next hops");
  }
}

}  // namespace

/// A complete table: the lookup tables and the prefixes that determine them.
class Dir24_8::Snapshot {
 public:
  explicit Snapshot(GracePeriods& grace_periods) : grace_periods_(grace_periods) {
    static_assert(DIR24_8_NO_ROUTE == 0xFFFF, "memset fills bytes");
    std::memset(tbl24_.data(), 0xFF, tbl24_.bytes());
  }

  /// Publishes the snapshot to `table`. Readers may then exist, and changes are announced.
  void publish_to(Table& table) {
    table_ = &table;
    table.publish(view_,
                  {{offsetof(dir24_8_view, tbl24), reinterpret_cast<const std::byte*>(tbl24_.data()), tbl24_.bytes()},
                   {offsetof(dir24_8_view, tbl8), reinterpret_cast<const std::byte*>(tbl8_.data()), tbl8_.bytes()}});
  }

  bool insert(Ipv4Prefix prefix, std::uint16_t next_hop) {
    const bool is_new = prefix.length <= 24 ? insert_short(prefix, next_hop) : insert_long(prefix, next_hop);
    announce();
    return is_new;
  }

  bool remove(Ipv4Prefix prefix) {
    const bool was_there = prefix.length <= 24 ? remove_short(prefix) : remove_long(prefix);
    announce();
    return was_there;
  }

  std::optional<std::uint16_t> find(Ipv4Prefix prefix) const {
    std::uint16_t value = 0;
    if (prefix.length <= 24) {
      value = short_values_[short_node(prefix.address.value, prefix.length)];
    } else if (const std::uint16_t entry = tbl24_[prefix.address.value >> 8]; is_group(entry)) {
      value = long_values(group_of(entry))[long_node(prefix.address.value, prefix.length)];
    }
    return value == 0 ? std::nullopt : std::optional(released(value));
  }

  std::optional<Entry> match(Ipv4Address address) const {
    const auto entry_of = [address](unsigned length, std::uint16_t value) {
      Ipv4Prefix prefix{address, static_cast<std::uint8_t>(length)};
      prefix.address.value &= prefix.mask();
      return Entry{prefix, released(value)};
    };
    const std::uint32_t slash24 = address.value >> 8;
    if (is_group(tbl24_[slash24])) {
      const std::uint16_t* const values = long_values(group_of(tbl24_[slash24]));
      for (unsigned length = 32; length > 24; --length) {
        if (const std::uint16_t value = values[long_node(address.value, length)]; value != 0) {
          return entry_of(length, value);
        }
      }
    }
    if (cover_[slash24] == 0) return std::nullopt;
    const unsigned length = cover_[slash24] - 1U;
    return entry_of(length, short_values_[short_node(address.value, length)]);
  }

  void for_each(const std::function<void(const Entry&)>& visit) const {
    const auto offer = [&visit](std::uint32_t address, unsigned length, std::uint16_t value) {
      if (value != 0) visit({{{address}, static_cast<std::uint8_t>(length)}, released(value)});
    };
    for (std::uint32_t slash24 = 0; slash24 < kSlash24s; ++slash24) {
      const std::uint32_t network = slash24 << 8;
      // A prefix that begins here also covers this /24, so it is not longer than the longest that covers the /24.
      for (unsigned length = shortest_at(network); length < cover_[slash24]; ++length) {
        offer(network, length, short_values_[short_node(network, length)]);
      }
      if (!is_group(tbl24_[slash24])) continue;
      const std::uint16_t* const values = long_values(group_of(tbl24_[slash24]));
      for (std::uint32_t address = network; address < network + DIR24_8_GROUP_ENTRIES; ++address) {
        for (unsigned length = std::max(25U, shortest_at(address)); length <= 32; ++length) {
          offer(address, length, values[long_node(address, length)]);
        }
      }
    }
  }

  std::size_t size() const { return size_; }
  std::size_t groups() const { return groups_begun_ - retired_.size(); }
  std::size_t memory_bytes() const {
    return tbl24_.bytes() + tbl8_.bytes() + short_values_.bytes() + cover_.bytes() + long_values_.bytes() +
           group_sizes_.bytes();
  }

 private:
  /// An unlinked group and the token of the grace period after which no reader accesses it.
  struct RetiredGroup {
    std::uint64_t token;
    std::uint16_t group;
  };

  static std::uint16_t group_of(std::uint16_t entry) { return static_cast<std::uint16_t>(entry - DIR24_8_NEXT_HOPS); }
  static unsigned shortest_at(std::uint32_t address) { return 32 - std::min(32, std::countr_zero(address)); }
  std::uint16_t* long_values(std::uint16_t group) { return &long_values_[std::size_t{group} * kGroupNodes]; }
  const std::uint16_t* long_values(std::uint16_t group) const {
    return &long_values_[std::size_t{group} * kGroupNodes];
  }

  bool insert_short(Ipv4Prefix prefix, std::uint16_t next_hop) {
    std::uint16_t& value = short_values_[short_node(prefix.address.value, prefix.length)];
    const bool is_new = value == 0;
    if (value == held(next_hop)) return false;
    if (is_new) add_one();
    value = held(next_hop);
    paint(prefix, prefix.length + 1U, next_hop);
    return is_new;
  }

  bool remove_short(Ipv4Prefix prefix) {
    std::size_t node = short_node(prefix.address.value, prefix.length);
    if (short_values_[node] == 0) return false;
    short_values_[node] = 0;
    --size_;
    unsigned parent = prefix.length;  // length of the parent + 1; 0 if no prefix covers this one
    for (node /= 2; node != 0 && short_values_[node] == 0; node /= 2) --parent;
    paint(prefix, parent, node == 0 ? kNoRoute : released(short_values_[node]));
    return true;
  }

  bool insert_long(Ipv4Prefix prefix, std::uint16_t next_hop) {
    const std::uint32_t slash24 = prefix.address.value >> 8;
    const std::size_t node = long_node(prefix.address.value, prefix.length);
    const std::uint16_t entry = tbl24_[slash24];
    if (!is_group(entry)) {
      const std::uint16_t group = take_group();
      long_values(group)[node] = held(next_hop);
      group_sizes_[group] = 1;
      fill_group(group, entry);
      write(tbl24_, tbl24_changes_, slash24, static_cast<std::uint16_t>(DIR24_8_NEXT_HOPS + group));
      return true;
    }
    const std::uint16_t group = group_of(entry);
    std::uint16_t& value = long_values(group)[node];
    const bool is_new = value == 0;
    if (value == held(next_hop)) return false;
    if (is_new) {
      add_one();
      ++group_sizes_[group];
    }
    value = held(next_hop);
    fill_group(group, cover_entry(slash24));
    return is_new;
  }

  bool remove_long(Ipv4Prefix prefix) {
    const std::uint32_t slash24 = prefix.address.value >> 8;
    if (!is_group(tbl24_[slash24])) return false;
    const std::uint16_t group = group_of(tbl24_[slash24]);
    std::uint16_t& value = long_values(group)[long_node(prefix.address.value, prefix.length)];
    if (value == 0) return false;
    value = 0;
    --size_;
    if (--group_sizes_[group] > 0) {
      fill_group(group, cover_entry(slash24));
    } else {
      write(tbl24_, tbl24_changes_, slash24, cover_entry(slash24));
      // The grace period must also cover readers of a copy that shares the groups.
      announce();
      retired_.push_back({grace_periods_.start(), group});
    }
    return true;
  }

  /// Counts one more prefix. Throws std::length_error if the table is full.
  void add_one() {
    if (size_ == kMaxPrefixes) {
      throw std::length_error("the IPv4 table is full: its limit is " + std::to_string(kMaxPrefixes) +
                              " prefixes; aggregate or filter routes");
    }
    ++size_;
  }

  /// Counts one more prefix and returns a group with an empty heap that no reader accesses. May wait for a grace
  /// period. Throws std::length_error if all groups are in use.
  std::uint16_t take_group() {
    const bool all_begun = groups_begun_ == kMaxGroups;
    if (all_begun && retired_.empty()) {
      throw std::length_error("the IPv4 table has prefixes longer than 24 bits in " + std::to_string(kMaxGroups) +
                              " different /24 networks, which is its limit; aggregate or filter such routes");
    }
    add_one();
    if (!retired_.empty() && grace_periods_.elapsed(retired_.front().token, all_begun)) {
      const std::uint16_t group = retired_.front().group;
      retired_.pop_front();
      return group;
    }
    return static_cast<std::uint16_t>(groups_begun_++);
  }

  /// Sets the cover of the /24s under `prefix`, except where a longer prefix of at most 24 bits covers the /24. The
  /// cover is a length + 1 (0 for none), and `entry` is its entry.
  void paint(Ipv4Prefix prefix, unsigned cover, std::uint16_t entry) {
    const std::uint32_t last = prefix.last().value >> 8;
    for (std::uint32_t slash24 = prefix.address.value >> 8; slash24 <= last; ++slash24) {
      if (cover_[slash24] > prefix.length + 1U) continue;
      cover_[slash24] = static_cast<std::uint8_t>(cover);
      const std::uint16_t current = tbl24_[slash24];
      if (is_group(current)) {
        fill_group(group_of(current), entry);
      } else {
        write(tbl24_, tbl24_changes_, slash24, entry);
      }
    }
  }

  /// Writes the entries of a group from its heap. `cover` is the entry of the longest prefix of at most 24 bits.
  void fill_group(std::uint16_t group, std::uint16_t cover) {
    const std::uint16_t* const values = long_values(group);
    std::array<std::uint16_t, kGroupNodes> best;
    best[1] = cover;
    for (std::size_t node = 2; node < kGroupNodes; ++node) {
      best[node] = values[node] != 0 ? released(values[node]) : best[node / 2];
    }
    const std::size_t first = std::size_t{group} * DIR24_8_GROUP_ENTRIES;
    for (std::size_t i = 0; i < DIR24_8_GROUP_ENTRIES; ++i) {
      write(tbl8_, tbl8_changes_, first + i, best[DIR24_8_GROUP_ENTRIES + i]);
    }
  }

  /// Returns the entry of the longest prefix of at most 24 bits that covers a /24.
  std::uint16_t cover_entry(std::uint32_t slash24) const {
    if (cover_[slash24] == 0) return kNoRoute;
    return released(short_values_[short_node(slash24 << 8, cover_[slash24] - 1U)]);
  }

  /// Writes an element that readers may load at the same time. The store is a release store: a reader that sees the
  /// link to a group also sees the entries of the group.
  void write(HugeArray<std::uint16_t>& array, TableChanges<std::uint16_t>& changes, std::size_t index,
             std::uint16_t value) {
    if (array[index] == value) return;
    std::atomic_ref(array[index]).store(value, std::memory_order_release);
    if (table_ != nullptr) changes.add(*table_, index);
  }

  /// Announces groups before the entries that link them, for a mirror that copies immediately.
  void announce() {
    if (table_ == nullptr) return;
    tbl8_changes_.flush(*table_);
    tbl24_changes_.flush(*table_);
  }

  GracePeriods& grace_periods_;
  Table* table_ = nullptr;
  HugeArray<std::uint16_t> tbl24_{kSlash24s};
  HugeArray<std::uint16_t> tbl8_{kMaxGroups * DIR24_8_GROUP_ENTRIES};
  const dir24_8_view view_{tbl24_.data(), tbl8_.data()};
  TableChanges<std::uint16_t> tbl24_changes_{kTbl24Region}, tbl8_changes_{kTbl8Region};

  HugeArray<std::uint16_t> short_values_{2 * std::size_t{kSlash24s}};  ///< heap of the prefixes of at most 24 bits
  /// By /24: 1 + the length of the longest prefix of at most 24 bits that covers it, or 0.
  HugeArray<std::uint8_t> cover_{kSlash24s};
  HugeArray<std::uint16_t> long_values_{kMaxGroups * kGroupNodes};  ///< each group's heap of longer prefixes
  HugeArray<std::uint16_t> group_sizes_{kMaxGroups};                ///< number of prefixes in each group's heap
  std::size_t groups_begun_ = 0;                                    ///< number of groups that were ever used
  std::deque<RetiredGroup> retired_;                                ///< in the order of their tokens
  std::size_t size_ = 0;
};

Dir24_8::Dir24_8(GracePeriods& grace_periods)
    : grace_periods_(grace_periods), snapshot_(std::make_unique<Snapshot>(grace_periods)) {
  snapshot_->publish_to(table_);
}

Dir24_8::~Dir24_8() = default;

bool Dir24_8::insert(Ipv4Prefix prefix, std::uint16_t next_hop) {
  require_valid(prefix);
  require_next_hop(next_hop);
  return snapshot_->insert(prefix, next_hop);
}

bool Dir24_8::remove(Ipv4Prefix prefix) {
  require_valid(prefix);
  return snapshot_->remove(prefix);
}

void Dir24_8::load(std::span<const Entry> entries) {
  // Inserts in the order of length, by a counting sort. No /24 is then painted twice at one length, and each group is
  // filled over its final cover.
  std::array<std::size_t, 34> begin_of_length{};
  for (const auto& [prefix, next_hop] : entries) {
    require_valid(prefix);
    require_next_hop(next_hop);
    ++begin_of_length[prefix.length + 1U];
  }
  for (std::size_t length = 1; length < begin_of_length.size(); ++length) {
    begin_of_length[length] += begin_of_length[length - 1];
  }
  std::vector<const Entry*> by_length(entries.size());
  for (const Entry& entry : entries) by_length[begin_of_length[entry.prefix.length]++] = &entry;

  auto next = std::make_unique<Snapshot>(grace_periods_);
  for (const Entry* entry : by_length) next->insert(entry->prefix, entry->next_hop);
  next->publish_to(table_);
  const std::unique_ptr<Snapshot> old = std::exchange(snapshot_, std::move(next));
  grace_periods_.elapsed(grace_periods_.start(), true);
}

std::optional<std::uint16_t> Dir24_8::find(Ipv4Prefix prefix) const {
  require_valid(prefix);
  return snapshot_->find(prefix);
}

std::optional<Dir24_8::Entry> Dir24_8::match(Ipv4Address address) const {
  return snapshot_->match(address);
}

void Dir24_8::for_each(const std::function<void(const Entry&)>& visit) const {
  snapshot_->for_each(visit);
}

std::size_t Dir24_8::size() const {
  return snapshot_->size();
}

std::size_t Dir24_8::groups() const {
  return snapshot_->groups();
}

std::size_t Dir24_8::memory_bytes() const {
  return snapshot_->memory_bytes();
}

}  // namespace penumbra
