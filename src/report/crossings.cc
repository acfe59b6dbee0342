// SPDX-License-Identifier: Apache-2.0
#include "report/crossings.h"

#include <cmath>
#include <optional>

namespace penumbra::report {

std::vector<double> crossings(const Curve& a, const Curve& b) {
  std::vector<std::pair<double, double>> ratios;
  for (const Point& point : a.points) {
    const Point* other = b.at(point.place);
    const auto* place = std::get_if<double>(&point.place);
    if (other == nullptr || place == nullptr || other->value.median <= 0) continue;
    ratios.emplace_back(*place, point.value.median / other->value.median);
  }
  return crossings(ratios);
}

std::vector<double> crossings(const std::vector<std::pair<double, double>>& ratios) {
  std::vector<double> found;
  std::optional<std::pair<double, double>> before;  // The place, and the logarithm of the ratio.
  for (const auto& [place, times] : ratios) {
    if (times <= 0) continue;
    const double difference = std::log(times);
    if (before && before->second * difference < 0) {
      const double part = before->second / (before->second - difference);
      found.push_back(before->first > 0 ? before->first * std::pow(place / before->first, part)
                                        : before->first + part * (place - before->first));
    }
    if (difference != 0) before = {place, difference};
  }
  return found;
}

}  // namespace penumbra::report
