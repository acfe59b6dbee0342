// SPDX-License-Identifier: Apache-2.0
//
// IPv6 addresses as runs with one answer, and the division of runs into lines of ipv6_runs.shader.h.
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

/// The start of a run of addresses with one answer. `value` is as in a line.
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

/// Returns the runs of a region in order, for prefixes of at most `longest` bits. The first run begins where the region
/// begins, and adjacent runs have different values.
std::vector<Run> runs_in(const Ipv6Prefixes& prefixes, Ipv6Prefix region, unsigned longest = 128);

/// Calls `visit(part, runs)` for each of the 2^order parts of a region, with the runs of the part. The first run may
/// begin before the part.
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

/// Returns the bit at which the unit begins that lines compare in a region of `length` bits.
constexpr unsigned unit_begin(unsigned length) {
  return IPV6_RUNS_ROOT_BITS + (length - IPV6_RUNS_ROOT_BITS) / IPV6_RUNS_UNIT_BITS * IPV6_RUNS_UNIT_BITS;
}

/// The content of a line before it is written.
struct Pieces {
  /// Addresses from `unit` up to the next piece.
  struct Piece {
    std::uint32_t unit = 0;
    std::uint16_t value = 0;      ///< unless `deeper` has runs
    std::span<const Run> deeper;  ///< the runs of this unit if they differ within the unit
  };
  /// Divides the runs of a region of at least IPV6_RUNS_ROOT_BITS bits.
  Pieces(std::span<const Run> runs, Ipv6Prefix region);

  std::array<Piece, IPV6_RUNS_OF_A_LINE> piece;
  std::size_t count = 0;   ///< may exceed the capacity; only the pieces that fit are stored
  std::size_t deeper = 0;  ///< number of pieces with runs in `deeper`

  bool fit() const { return count <= piece.size(); }

 private:
  void add(std::uint32_t unit, std::uint16_t value, std::span<const Run> runs);

  std::uint32_t first_unit_;
};

/// The best number of bits that choose lines for these runs, at least `least`, and the approximate number of lines. A
/// run that does not fit into its first line costs `generosity` lines.
struct LineOrder {
  unsigned order = 0;
  std::size_t cost = 0;
};
LineOrder line_order(std::span<const Run> runs, Ipv6Prefix region, std::size_t generosity, unsigned least = 0);

/// Returns the best number of bits that choose elements after the root's bits.
unsigned slot_order(std::span<const Run> runs, Ipv6Prefix slot, std::size_t generosity);

}  // namespace penumbra::ipv6_runs
