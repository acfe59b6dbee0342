// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/shadowed.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/random.h"

namespace penumbra::acl {
namespace {

constexpr std::uint64_t kPort = 0xFFFF;

/// Returns the ports that a match accepts. normalised() expresses some ranges of ports by the mask. A mask that is no
/// prefix of ports belongs to an ICMP code. Such a mask counts as all ports, because the search compares masks bit by
/// bit.
PortRange ports_of(const PortRange& range, std::uint64_t value, std::uint64_t mask) {
  if (!range.is_all()) return range;
  const std::uint64_t open = ~mask & kPort;
  if ((open & (open + 1)) != 0) return {};
  return {static_cast<std::uint16_t>(value & kPort), static_cast<std::uint16_t>((value & kPort) | open)};
}

/// Holds an entry in the form that the search compares.
struct Pattern {
  RuleWords value{}, mask{};  ///< a range of ports is widened to the longest prefix that contains it
  PortRange source_ports, destination_ports;

  Pattern(const RuleMatch& match, RuleFields fields) : value(match.value), mask(match.mask) {
    const std::size_t last = words_of(fields) - 1;
    source_ports =
        ports_of(match.source_ports, match.value[last] >> kSourcePortShift, match.mask[last] >> kSourcePortShift);
    destination_ports = ports_of(match.destination_ports, match.value[last] >> kDestinationPortShift,
                                 match.mask[last] >> kDestinationPortShift);
    widen(match.source_ports, kSourcePortShift, last);
    widen(match.destination_ports, kDestinationPortShift, last);
  }

 private:
  void widen(const PortRange& range, unsigned shift, std::size_t last) {
    if (range.is_all()) return;
    const unsigned differing = static_cast<unsigned>(range.first) ^ range.last;
    const std::uint64_t prefix = kPort & ~((std::uint64_t{1} << std::bit_width(differing)) - 1);
    mask[last] |= prefix << shift;
    value[last] |= (range.first & prefix) << shift;
  }
};

bool is_within(const PortRange& inner, const PortRange& outer) {
  return outer.first <= inner.first && inner.last <= outer.last;
}

bool has_only_bits_of(const RuleWords& mask, const RuleWords& other) {
  for (std::size_t word = 0; word < kRuleWords; ++word) {
    if ((mask[word] & ~other[word]) != 0) return false;
  }
  return true;
}

/// Finds earlier entries by tuple space search (Srinivasan, Suri, Varghese: Packet Classification using Tuple Space
/// Search, SIGCOMM 1999). The entries of each mask form a subtable. An entry is compared only with entries that have
/// the same masked value.
class Search {
 public:
  Search(RuleFields fields, std::size_t comparisons) : fields_(fields), left_(comparisons) {}

  bool is_exhausted() const { return left_ == 0; }

  /// Returns the place of an earlier entry that covers `entry`. Adds `entry` if there is none.
  std::optional<std::size_t> add(const Entry& entry, std::size_t place) {
    const Pattern pattern(entry.match, fields_);
    const std::uint32_t subtable = subtable_of(pattern.mask);
    for (const std::uint32_t wider : subtables_[subtable].wider) {
      const auto found = subtables_[wider].entries.find(hash_of(pattern.value, subtables_[wider].mask));
      if (!spend()) return std::nullopt;
      if (found == subtables_[wider].entries.end()) continue;
      for (const Earlier& earlier : found->second) {
        if (!spend()) return std::nullopt;
        if (covers(earlier.match, pattern)) return earlier.place;
      }
    }
    const std::uint32_t own = subtable_of(entry.match.mask);
    subtables_[own].entries[hash_of(entry.match.value, entry.match.mask)].push_back({entry.match, place});
    return std::nullopt;
  }

 private:
  struct Earlier {
    RuleMatch match;
    std::size_t place;
  };
  struct Subtable {
    RuleWords mask{};
    std::vector<std::uint32_t> wider;  ///< subtables whose masks have only bits of this mask; includes this subtable
    std::unordered_map<std::uint64_t, std::vector<Earlier>> entries;
  };

  static std::uint64_t hash_of(const RuleWords& value, const RuleWords& mask) {
    std::uint64_t hash = 0;
    for (std::size_t word = 0; word < kRuleWords; ++word) hash = Random::mixed(hash ^ (value[word] & mask[word]));
    return hash;
  }

  bool covers(const RuleMatch& outer, const Pattern& inner) const {
    for (std::size_t word = 0; word < words_of(fields_); ++word) {
      if (((outer.value[word] ^ inner.value[word]) & outer.mask[word]) != 0) return false;
    }
    return is_within(inner.source_ports, outer.source_ports) &&
           is_within(inner.destination_ports, outer.destination_ports);
  }

  /// Returns the subtable of this mask, and creates it if necessary.
  std::uint32_t subtable_of(const RuleWords& mask) {
    const auto own = static_cast<std::uint32_t>(subtables_.size());
    const auto [found, added] = by_mask_.emplace(mask, own);
    if (!added) return found->second;
    Subtable& subtable = subtables_.emplace_back();
    subtable.mask = mask;
    for (std::uint32_t other = 0; other <= own && spend(); ++other) {
      if (has_only_bits_of(subtables_[other].mask, mask)) subtable.wider.push_back(other);
      if (other != own && has_only_bits_of(mask, subtables_[other].mask)) subtables_[other].wider.push_back(own);
    }
    return own;
  }

  bool spend() {
    if (left_ > 0) --left_;
    return left_ > 0;
  }

  RuleFields fields_;
  std::size_t left_;  ///< remaining comparisons
  std::vector<Subtable> subtables_;
  std::map<RuleWords, std::uint32_t> by_mask_;
};

}  // namespace

std::vector<Shadowed> find_shadowed(std::span<const Entry> entries, RuleFields fields, std::size_t most,
                                    std::size_t comparisons) {
  std::vector<Shadowed> shadowed;
  Search search(fields, comparisons);
  for (std::size_t place = 0; place < entries.size() && shadowed.size() < most && !search.is_exhausted(); ++place) {
    if (const auto by = search.add(entries[place], place)) shadowed.push_back({place, *by});
  }
  return shadowed;
}

}  // namespace penumbra::acl
