// SPDX-License-Identifier: Apache-2.0
//
// Who is ahead along the places of a plot, in words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// With more of them the changes of the lead are only counted.
inline constexpr std::size_t kMostStretches = 4;

/// Consecutive places with one curve ahead, or none if they are level. Level places between two of its own are left
/// out.
struct Stretch {
  const Curve* leader = nullptr;
  std::vector<Place> places;
};

/// "gopt at cuckoo and names; AMAC at IPv6; none at DIR-24-8 (level)".
std::string leads_by_leader(const std::vector<Stretch>& stretches, const std::string& unit);
/// Of one stretch: "gopt is ahead", or "the best two are level", and where. `is_all`: whether it is all that the plot
/// compares.
std::string only_text(const Stretch& only, const Plot& plot, bool is_all);
/// "Ahead: gopt up to 64 and cuda from 256 on". `has_first`, `has_last`: whether the places of the stretches begin and
/// end with those of the plot. `is_all`: whether none of those between is level.
std::string lead_text(const std::vector<Stretch>& stretches, const Plot& plot, bool has_first, bool has_last,
                      bool is_all);
/// " The lead changes near 30 MiB.", of each change.
std::string crossing_text(const std::vector<Stretch>& stretches, const Plot& plot);

}  // namespace penumbra::report
