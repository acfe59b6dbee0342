// SPDX-License-Identifier: Apache-2.0
#include "report/targets.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/pattern.h"

namespace penumbra::report {
namespace {

struct Choice {
  const Curve* curve = nullptr;
  const Point* point = nullptr;
};

/// The best of the curves that match, at that place.
std::optional<Choice> best_at(const Plot& plot, const Panel& panel, const std::string& pattern, const Place& place) {
  std::optional<Choice> best;
  for (const Curve& curve : panel.curves) {
    if (!matches(pattern, curve.name)) continue;
    const Point* point = curve.at(place);
    if (point == nullptr) continue;
    if (best && advantage(point->value.median, best->point->value.median, plot.sense()) <= 1) continue;
    best = {&curve, point};
  }
  return best;
}

/// Those of the places that are meant.
std::vector<Place> chosen(std::vector<Place> places, const PlaceChoice& choice) {
  using Kind = PlaceChoice::Kind;
  if (places.empty() || choice.kind == Kind::all) return places;
  if (choice.kind == Kind::first) return {places.front()};
  if (choice.kind == Kind::last) return {places.back()};
  if (choice.kind == Kind::number) {
    const Place* found = nearest(places, choice.from);
    return found == nullptr ? std::vector<Place>() : std::vector<Place>{*found};
  }
  std::erase_if(places, [&choice](const Place& place) {
    const auto* number = std::get_if<double>(&place);
    if (choice.kind == Kind::range) return number == nullptr || *number < choice.from || *number > choice.to;
    return number != nullptr || !matches(choice.pattern, std::get<std::string>(place));
  });
  return places;
}

/// At which places the curves that match have a point.
std::vector<Place> places_of(const Plot& plot, const Panel& panel, const std::string& pattern) {
  std::vector<Place> places = plot.places();
  std::erase_if(places, [&](const Place& place) { return !best_at(plot, panel, pattern, place); });
  return places;
}

void find_in(const Plot& plot, const Panel& panel, const Target& target, const PlaceChoice& at,
             std::vector<Finding>& found) {
  for (const Place& place : chosen(places_of(plot, panel, target.of), at)) {
    const auto of = best_at(plot, panel, target.of, place);
    if (!of) continue;
    if (!target.to && !target.to_at) {
      found.push_back({&plot, place, of->curve->name, "", of->point->value.median, 0});
      continue;
    }
    const std::string& other = target.to ? *target.to : target.of;
    Place where = place;
    if (target.to_at) {
      const auto places = chosen(places_of(plot, panel, other), *target.to_at);
      if (places.empty() || places.front() == place) continue;
      where = places.front();
    }
    const auto to = best_at(plot, panel, other, where);
    if (!to || to->point == of->point) continue;
    const double value = ratio(*of->point, *to->point);
    std::string name = to->curve->name;
    if (target.to_at) name += " at " + place_name(where, plot.x_unit);
    found.push_back(
        {&plot, place, of->curve->name, name, value, plot.sense() == Sense::less && value != 0 ? 1 / value : value});
  }
}

}  // namespace

std::vector<Finding> find(const Target& target, const std::vector<Plot>& plots, std::size_t document,
                          const std::optional<PlaceChoice>& at) {
  std::vector<Finding> found;
  for (const Plot& plot : plots) {
    if (!matches(target.plot, plot.title) || !matches(target.unit, plot.unit)) continue;
    for (const Panel& panel : plot.panels) {
      if (panel.document == document) find_in(plot, panel, target, at.value_or(target.at), found);
    }
  }
  return found;
}

std::string text_of(const Finding& finding) {
  return finding.plot->title + ", " + short_text_of(finding);
}

std::string short_text_of(const Finding& finding) {
  const std::string place = place_name(finding.place, finding.plot->x_unit);
  const std::string where = place.empty() ? "" : " at " + place;
  if (finding.to.empty())
    return fmt::format("{}{}: {} {}", finding.of, where, figure(finding.value), finding.plot->unit);
  return fmt::format("{}{} over {}: {}", finding.of, where, finding.to, figure(finding.value));
}

}  // namespace penumbra::report
