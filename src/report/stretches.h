// SPDX-License-Identifier: Apache-2.0
//
// Describes the leaders along the places of a plot.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// With more stretches the changes of the lead are only counted.
inline constexpr std::size_t kMostStretches = 4;

/// Consecutive places with the same leader, or without a leader if they are level. Level places between two places of
/// the same leader are left out.
struct Stretch {
  const Curve* leader = nullptr;
  std::vector<Place> places;
};

/// Returns "gopt at cuckoo and names; AMAC at IPv6; none at DIR-24-8 (level)".
std::string leads_by_leader(const std::vector<Stretch>& stretches, const std::string& unit);
/// Describes a single stretch: "gopt is ahead" or "the best two are level", with the places. `is_all`: true if the plot
/// compares nothing else.
std::string only_text(const Stretch& only, const Plot& plot, bool is_all);
/// Returns "Ahead: gopt up to 64 and cuda from 256 on". `has_first`, `has_last`: true if the stretches begin or end
/// with the plot's places. `is_all`: true if no place in between is level.
std::string lead_text(const std::vector<Stretch>& stretches, const Plot& plot, bool has_first, bool has_last,
                      bool is_all);
/// Returns " The lead changes near 30 MiB." for the changes of the lead.
std::string crossing_text(const std::vector<Stretch>& stretches, const Plot& plot);

}  // namespace penumbra::report
