// SPDX-License-Identifier: Apache-2.0
#include "report/leads.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/pattern.h"
#include "report/standings.h"
#include "report/stretches.h"

namespace penumbra::report {
namespace {

constexpr std::size_t kMostLevelPlaces = 8;

/// The places with at least two curves. A comparable place has all curves that lead somewhere. At an incomplete place a
/// leader is missing, so its lead there means little.
struct Places {
  std::vector<Place> comparable, incomplete;
  bool has_first = false, has_last = false;  ///< True if the first or last of all places is comparable.
};

Places split_places(const Plot& plot, const Panel& panel) {
  std::vector<Place> compared;
  std::vector<const Curve*> leaders;
  for (const Place& place : plot.places()) {
    const auto lead = lead_at(panel, place, plot.sense());
    if (!lead) continue;
    compared.push_back(place);
    if (!lead->is_level()) leaders.push_back(lead->best.curve);
  }
  Places places;
  for (const Place& place : compared) {
    const bool has_all =
        std::ranges::all_of(leaders, [&](const Curve* leader) { return leader->at(place) != nullptr; });
    (has_all ? places.comparable : places.incomplete).push_back(place);
    if (place == compared.front()) places.has_first = has_all;
    if (place == compared.back()) places.has_last = has_all;
  }
  return places;
}

/// Returns each contender at its best place, the best contender first.
std::vector<Standing> bests(const Plot& plot, const Panel& panel) {
  std::vector<Standing> all;
  for (const Curve& curve : panel.curves) {
    if (!is_contender(curve)) continue;
    Standing best;
    for (const Point& point : curve.points) {
      const Standing standing{&curve, &point};
      if (best.point == nullptr || is_better(standing, best, plot.sense())) best = standing;
    }
    all.push_back(best);
  }
  std::ranges::stable_sort(all,
                           [&plot](const Standing& a, const Standing& b) { return is_better(a, b, plot.sense()); });
  return all;
}

/// Returns a sentence about the best value over all numbers of threads. More threads usually give more throughput, so
/// the leader at each number need not have the best value.
std::string best_of_all(const Plot& plot, const Panel& panel) {
  const bool is_by_cores = plot.sense() == Sense::more && matches("^threads$|^cores$|^workers$", plot.x);
  if (!is_by_cores) return "";
  const auto all = bests(plot, panel);
  if (all.size() < 2) return "";
  const Standing& best = all.front();
  return fmt::format(" Best of all is {} with {} {} ({}: {}).", best.curve->name, figure(best.point->value.median),
                     plot.unit, plot.x, place_name(best.point->place, plot.x_unit));
}

/// Compares curves without common places, each at its best place.
std::string at_their_bests(const Plot& plot, const Panel& panel) {
  const auto all = bests(plot, panel);
  if (all.size() < 2) return "";
  const auto with_figure = [&plot](const Standing& standing) {
    return fmt::format("{} at its best ({} at {})", standing.curve->name, figure(standing.point->value.median),
                       place_name(standing.point->place, plot.x_unit));
  };
  const double times = times_as_good(all[0], all[1], plot.sense());
  if (times < 1 + kTolerance) return fmt::format("{} and {} are level.", with_figure(all[0]), with_figure(all[1]));
  return fmt::format("{} is {} times as good as {}.", with_figure(all[0]), figure(times), with_figure(all[1]));
}

/// Returns "; ahead of those that were: a at 2 and 4; b at 8" for places where a leader was not measured.
std::string leads_among_measured(const Plot& plot, const Panel& panel, const std::vector<Place>& places) {
  std::vector<Stretch> leads;
  leads.reserve(places.size());
  for (const Place& place : places) {
    if (const auto lead = lead_at(panel, place, plot.sense())) leads.push_back({lead->leader(), {place}});
  }
  return "; ahead of those that were: " + leads_by_leader(leads, plot.x_unit);
}

/// Collects the leaders by place and their margins.
class Leads {
 public:
  explicit Leads(const Plot& plot) : plot_(&plot) {}
  void add(const Place& place, const Lead& lead) {
    if (lead.is_level()) {
      level_.push_back(place);
      return;
    }
    ++led_;
    if (!are_apart(*lead.best.point, *lead.next.point)) ++overlapping_;
    least_ = led_ == 1 ? lead.times : std::min(least_, lead.times);
    most_ = std::max(most_, lead.times);
    if (stretches_.empty() || stretches_.back().leader != lead.best.curve) stretches_.push_back({lead.best.curve, {}});
    stretches_.back().places.push_back(place);
  }
  /// `has_first`, `has_last`: true if the plot's first or last place was added.
  std::string text(bool has_first, bool has_last) const {
    if (led_ == 0) return only_text({nullptr, level_}, *plot_, true) + ".";
    const bool is_level_first = !level_.empty() && level_.front() < stretches_.front().places.front(),
               is_level_last = !level_.empty() && level_.back() > stretches_.back().places.back();
    std::string text =
        lead_text(stretches_, *plot_, has_first && !is_level_first, has_last && !is_level_last, level_.empty());
    if (!level_.empty()) text += fmt::format(" (level at {})", level_text());
    const std::string least = figure(least_), most = figure(most_);
    const std::string times = least == most ? least : least + " to " + most;
    text += plot_->sense() == Sense::less ? fmt::format("; the next best takes {} times as much.", times)
                                          : fmt::format(", by {} times over the next best.", times);
    if (stretches_.size() > 1 && stretches_.size() <= kMostStretches && !plot_->is_by_words())
      text += crossing_text(stretches_, *plot_);
    return text + overlap_text();
  }

 private:
  std::string level_text() const {
    if (level_.size() <= kMostLevelPlaces) return place_names(level_, plot_->x_unit);
    return fmt::format("{} of {} places", level_.size(), level_.size() + led_);
  }
  std::string overlap_text() const {
    if (overlapping_ == 0) return "";
    if (overlapping_ < led_) {
      return fmt::format(" At {} of {} places the spreads of the best two overlap.", overlapping_, led_);
    }
    return led_ == 1 ? " The two spreads overlap, so this may be chance."
                     : " The spreads of the best two overlap everywhere, so this may be chance.";
  }

  const Plot* plot_;
  std::vector<Stretch> stretches_;
  std::vector<Place> level_;
  std::size_t led_ = 0, overlapping_ = 0;  ///< Numbers of places.
  double least_ = 0, most_ = 0;            ///< Ratios to the next best.
};

}  // namespace

std::string who_leads(const Plot& plot, const Panel& panel) {
  Places places = split_places(plot, panel);
  if (places.comparable.empty() && places.incomplete.empty()) {
    return plot.is_by_words() ? "" : at_their_bests(plot, panel);
  }
  std::string incomplete;
  if (!places.incomplete.empty()) {
    incomplete = fmt::format(" At {} not all of these were measured{}.", place_names(places.incomplete, plot.x_unit),
                             plot.is_by_words() ? "" : leads_among_measured(plot, panel, places.incomplete));
  }
  if (plot.is_by_words()) {
    places.comparable = plot.places();  // Places that are words are compared separately.
  } else if (places.comparable.empty()) {
    return "No place has all of the curves that lead somewhere." + best_of_all(plot, panel);
  }
  Leads leads(plot);
  for (const Place& place : places.comparable) {
    if (const auto lead = lead_at(panel, place, plot.sense())) leads.add(place, *lead);
  }
  const bool is_of_one_place = places.comparable.size() + places.incomplete.size() == 1;
  return leads.text(places.has_first, places.has_last) + incomplete + (is_of_one_place ? "" : best_of_all(plot, panel));
}

}  // namespace penumbra::report
