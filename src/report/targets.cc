// SPDX-License-Identifier: Apache-2.0
#include "report/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "report/crossings.h"
#include "report/pattern.h"

namespace penumbra::report {
namespace {

struct Choice {
  const Curve* curve = nullptr;
  const Point* point = nullptr;
};

/// Numerator or denominator of a ratio: curves of a plot, of which the best counts.
struct Side {
  const Plot* plot = nullptr;
  std::vector<const Curve*> curves;

  bool is_better(const Choice& a, const Choice& b) const {
    return advantage(a.point->value.median, b.point->value.median, plot->sense()) > 1;
  }
  std::optional<Choice> best_at(const Place& place) const {
    std::optional<Choice> best;
    for (const Curve* curve : curves) {
      const Point* point = curve->at(place);
      if (point == nullptr || point->value.median == 0) continue;
      if (const Choice choice{curve, point}; !best || is_better(choice, *best)) best = choice;
    }
    return best;
  }
  /// Returns the places with a value.
  std::vector<Place> places() const {
    std::vector<Place> all = plot->places();
    std::erase_if(all, [this](const Place& place) { return !best_at(place); });
    return all;
  }
  std::vector<Place> best_place() const {
    std::optional<Choice> best;
    for (const Place& place : places()) {
      const auto choice = best_at(place);
      if (choice && (!best || is_better(*choice, *best))) best = choice;
    }
    return best ? std::vector<Place>{best->point->place} : std::vector<Place>();
  }
};

Side side_of(const Plot& plot, const Panel& panel, const std::string& pattern) {
  Side side{&plot, {}};
  for (const Curve& curve : panel.curves) {
    if (matches(pattern, curve.name)) side.curves.push_back(&curve);
  }
  return side;
}

/// Returns the selected places.
std::vector<Place> chosen(const Side& side, const PlaceChoice& choice) {
  using Kind = PlaceChoice::Kind;
  std::vector<Place> places = side.places();
  if (places.empty() || choice.kind == Kind::all) return places;
  if (choice.kind == Kind::first) return {places.front()};
  if (choice.kind == Kind::last) return {places.back()};
  if (choice.kind == Kind::best) return side.best_place();
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

/// The denominator, and its place if it differs from the numerator's.
struct Divisor {
  Side side;
  std::optional<PlaceChoice> at;
};

/// Adds the values of `of`, divided by the divisor if there is one.
void find_between(const Side& of, const std::optional<Divisor>& by, const PlaceChoice& at,
                  std::vector<Finding>& found) {
  for (const Place& place : chosen(of, at)) {
    const auto above = of.best_at(place);
    if (!above) continue;
    if (!by) {
      found.push_back({of.plot, place, above->curve->name, "", stated_spread(*above->point), {}, ""});
      continue;
    }
    const std::vector<Place> places = by->at ? chosen(by->side, *by->at) : std::vector<Place>{place};
    if (places.empty()) continue;
    const auto below = by->side.best_at(places.front());
    if (!below || below->point == above->point) continue;
    const auto value = ratio(*above->point, *below->point);
    if (!value) continue;
    std::string name = below->curve->name;
    const std::string where = place_name(places.front(), by->side.plot->x_unit);
    if (by->at && !where.empty()) name += " at " + where;
    if (by->side.plot != of.plot) name += " (" + by->side.plot->title + ")";
    const bool is_less_better = of.plot->sense() == Sense::less;
    const auto inverse = [](double each) { return each > 0 ? 1 / each : std::numeric_limits<double>::infinity(); };
    const Spread ahead =
        is_less_better ? Spread{inverse(value->median), inverse(value->most), inverse(value->least)} : *value;
    found.push_back({of.plot, place, above->curve->name, name, *value, ahead, ""});
  }
}

bool has_needed(const Panel& panel, const Target& target) {
  return target.needs.empty() ||
         std::ranges::any_of(panel.curves, [&target](const Curve& curve) { return matches(target.needs, curve.name); });
}

/// Returns nothing if the target divides by nothing, or a side without curves if these results lack it.
std::optional<Divisor> divisor_of(const Target& target, const Plot& plot, const Panel& panel, const Side& of,
                                  const std::vector<Plot>& plots) {
  if (!target.to_plot) {
    if (target.to) return Divisor{side_of(plot, panel, *target.to), target.to_at};
    return target.to_at ? std::optional(Divisor{of, target.to_at}) : std::nullopt;
  }
  const PlaceChoice at = target.to_at.value_or(PlaceChoice{PlaceChoice::Kind::best, 0, 0, ""});
  for (const Plot& other : plots) {
    if (other.measurement != target.measurement || other.unit != plot.unit) continue;
    if (!matches(*target.to_plot, other.title)) continue;
    const auto its = std::ranges::find(other.panels, panel.document, &Panel::document);
    if (its != other.panels.end()) return Divisor{side_of(other, *its, target.to.value_or(target.of)), at};
  }
  return Divisor{{&plot, {}}, at};
}

}  // namespace

std::vector<Finding> find(const Target& target, const std::vector<Plot>& plots, std::size_t document,
                          const std::optional<PlaceChoice>& at) {
  std::vector<Finding> found;
  for (const Plot& plot : plots) {
    if (plot.measurement != target.measurement) continue;
    if (!matches(target.plot, plot.title) || !matches(target.unit, plot.unit)) continue;
    for (const Panel& panel : plot.panels) {
      if (panel.document != document || !has_needed(panel, target)) continue;
      const Side all = side_of(plot, panel, target.of);
      std::vector<Side> sides{all};
      if (target.of_each) {
        sides.clear();
        for (const Curve* curve : all.curves) sides.push_back({&plot, {curve}});
      }
      for (const Side& side : sides) {
        find_between(side, divisor_of(target, plot, panel, side, plots), at.value_or(target.at), found);
      }
    }
  }
  return found;
}

std::vector<Finding> over_the_same(const std::vector<Finding>& findings, const std::vector<Finding>& others,
                                   bool of_each) {
  std::vector<Finding> found;
  for (const Finding& above : findings) {
    const auto below = std::ranges::find_if(
        others, [&](const Finding& other) { return other.plot == above.plot && (!of_each || other.of == above.of); });
    if (below == others.end() || below->place == above.place || below->value.median == 0) continue;
    const Spread &of = above.value, &to = below->value;
    const double most = to.least > 0 ? of.most / to.least : std::numeric_limits<double>::infinity();
    const bool is_same_pair = below->of == above.of && below->to == above.to;
    Finding ratio = above;
    ratio.value = {of.median / to.median, of.least / to.most, most};
    ratio.ahead = {};
    ratio.than = fmt::format("{} at {}", is_same_pair ? "the same" : below->of + " over " + below->to,
                             place_name(below->place, below->plot->x_unit));
    found.push_back(ratio);
  }
  return found;
}

std::vector<double> crossings_of(const std::vector<Finding>& findings) {
  std::vector<std::pair<double, double>> ratios;
  for (const Finding& finding : findings) {
    if (const auto* place = std::get_if<double>(&finding.place)) ratios.emplace_back(*place, finding.value.median);
  }
  return crossings(ratios);
}

std::string text_of(const Finding& finding) {
  return finding.plot->title + ", " + short_text_of(finding);
}

std::string short_text_of(const Finding& finding) {
  const std::string place = place_name(finding.place, finding.plot->x_unit);
  const std::string where = place.empty() ? "" : " at " + place;
  if (finding.to.empty())
    return fmt::format("{}{}: {} {}", finding.of, where, figure(finding.value.median), finding.plot->unit);
  const std::string value = figure(finding.value.median);
  if (finding.than.empty()) return fmt::format("{}{} over {}: {}", finding.of, where, finding.to, value);
  return fmt::format("{} over {}{}, over {}: {}", finding.of, finding.to, where, finding.than, value);
}

}  // namespace penumbra::report
