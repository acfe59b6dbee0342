// SPDX-License-Identifier: Apache-2.0
#include "tables/ipv6_runs/run_list.h"

#include <algorithm>
#include <limits>

namespace penumbra::ipv6_runs {
namespace {

constexpr unsigned kMostSlotOrder = 14, kMostLineOrder = 12;
constexpr std::size_t kDeeperCost = 2;       ///< lines for a unit that needs lines of its own
constexpr std::size_t kEntriesOfALine = 16;  ///< entries that have the size of a line

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

/// Collects runs while prefixes are entered in order.
class Sweep {
 public:
  Sweep(Ipv6Prefix region, std::uint16_t value) : open_{{region.last(), value}} {
    runs_.push_back({region.address, value});
  }

  /// Enters a prefix of the region, after or inside the prefixes before it.
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

Pieces::Pieces(std::span<const Run> runs, Ipv6Prefix region)
    : first_unit_(unit_of(region.address, unit_begin(region.length))) {
  const unsigned at = unit_begin(region.length);
  const std::uint32_t last_unit = unit_of(region.last(), at);
  add(first_unit_, runs[0].value, {});
  for (std::size_t i = 1; i < runs.size();) {
    const std::uint32_t unit = unit_of(runs[i].start, at);
    std::size_t end = i + 1;
    while (end < runs.size() && unit_of(runs[end].start, at) == unit) ++end;
    const bool whole = begins_unit(runs[i].start, at);
    if (whole && end == i + 1) {
      add(unit, runs[i].value, {});
    } else {
      const std::size_t first = whole ? i : i - 1;
      add(unit, 0, runs.subspan(first, end - first));
      const bool next_is_told = end < runs.size() && unit_of(runs[end].start, at) == unit + 1;
      if (unit != last_unit && !next_is_told) {
        add(unit + 1, runs[end - 1].value, {});
      }
    }
    i = end;
  }
}

void Pieces::add(std::uint32_t unit, std::uint16_t value, std::span<const Run> runs) {
  // A later piece replaces an earlier one of the first unit.
  if (count == 1 && unit == first_unit_) count = 0;
  if (count < piece.size()) piece[count] = {unit, value, runs};
  ++count;
  if (!runs.empty()) ++deeper;
}

LineOrder line_order(std::span<const Run> runs, Ipv6Prefix region, std::size_t generosity, unsigned least) {
  if (runs.size() == 1) return {0, 0};
  LineOrder best{0, std::numeric_limits<std::size_t>::max()};
  // A line of two units always has room for all runs.
  const unsigned most = std::min(
      {kMostLineOrder, unit_begin(region.length) + IPV6_RUNS_UNIT_BITS - 1 - region.length, 128U - region.length});
  for (unsigned order = least; order <= most && std::size_t{1} << order < best.cost; ++order) {
    std::size_t cost = std::size_t{1} << order;
    for_each_part(runs, region, order, [&](Ipv6Prefix part, std::span<const Run> its) {
      if (its.size() == 1) return;
      const Pieces pieces(its, part);
      cost += pieces.fit() ? kDeeperCost * pieces.deeper : generosity * pieces.count;
    });
    if (cost < best.cost) best = {order, cost};
  }
  return best;
}

unsigned slot_order(std::span<const Run> runs, Ipv6Prefix slot, std::size_t generosity) {
  LineOrder best{0, std::numeric_limits<std::size_t>::max()};
  for (unsigned order = 0; order <= kMostSlotOrder; ++order) {
    std::size_t cost = (std::size_t{1} << order) / kEntriesOfALine;
    if (cost >= best.cost) break;
    for_each_part(runs, slot, order, [&](Ipv6Prefix part, std::span<const Run> its) {
      if (cost < best.cost) cost += line_order(its, part, generosity).cost;
    });
    if (cost < best.cost) best = {order, cost};
  }
  return best.order;
}

}  // namespace penumbra::ipv6_runs
