// SPDX-License-Identifier: Apache-2.0
#include "report/sentences.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/leads.h"
#include "report/standings.h"

namespace penumbra::report {
namespace {

constexpr std::size_t kMostPlacesTold = 8;

/// The least and the greatest added value, and their places.
class Range {
 public:
  void add(double value, const Place& place, const std::string& other) {
    if (is_empty_ || value < least_.value) least_ = {value, place, other};
    if (is_empty_ || value > most_.value) most_ = {value, place, other};
    is_empty_ = false;
    has_one_other_ = has_one_other_ && least_.other == other && most_.other == other;
  }
  bool is_empty() const { return is_empty_; }
  bool has_one_other() const { return has_one_other_; }
  std::string other() const { return least_.other; }
  /// Returns "0.97 (AMAC, 64 MiB) to 1.17 (AMAC, 1 GiB)".
  std::string text(const std::string& unit) const {
    std::string one = end_text(least_, unit);
    if (least_.place == most_.place && least_.other == most_.other) return one;
    return one + " to " + end_text(most_, unit);
  }
  std::string figures() const {
    const std::string least = figure(least_.value), most = figure(most_.value);
    return least == most ? least : least + " to " + most;
  }

 private:
  struct End {
    double value = 0;
    Place place;
    std::string other;
  };
  std::string end_text(const End& end, const std::string& unit) const {
    std::vector<std::string> where;
    if (!has_one_other_) where.push_back(end.other);
    if (const std::string name = place_name(end.place, unit); !name.empty()) where.push_back("at " + name);
    return where.empty() ? figure(end.value) : fmt::format("{} ({})", figure(end.value), fmt::join(where, ", "));
  }
  End least_, most_;
  bool is_empty_ = true;
  bool has_one_other_ = true;
};

/// Compares the best of ours with the best of another role, wherever there are both.
std::string ours_compared(Role role, const Plot& plot, const Panel& panel, const std::vector<Place>& places) {
  Range range, beyond_limit;
  std::vector<Place> beyond;
  for (const Place& place : places) {
    const auto ours = ranking(panel, place, plot.sense(), [](const Curve& curve) { return curve.role == Role::ours; });
    const auto others = ranking(panel, place, plot.sense(), [role](const Curve& curve) { return curve.role == role; });
    if (ours.empty() || others.empty()) continue;
    const double times = times_as_good(ours.front(), others.front(), plot.sense());
    const bool is_beyond = role == Role::limit && times > 1 + kAssumedSpread;
    if (is_beyond) beyond.push_back(place);
    (is_beyond ? beyond_limit : range).add(times, place, others.front().curve->name);
  }
  const auto who = [](const Range& of) { return of.has_one_other() ? fmt::format(" ({})", of.other()) : ""; };
  std::string text;
  if (!range.is_empty()) {
    text = role == Role::limit
               ? fmt::format("Of the limit{} the best of ours reaches {}.", who(range), range.text(plot.x_unit))
               : fmt::format("The best of ours is {} times as good as the best rival{}.", range.text(plot.x_unit),
                             who(range));
  }
  if (beyond.empty()) return text;
  if (!text.empty()) text += ' ';
  const std::string names = place_names(beyond, plot.x_unit);
  return text + fmt::format(
                    "{}ours is {} times what was measured as the limit{}: it bounds something else "
                    "there.",
                    names.empty() ? "Here " : "At " + names + " ", beyond_limit.figures(), who(beyond_limit));
}

/// Returns the extremes for units of which neither more nor less is better.
std::string most_and_fewest(const Plot& plot, const Panel& panel, const std::vector<Place>& places) {
  std::vector<std::string> parts;
  for (const Place& place : places) {
    const auto standings = ranking(panel, place, Sense::more, is_contender);
    if (standings.size() < 2) continue;
    const Standing &most = standings.front(), &fewest = standings.back();
    const std::string name = place_name(place, plot.x_unit);
    parts.push_back(fmt::format("{}{} {} ({}), {} {} ({})", name.empty() ? "" : name + ": ", "most",
                                figure(most.point->value.median), most.curve->name, "least",
                                figure(fewest.point->value.median), fewest.curve->name));
  }
  return parts.empty() || parts.size() > kMostPlacesTold ? "" : fmt::format("{}.", fmt::join(parts, "; "));
}

/// Describes a curve without others, or without competitors.
std::string course(const Plot& plot, const Curve& curve) {
  if (curve.points.size() < 2) return "";
  const auto [least, most] =
      std::ranges::minmax_element(curve.points, {}, [](const Point& point) { return point.value.median; });
  return fmt::format("{}: least {} at {}, most {} at {}.", curve.name, figure(least->value.median),
                     place_name(least->place, plot.x_unit), figure(most->value.median),
                     place_name(most->place, plot.x_unit));
}

/// Describes a curve whose places are the compared ways: the best way, the worst way, and the limits that no way
/// exceeds.
std::string ways_along(const Plot& plot, const Curve& curve) {
  Curve ways = curve;
  std::erase_if(ways.points, [](const Point& point) { return point.role == Role::limit; });
  std::vector<std::string> limits;
  for (const Point& limit : curve.points) {
    const bool is_beaten = std::ranges::any_of(ways.points, [&](const Point& way) {
      return advantage(way.value.median, limit.value.median, plot.sense()) > 1;
    });
    if (limit.role != Role::limit || is_beaten) continue;
    limits.push_back(fmt::format("{} at {}", figure(limit.value.median), place_name(limit.place, plot.x_unit)));
  }
  std::string text = course(plot, ways);
  if (text.empty() || limits.empty()) return text;
  return fmt::format("{} {}: {}.", text, limits.size() == 1 ? "Its limit" : "Its limits", enumerate(limits));
}

}  // namespace

std::vector<std::string> sentences(const Plot& plot, const Panel& panel) {
  const std::vector<Place> places = plot.places();
  std::vector<std::string> all;
  if (plot.sense() == Sense::neither) {
    all.push_back(most_and_fewest(plot, panel, places));
  } else if (std::ranges::any_of(panel.curves, &Curve::has_several_roles)) {
    for (const Curve& curve : panel.curves) all.push_back(ways_along(plot, curve));
  } else if (!plot.is_race) {
    for (const Curve& curve : panel.curves) {
      if (is_contender(curve)) all.push_back(course(plot, curve));
    }
    all.push_back(ours_compared(Role::limit, plot, panel, places));
  } else {
    const auto contenders = std::ranges::count_if(panel.curves, is_contender);
    all.push_back(who_leads(plot, panel));
    if (contenders == 1) all.push_back(course(plot, *std::ranges::find_if(panel.curves, is_contender)));
    all.push_back(ours_compared(Role::rival, plot, panel, places));
    all.push_back(ours_compared(Role::limit, plot, panel, places));
  }
  std::erase(all, "");
  return all;
}

}  // namespace penumbra::report
