// SPDX-License-Identifier: Apache-2.0
#include "report/standings.h"

#include <algorithm>

namespace penumbra::report {

bool is_better(const Standing& a, const Standing& b, Sense sense) {
  return sense == Sense::less ? a.point->value.median < b.point->value.median
                              : a.point->value.median > b.point->value.median;
}

double times_as_good(const Standing& of, const Standing& than, Sense sense) {
  const auto times = ratio(*of.point, *than.point);
  if (!times || times->median == 0) return 0;
  return sense == Sense::less ? 1 / times->median : times->median;
}

bool is_contender(const Curve& curve) {
  return curve.role != Role::limit;
}

std::vector<Standing> ranking(const Panel& panel, const Place& place, Sense sense,
                              const std::function<bool(const Curve&)>& wanted) {
  std::vector<Standing> all;
  for (const Curve& curve : panel.curves) {
    if (!wanted(curve)) continue;
    if (const Point* point = curve.at(place)) all.push_back({&curve, point});
  }
  std::ranges::sort(all, [sense](const Standing& a, const Standing& b) {
    // Equal medians keep the order of the panel.
    if (a.point->value.median == b.point->value.median) return a.curve < b.curve;
    return is_better(a, b, sense);
  });
  return all;
}

std::optional<Lead> lead_at(const Panel& panel, const Place& place, Sense sense) {
  auto standings = ranking(panel, place, sense, is_contender);
  std::erase_if(standings, [](const Standing& each) { return each.point->value.median == 0; });
  if (standings.size() < 2) return std::nullopt;
  std::optional<Lead> lead;
  for (std::size_t i = 1; i < standings.size(); ++i) {
    const double times = times_as_good(standings.front(), standings[i], sense);
    if (!lead || times < lead->times) lead = Lead{standings.front(), standings[i], times};
  }
  return lead;
}

}  // namespace penumbra::report
