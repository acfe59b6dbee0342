// SPDX-License-Identifier: Apache-2.0
#include "report/stretches.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/crossings.h"

namespace penumbra::report {
namespace {

std::string stretch_text(const Stretch& stretch, const Plot& plot, bool is_first, bool is_last) {
  const std::string first = place_name(stretch.places.front(), plot.x_unit),
                    last = place_name(stretch.places.back(), plot.x_unit);
  if (first == last) return fmt::format("{} at {}", stretch.leader->name, last);
  if (is_first) return fmt::format("{} up to {}", stretch.leader->name, last);
  if (is_last) return fmt::format("{} from {} on", stretch.leader->name, first);
  return fmt::format("{} from {} to {}", stretch.leader->name, first, last);
}

}  // namespace

std::string leads_by_leader(const std::vector<Stretch>& stretches, const std::string& unit) {
  std::vector<std::pair<const Curve*, std::vector<std::string>>> by_leader;
  for (const Stretch& stretch : stretches) {
    auto found =
        std::ranges::find(by_leader, stretch.leader, &std::pair<const Curve*, std::vector<std::string>>::first);
    if (found == by_leader.end()) found = by_leader.insert(by_leader.end(), {stretch.leader, {}});
    for (const Place& place : stretch.places) found->second.push_back(place_name(place, unit));
  }
  std::vector<std::string> parts;
  parts.reserve(by_leader.size());
  for (const auto& [leader, places] : by_leader) {
    // A "; " ends a leader's part, so it cannot also separate places that contain commas.
    const std::string where = enumerate(places, " and ");
    parts.push_back(leader == nullptr ? fmt::format("none at {} (level)", where)
                                      : fmt::format("{} at {}", leader->name, where));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string only_text(const Stretch& only, const Plot& plot, bool is_all) {
  std::string who = only.leader == nullptr ? "The best two are level" : only.leader->name + " is ahead";
  const std::string name = place_name(only.places.back(), plot.x_unit);
  if (name.empty()) return who;
  if (only.places.size() == 1) {
    const std::string axis = !is_all || plot.is_by_words() || plot.x.empty() ? "" : fmt::format(" ({})", plot.x);
    return fmt::format("{} at {}{}", who, name, axis);
  }
  if (plot.is_by_words()) {
    return is_all ? fmt::format("{} at all {} places", who, only.places.size())
                  : fmt::format("{} at {}", who, place_names(only.places, plot.x_unit));
  }
  return fmt::format("{}{} from {} to {}", who, is_all ? " throughout," : "",
                     place_name(only.places.front(), plot.x_unit), name);
}

std::string lead_text(const std::vector<Stretch>& stretches, const Plot& plot, bool has_first, bool has_last,
                      bool is_all) {
  if (stretches.size() == 1) return only_text(stretches.front(), plot, is_all);
  if (plot.is_by_words()) return "Ahead: " + leads_by_leader(stretches, "");
  if (stretches.size() > kMostStretches) {
    return fmt::format("The lead changes {} times, from {} at {} to {} at {}", stretches.size() - 1,
                       stretches.front().leader->name, place_name(stretches.front().places.front(), plot.x_unit),
                       stretches.back().leader->name, place_name(stretches.back().places.back(), plot.x_unit));
  }
  std::vector<std::string> parts;
  parts.reserve(stretches.size());
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    parts.push_back(stretch_text(stretches[i], plot, has_first && i == 0, has_last && i + 1 == stretches.size()));
  }
  return "Ahead: " + enumerate(parts);
}

std::string crossing_text(const std::vector<Stretch>& stretches, const Plot& plot) {
  std::vector<std::string> where;
  for (std::size_t i = 1; i < stretches.size(); ++i) {
    const double from = std::get<double>(stretches[i - 1].places.back()),
                 to = std::get<double>(stretches[i].places.front());
    for (const double place : crossings(*stretches[i - 1].leader, *stretches[i].leader)) {
      if (place < from || place > to) continue;
      where.push_back(place_name(place, plot.x_unit));
      break;
    }
  }
  return where.empty() ? "" : fmt::format(" The lead changes near {}.", enumerate(where));
}

}  // namespace penumbra::report
