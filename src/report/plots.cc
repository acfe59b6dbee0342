// SPDX-License-Identifier: Apache-2.0
#include "report/plots.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace penumbra::report {
namespace {

/// Key of a plot: "is a table"; the measurement, or the benchmark for tables and plots without a measurement; title;
/// unit.
using PlotKey = std::tuple<bool, std::string, std::string, std::string>;

class Gathering {
 public:
  void add(std::size_t document, const Entry& entry, const Comparison& comparison) {
    Plot& plot = plot_for(entry, comparison);
    ++comparisons_;
    if (plot.panels.empty() || plot.panels.back().document != document) plot.panels.push_back({document, {}});
    for (const Contender& contender : comparison.contenders) {
      const auto& common = comparison.plot ? comparison.plot->at : std::nullopt;
      const Place place = contender.at ? *contender.at : common ? *common : Place(std::string());
      curve_for(plot, document, contender)
          .points.push_back({place, contender.name, contender.value, contender.samples, contender.ratio, contender.role,
                             comparisons_});
    }
  }

  std::vector<Plot> take() { return std::move(plots_); }

 private:
  Plot& plot_for(const Entry& entry, const Comparison& comparison) {
    const bool is_table = !comparison.plot;
    const std::string title = is_table ? comparison.title : comparison.plot->title;
    const bool is_of_benchmark = is_table || comparison.plot->measurement.empty();
    const PlotKey key{is_table, is_of_benchmark ? entry.benchmark : comparison.plot->measurement, title,
                      comparison.unit};
    const auto [found, is_new] = by_key_.try_emplace(key, plots_.size());
    if (is_new) {
      Plot plot;
      plot.is_table = is_table;
      plot.benchmark = entry.benchmark;
      plot.title = title;
      plot.unit = comparison.unit;
      plot.reference = comparison.reference;
      plot.measurement = is_of_benchmark ? measurement_of(entry, title) : comparison.plot->measurement;
      if (!is_table) plot.x = comparison.plot->x;
      if (!is_table) plot.x_unit = comparison.plot->x_unit;
      plots_.push_back(std::move(plot));
    }
    return plots_[found->second];
  }

  Curve& curve_for(Plot& plot, std::size_t document, const Contender& contender) {
    std::vector<Curve>& curves = plot.panels.back().curves;
    const std::string& name = plot.is_table ? contender.name : contender.curve;
    const auto index = static_cast<std::size_t>(&plot - plots_.data());
    const auto [found, is_new] = curve_by_key_.try_emplace({index, document, name}, curves.size());
    if (is_new) curves.push_back({name, Role::ours, {}});
    return curves[found->second];
  }

  std::vector<Plot> plots_;
  std::size_t comparisons_ = 0;  ///< Number of added comparisons.
  std::map<PlotKey, std::size_t> by_key_;
  std::map<std::tuple<std::size_t, std::size_t, std::string>, std::size_t> curve_by_key_;
};

/// Returns the role of most points; among equals the first.
Role most_common_role(const std::vector<Point>& points) {
  const auto count = [&points](Role role) { return std::ranges::count(points, role, &Point::role); };
  Role most = points.front().role;
  for (const Point& point : points) {
    if (count(point.role) > count(most)) most = point.role;
  }
  return most;
}

/// Keeps one point at each place, the last one, and sorts numeric places.
void put_in_order(Curve& curve, bool by_words, const std::string& x_unit) {
  std::map<Place, std::size_t> kept;
  std::vector<Point> points;
  for (Point& point : curve.points) {
    if (by_words) point.place = place_name(point.place, x_unit);
    const auto [found, is_new] = kept.try_emplace(point.place, points.size());
    if (is_new) {
      points.push_back(std::move(point));
    } else {
      points[found->second] = std::move(point);
    }
  }
  if (!by_words) std::ranges::sort(points, {}, &Point::place);
  curve.points = std::move(points);
  curve.role = most_common_role(curve.points);
}

}  // namespace

const Point* Curve::at(const Place& place) const {
  const auto found = std::ranges::find(points, place, &Point::place);
  return found == points.end() ? nullptr : &*found;
}

const Point* Curve::near(const Place& place) const {
  const auto* number = std::get_if<double>(&place);
  if (number == nullptr) return at(place);
  std::vector<Place> places;
  places.reserve(points.size());
  for (const Point& point : points) places.push_back(point.place);
  const Place* found = nearest(places, *number);
  return found == nullptr ? nullptr : at(*found);
}

bool Curve::has_several_roles() const {
  return std::ranges::any_of(points, [this](const Point& point) { return point.role != points.front().role; });
}

std::vector<Place> Plot::places() const {
  std::vector<Place> all;
  std::set<Place> seen;
  for (const Panel& panel : panels) {
    for (const Curve& curve : panel.curves) {
      for (const Point& point : curve.points) {
        if (seen.insert(point.place).second) all.push_back(point.place);
      }
    }
  }
  if (!is_by_words()) std::ranges::sort(all);
  return all;
}

bool Plot::is_by_words() const {
  return std::ranges::any_of(panels, [](const Panel& panel) {
    return std::ranges::any_of(panel.curves, [](const Curve& curve) {
      return std::ranges::any_of(curve.points,
                                 [](const Point& point) { return std::holds_alternative<std::string>(point.place); });
    });
  });
}

std::vector<Plot> plots_of(const std::vector<Document>& documents) {
  Gathering gathering;
  for (std::size_t document = 0; document < documents.size(); ++document) {
    for (const Entry& entry : documents[document].entries) {
      for (const Comparison& comparison : entry.comparisons) gathering.add(document, entry, comparison);
    }
  }
  std::vector<Plot> plots = gathering.take();
  for (Plot& plot : plots) {
    const bool by_words = plot.is_by_words();
    for (Panel& panel : plot.panels) {
      for (Curve& curve : panel.curves) put_in_order(curve, by_words, plot.x_unit);
    }
  }
  return plots;
}

std::string measurement_of(const Entry& entry, const std::string& title) {
  const auto is_part_of_word = [&title](std::size_t place) {
    return place < title.size() && std::isalnum(static_cast<unsigned char>(title[place])) != 0;
  };
  for (const std::string& measurement : entry.measurements) {
    if (measurement.empty()) continue;
    const std::size_t found = title.find(measurement);
    if (found == std::string::npos || is_part_of_word(found + measurement.size())) continue;
    if (found == 0 || !is_part_of_word(found - 1)) return measurement;
  }
  return entry.measurements.empty() ? std::string() : entry.measurements.front();
}

const Place* nearest(const std::vector<Place>& places, double wanted) {
  constexpr double kNear = 0.1;
  const Place* found = nullptr;
  double distance = kNear * std::abs(wanted);
  for (const Place& place : places) {
    const auto* number = std::get_if<double>(&place);
    if (number == nullptr || std::abs(*number - wanted) > distance) continue;
    distance = std::abs(*number - wanted);
    found = &place;
  }
  return found;
}

bool has_enough_samples(const Point& point) {
  return point.samples.size() >= kEnoughSamples;
}

Spread stated_spread(const Point& point) {
  Spread spread = point.value;
  if (has_enough_samples(point)) return spread;
  const double assumed = kAssumedSpread * std::abs(spread.median);
  spread.least = std::min(spread.least, spread.median - assumed);
  spread.most = std::max(spread.most, spread.median + assumed);
  return spread;
}

bool are_apart(const Point& a, const Point& b) {
  const Spread of_a = stated_spread(a), of_b = stated_spread(b);
  return of_a.least > of_b.most || of_b.least > of_a.most;
}

std::optional<Spread> ratio(const Point& of, const Point& to) {
  if (to.value.median == 0) return std::nullopt;
  std::vector<double> ratios;
  if (of.comparison == to.comparison && of.samples.size() == to.samples.size()) {
    for (std::size_t round = 0; round < of.samples.size(); ++round) {
      if (to.samples[round] != 0) ratios.push_back(of.samples[round] / to.samples[round]);
    }
  }
  if (ratios.size() >= kEnoughSamples) return spread(std::move(ratios));
  const double median = ratios.empty() ? of.value.median / to.value.median : spread(std::move(ratios)).median;
  const Spread above = stated_spread(of), below = stated_spread(to);
  const double most = below.least > 0 ? above.most / below.least : std::numeric_limits<double>::infinity();
  return Spread{median, std::min(median, above.least / below.most), std::max(median, most)};
}

}  // namespace penumbra::report
