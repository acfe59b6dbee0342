// SPDX-License-Identifier: Apache-2.0
//
// Builds plots for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// Returns a point of three samples within `width` of the value.
inline Point point_at(Place place, double value, double width = 0) {
  const double least = value * (1 - width), most = value * (1 + width);
  return {std::move(place), "", {value, least, most}, {least, value, most}, std::nullopt};
}

inline Curve curve(const std::string& name, const std::vector<std::pair<double, double>>& points,
                   Role role = Role::ours, double width = 0) {
  Curve found{name, role, {}};
  for (const auto& [place, value] : points) {
    found.points.push_back(point_at(place, value, width));
    found.points.back().role = role;
  }
  return found;
}

inline Plot plot_of_curves(std::vector<Curve> curves, const std::string& unit = "M items/s") {
  Plot plot;
  plot.measurement = "E6";
  plot.title = "a plot";
  plot.unit = unit;
  plot.panels.push_back({0, std::move(curves)});
  return plot;
}

}  // namespace penumbra::report
