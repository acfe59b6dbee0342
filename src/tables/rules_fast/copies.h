// SPDX-License-Identifier: Apache-2.0
//
// The places of a rule in a hash table over some bits of the key.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "penumbra/rule.h"

namespace penumbra::rules_fast {

/// Maximum number of slots of one table that may hold a rule.
inline constexpr unsigned kMostCopies = 32;

/// The values that some bits of a port can have within a range of ports.
class PortValues {
 public:
  PortValues(const PortRange& range, std::uint64_t bits, unsigned shift) {
    const auto wanted = static_cast<std::uint32_t>(bits >> shift & 0xFFFF);
    if (wanted == 0 || range.is_all()) return;
    const std::uint32_t step = wanted & (~wanted + 1);
    is_range_ = true;
    count_ = 0;
    if ((range.last / step - range.first / step) >= 4 * kMostCopies) return;
    for (std::uint32_t port = range.first / step * step; port <= range.last; port += step) {
      const std::uint64_t value = std::uint64_t{port & wanted} << shift;
      bool is_new = true;
      for (unsigned i = 0; i < count_; ++i) is_new = is_new && values_[i] != value;
      if (!is_new) continue;
      if (count_ == kMostCopies) {
        count_ = 0;
        return;
      }
      values_[count_++] = value;
    }
  }

  /// Returns true if the range decides these bits; otherwise value and mask decide.
  bool is_range() const { return is_range_; }
  unsigned count() const { return count_; }  ///< 0 if there are too many values
  std::uint64_t operator[](unsigned i) const { return values_[i]; }

 private:
  std::array<std::uint64_t, kMostCopies> values_{};
  unsigned count_ = 1;
  bool is_range_ = false;
};

/// Calls visit(words) for each value that these bits of a matching key can have. Returns false, without a call, if
/// there are more than kMostCopies values.
template <class Visit>
bool for_each_copy(const RuleMatch& match, std::size_t words, const RuleWords& bits, Visit visit) {
  RuleWords open{}, known{};
  for (std::size_t word = 0; word < words; ++word) {
    open[word] = bits[word] & ~match.mask[word];
    known[word] = bits[word] & match.value[word];
  }
  unsigned open_bits = 0;
  const auto count_open_bits = [&] {
    open_bits = 0;
    for (std::size_t word = 0; word < words; ++word) open_bits += static_cast<unsigned>(std::popcount(open[word]));
  };
  if (!match.has_ranges()) {
    count_open_bits();
    if (open_bits == 0) {
      visit(known);
      return true;
    }
    if (1U << std::min(open_bits, 31U) > kMostCopies) return false;
  }
  constexpr std::uint64_t kPort = 0xFFFF;
  const PortValues source(match.source_ports, bits[words - 1], kSourcePortShift);
  const PortValues destination(match.destination_ports, bits[words - 1], kDestinationPortShift);
  const std::uint64_t decided = (source.is_range() ? kPort << kSourcePortShift : 0) |
                                (destination.is_range() ? kPort << kDestinationPortShift : 0);
  open[words - 1] &= ~decided;
  known[words - 1] &= ~decided;
  count_open_bits();
  const std::uint64_t copies = std::uint64_t{source.count()} * destination.count() << std::min(open_bits, 32U);
  if (copies == 0 || copies > kMostCopies) return false;

  RuleWords chosen{};
  for (;;) {
    for (unsigned i = 0; i < source.count(); ++i) {
      for (unsigned j = 0; j < destination.count(); ++j) {
        RuleWords copy = known;
        for (std::size_t word = 0; word < words; ++word) copy[word] |= chosen[word];
        copy[words - 1] |= source[i] | destination[j];
        visit(copy);
      }
    }
    std::size_t word = 0;
    while (word < words && (chosen[word] = (chosen[word] - open[word]) & open[word]) == 0) ++word;
    if (word == words) return true;
  }
}

}  // namespace penumbra::rules_fast
