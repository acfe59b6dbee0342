// SPDX-License-Identifier: Apache-2.0
//
// IPv6 addresses with one answer as runs, and how runs are cut into lines of ipv6_runs.shader.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "penumbra/ip.h"
#include "tables/ipv6/ipv6_prefixes.h"
#include "tables/ipv6_runs/ipv6_runs.shader.h"

namespace penumbra::ipv6_runs {

/// Where addresses begin that have one answer. `value` is as a line has it.
struct Run {
  Ipv6Address start;
  std::uint16_t value = 0;
};

constexpr std::uint16_t value_of(std::uint16_t next_hop) {
  return static_cast<std::uint16_t>(~next_hop);
}
inline std::uint16_t value_of(const std::optional<Ipv6Entry>& best) {
  return best ? value_of(best->next_hop) : std::uint16_t{0};
}

/// The runs in a region, in order, if prefixes of at most `longest` bits count: the first begins where the region does,
/// and no two in a row have one value.
std::vector<Run> runs_in(const Ipv6Prefixes& prefixes, Ipv6Prefix region, unsigned longest = 128);

/// Calls `visit(part, runs)` for each of the 2^order parts of a region, with those of the runs that concern it: the
/// first may begin before the part.
template <class Visit>
void for_each_part(std::span<const Run> runs, Ipv6Prefix region, unsigned order, Visit visit) {
  Ipv6Prefix part{region.address, static_cast<std::uint8_t>(region.length + order)};
  std::size_t begin = 0;
  for (std::uint32_t number = 0; number < 1U << order; ++number) {
    const Ipv6Address last = part.last();
    while (begin + 1 < runs.size() && runs[begin + 1].start <= part.address) ++begin;
    std::size_t end = begin + 1;
    while (end < runs.size() && runs[end].start <= last) ++end;
    visit(part, runs.subspan(begin, end - begin));
    part.address = {last.high + (last.low == ~std::uint64_t{0} ? 1 : 0), last.low + 1};
  }
}

/// At which bit the unit begins in which lines tell the addresses of a region apart.
constexpr unsigned unit_begin(unsigned length) {
  return IPV6_RUNS_ROOT_BITS + (length - IPV6_RUNS_ROOT_BITS) / IPV6_RUNS_UNIT_BITS * IPV6_RUNS_UNIT_BITS;
}

/// A line's content before it is written.
struct Pieces {
  /// Addresses from a unit on up to the next piece.
  struct Piece {
    std::uint32_t unit = 0;
    std::uint16_t value = 0;      ///< unless they are deeper
    std::span<const Run> deeper;  ///< the runs of this one unit, if a line does not tell them apart
  };
  /// Of the line of a region of IPV6_RUNS_ROOT_BITS and more, whose runs these are.
  Pieces(std::span<const Run> runs, Ipv6Prefix region);

  std::array<Piece, IPV6_RUNS_OF_A_LINE> piece;
  std::size_t count = 0;   ///< may be more than fit; no more than fit are kept
  std::size_t deeper = 0;  ///< how many are deeper

  bool fit() const { return count <= piece.size(); }

 private:
  void add(std::uint32_t unit, std::uint16_t value, std::span<const Run> runs);

  std::uint32_t first_unit_;
};

/// By how many bits lines of these runs are best chosen, at least `least`, and how many lines it takes in the end,
/// about. Of runs that get no place in the line that they begin in, each is worth `generosity` lines.
struct LineOrder {
  unsigned order = 0;
  std::size_t cost = 0;
};
LineOrder line_order(std::span<const Run> runs, Ipv6Prefix region, std::size_t generosity, unsigned least = 0);

/// By how many bits elements behind the root's are best chosen.
unsigned slot_order(std::span<const Run> runs, Ipv6Prefix slot, std::size_t generosity);

}  // namespace penumbra::ipv6_runs
