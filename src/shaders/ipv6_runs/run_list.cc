// SPDX-License-Identifier: Apache-2.0
#include "shaders/ipv6_runs/run_list.h"

#include <algorithm>
#include <limits>

namespace penumbra::ipv6_runs {
namespace {

constexpr unsigned kMostOrder = 14;
/// What stands in a cache counts, by the bytes, and what a look-up does beside.
constexpr std::size_t kEntryCost = 1, kLineCost = 16, kNodeCost = 256, kEntriesCost = 16, kFurtherCost = 32;

Ipv6Address following(Ipv6Address address) {
  return {address.high + (address.low == ~std::uint64_t{0} ? 1 : 0), address.low + 1};
}

std::uint32_t unit_of(Ipv6Address address, unsigned at) {
  return ipv6_runs_unit({address.high, address.low}, at);
}
bool begins_unit(Ipv6Address address, unsigned at) {
  const unsigned bits = std::min(128U, at + IPV6_RUNS_UNIT_BITS);
  return Ipv6Prefix::around(address, bits).address == address;
}

/// Of how many runs a part of `bits` bits has more than a node holds.
std::size_t crowded(std::span<const Run> runs, unsigned bits) {
  constexpr std::size_t kOfANode = std::size_t{IPV6_RUNS_LINES_OF_A_NODE} * IPV6_RUNS_OF_A_LINE;
  std::size_t count = 0;
  for (std::size_t i = kOfANode; i < runs.size(); ++i) {
    count += Ipv6Prefix::around(runs[i - kOfANode].start, bits).contains(runs[i].start) ? 1 : 0;
  }
  return count;
}

/// Runs as they are met, one by one.
class Sweep {
 public:
  Sweep(Ipv6Prefix region, std::uint16_t value) : open_{{region.last(), value}} {
    runs_.push_back({region.address, value});
  }

  /// A prefix in the region, behind or inside those before it.
  void enter(Ipv6Prefix prefix, std::uint16_t value) {
    leave_before(prefix.address);
    open_.push_back({prefix.last(), value});
    begin(prefix.address, value);
  }
  std::vector<Run> finish() {
    const Ipv6Address end = open_.front().last;
    leave_before(end);
    return std::move(runs_);
  }

 private:
  struct Open {
    Ipv6Address last;
    std::uint16_t value;
  };

  void leave_before(Ipv6Address address) {
    while (open_.back().last < address) {
      const Ipv6Address next = following(open_.back().last);
      open_.pop_back();
      begin(next, open_.back().value);
    }
  }
  void begin(Ipv6Address start, std::uint16_t value) {
    if (runs_.back().start == start) runs_.pop_back();
    if (runs_.empty() || runs_.back().value != value) runs_.push_back({start, value});
  }

  std::vector<Open> open_;
  std::vector<Run> runs_;
};

}  // namespace

std::vector<Run> runs_in(const Ipv6Prefixes& prefixes, Ipv6Prefix region, unsigned longest) {
  Sweep sweep(region, value_of(prefixes.match(region.address, std::min<unsigned>(region.length, longest))));
  for (auto inner = prefixes.first_in(region); inner != prefixes.end(); ++inner) {
    const auto& [prefix, next_hop] = *inner;
    if (!region.contains(prefix.address)) break;
    if (prefix.length > region.length && prefix.length <= longest) sweep.enter(prefix, value_of(next_hop));
  }
  return sweep.finish();
}

std::vector<Piece> pieces_of(std::span<const Run> runs, Ipv6Prefix region) {
  const unsigned at = unit_begin(region.length);
  const std::uint32_t first = unit_of(region.address, at), last = unit_of(region.last(), at);
  std::vector<Piece> pieces;
  const auto add = [&pieces, first](std::uint32_t unit, std::uint16_t value, std::span<const Run> deeper) {
    if (pieces.size() == 1 && unit == first) pieces.clear();  // of the first unit only what comes last counts
    pieces.push_back({unit, value, deeper, {}});
  };
  add(first, runs[0].value, {});
  for (std::size_t i = 1; i < runs.size();) {
    const std::uint32_t unit = unit_of(runs[i].start, at);
    std::size_t end = i + 1;
    while (end < runs.size() && unit_of(runs[end].start, at) == unit) ++end;
    const bool whole = begins_unit(runs[i].start, at);
    if (whole && end == i + 1) {
      add(unit, runs[i].value, {});
    } else {
      const std::size_t begin = whole ? i : i - 1;
      add(unit, 0, runs.subspan(begin, end - begin));
      const bool next_is_told = end < runs.size() && unit_of(runs[end].start, at) == unit + 1;
      if (unit != last && !next_is_told) add(unit + 1, runs[end - 1].value, {});
    }
    i = end;
  }
  return pieces;
}

unsigned entry_order(std::span<const Run> runs, Ipv6Prefix region, bool of_root) {
  const unsigned least = of_root ? 0 : IPV6_RUNS_NODE + 1;
  unsigned best = least;
  std::size_t least_cost = std::numeric_limits<std::size_t>::max();
  for (unsigned order = least; order <= kMostOrder; ++order) {
    std::size_t cost = kEntryCost << order;
    if (cost >= least_cost) break;
    for_each_part(runs, region, order, [&cost, of_root](Ipv6Prefix part, std::span<const Run> its) {
      if (its.size() == 1) return;
      const std::size_t lines = lines_for(its.size());
      cost += lines * kLineCost;
      if (fit_node(its.size())) {
        cost += lines > 1 ? kNodeCost : 0;
      } else {
        cost += lines * kEntriesCost + kFurtherCost * (of_root ? crowded(its, part.length + kMostOrder) : its.size());
      }
    });
    if (cost < least_cost) {
      least_cost = cost;
      best = order;
    }
  }
  return best;
}

}  // namespace penumbra::ipv6_runs
