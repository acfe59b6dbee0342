// SPDX-License-Identifier: Apache-2.0
#include "report/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/crossings.h"
#include "report/pattern.h"

namespace penumbra::report {
namespace {

constexpr std::size_t kMostStretches = 4;

/// A curve's point at the place in question.
struct Standing {
  const Curve* curve = nullptr;
  const Point* point = nullptr;
};

/// Consecutive places with one curve ahead.
struct Stretch {
  const Curve* leader = nullptr;
  std::vector<Place> places;
};

bool is_better(const Standing& a, const Standing& b, Sense sense) {
  return sense == Sense::less ? a.point->value.median < b.point->value.median
                              : a.point->value.median > b.point->value.median;
}

/// What stands there of the curves that `wanted` takes, the best first.
template <class Wanted>
std::vector<Standing> ranking(const Panel& panel, const Place& place, Sense sense, const Wanted& wanted) {
  std::vector<Standing> all;
  for (const Curve& curve : panel.curves) {
    if (!wanted(curve)) continue;
    if (const Point* point = curve.at(place)) all.push_back({&curve, point});
  }
  std::ranges::sort(all, [sense](const Standing& a, const Standing& b) {
    if (a.point->value.median == b.point->value.median) return a.curve < b.curve;  // as they stand in the panel
    return is_better(a, b, sense);
  });
  return all;
}

bool is_contender(const Curve& curve) {
  return curve.role != Role::limit;
}

/// The least and the greatest of what was added, and where they were.
class Range {
 public:
  void add(double value, const Place& place, const std::string& beside) {
    if (is_empty_ || value < least_.value) least_ = {value, place, beside};
    if (is_empty_ || value > most_.value) most_ = {value, place, beside};
    is_empty_ = false;
    all_beside_one_ = all_beside_one_ && least_.beside == beside && most_.beside == beside;
  }
  bool is_empty() const { return is_empty_; }
  bool is_beside_one() const { return all_beside_one_; }
  std::string beside() const { return least_.beside; }
  /// "0.97 (AMAC, 64 MiB) to 1.17 (AMAC, 1 GiB)".
  std::string text(const std::string& unit) const {
    std::string one = end_text(least_, unit);
    if (least_.place == most_.place && least_.beside == most_.beside) return one;
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
    std::string beside;
  };
  std::string end_text(const End& end, const std::string& unit) const {
    std::vector<std::string> where;
    if (!all_beside_one_) where.push_back(end.beside);
    if (const std::string name = place_name(end.place, unit); !name.empty()) where.push_back("at " + name);
    return where.empty() ? figure(end.value) : fmt::format("{} ({})", figure(end.value), fmt::join(where, ", "));
  }
  End least_, most_;
  bool is_empty_ = true;
  bool all_beside_one_ = true;
};

/// "gopt at cuckoo and names; AMAC at IPv6".
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
    // A "; " ends a leader's part, so it cannot stand between places with commas as well.
    parts.push_back(fmt::format("{} at {}", leader->name, enumerate(places, " and ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string stretch_text(const Stretch& stretch, const Plot& plot, bool is_first, bool is_last) {
  const std::string first = place_name(stretch.places.front(), plot.x_unit),
                    last = place_name(stretch.places.back(), plot.x_unit);
  if (first == last) return fmt::format("{} at {}", stretch.leader->name, last);
  if (is_first) return fmt::format("{} up to {}", stretch.leader->name, last);
  if (is_last) return fmt::format("{} from {} on", stretch.leader->name, first);
  return fmt::format("{} from {} to {}", stretch.leader->name, first, last);
}

/// "They cross near 30 MiB", for the changes of the lead.
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

/// `has_first`, `has_last`: whether the places of the stretches begin and end with those of the plot.
std::string lead_text(const std::vector<Stretch>& stretches, const Plot& plot, bool has_first, bool has_last) {
  if (stretches.size() == 1) {
    const Stretch& only = stretches.front();
    const std::string name = place_name(only.places.back(), plot.x_unit);
    if (name.empty()) return only.leader->name + " is ahead";
    if (only.places.size() == 1) {
      const std::string axis = plot.is_by_words() || plot.x.empty() ? "" : fmt::format(" ({})", plot.x);
      return fmt::format("{} is ahead at {}{}", only.leader->name, name, axis);
    }
    if (plot.is_by_words()) return fmt::format("{} is ahead at all {} places", only.leader->name, only.places.size());
    return fmt::format("{} is ahead throughout, from {} to {}", only.leader->name,
                       place_name(only.places.front(), plot.x_unit), name);
  }
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

/// Where at least two stand, those with all of the curves that are ahead somewhere; and the others. Where one is
/// missing that leads elsewhere, who leads says nothing about it.
struct Places {
  std::vector<Place> comparable, incomplete;
  bool has_first = false, has_last = false;  ///< of all of them, among the comparable ones
};

Places split_places(const Plot& plot, const Panel& panel) {
  std::vector<Place> compared;
  std::vector<const Curve*> leaders;
  for (const Place& place : plot.places()) {
    const auto standings = ranking(panel, place, plot.sense(), is_contender);
    if (standings.size() < 2) continue;
    compared.push_back(place);
    leaders.push_back(standings.front().curve);
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

std::string names_of(const std::vector<Place>& places, const std::string& unit) {
  std::vector<std::string> names;
  names.reserve(places.size());
  for (const Place& place : places) names.push_back(place_name(place, unit));
  return enumerate(names);
}

/// Each contender where it is best, the best first.
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

/// With more threads all get more done: who leads at each number of them is not yet who gets most done.
std::string best_of_all(const Plot& plot, const Panel& panel) {
  const bool is_by_cores = plot.sense() == Sense::more && matches("^threads$|^cores$|^workers$", plot.x);
  if (!is_by_cores) return "";
  const auto all = bests(plot, panel);
  if (all.size() < 2) return "";
  const Standing& best = all.front();
  return fmt::format(" Best of all is {} with {} {} ({}: {}).", best.curve->name, figure(best.point->value.median),
                     plot.unit, plot.x, place_name(best.point->place, plot.x_unit));
}

/// Of curves that have no place in common: each where it is best.
std::string at_their_bests(const Plot& plot, const Panel& panel) {
  const auto all = bests(plot, panel);
  if (all.size() < 2) return "";
  const auto with_figure = [&plot](const Standing& standing) {
    return fmt::format("{} at its best ({} at {})", standing.curve->name, figure(standing.point->value.median),
                       place_name(standing.point->place, plot.x_unit));
  };
  const double times = advantage(all[0].point->value.median, all[1].point->value.median, plot.sense());
  return fmt::format("{} is {} times as good as {}.", with_figure(all[0]), figure(times), with_figure(all[1]));
}

/// "; ahead of those that were: a at 2 and 4; b at 8", of places where not all of the leaders were measured.
std::string leads_among_measured(const Plot& plot, const Panel& panel, const std::vector<Place>& places) {
  std::vector<Stretch> leads;
  leads.reserve(places.size());
  for (const Place& place : places) {
    leads.push_back({ranking(panel, place, plot.sense(), is_contender).front().curve, {place}});
  }
  return "; ahead of those that were: " + leads_by_leader(leads, plot.x_unit);
}

std::string who_wins(const Plot& plot, const Panel& panel) {
  Places places = split_places(plot, panel);
  if (places.comparable.empty() && places.incomplete.empty()) {
    return plot.is_by_words() ? "" : at_their_bests(plot, panel);
  }
  std::string incomplete;
  if (!places.incomplete.empty()) {
    const std::string names = names_of(places.incomplete, plot.x_unit);
    incomplete = fmt::format(" At {} not all of these were measured{}.", names,
                             plot.is_by_words() ? "" : leads_among_measured(plot, panel, places.incomplete));
  }
  if (plot.is_by_words()) {
    places.comparable = plot.places();  // each stands for itself
  } else if (places.comparable.empty()) {
    return "No place has all of the curves that lead somewhere." + best_of_all(plot, panel);
  }
  std::vector<Stretch> stretches;
  Range leads;
  std::size_t compared = 0, level = 0;
  for (const Place& place : places.comparable) {
    const auto standings = ranking(panel, place, plot.sense(), is_contender);
    if (standings.size() < 2) continue;
    ++compared;
    const Standing &best = standings[0], &next = standings[1];
    if (!are_apart(*best.point, *next.point)) ++level;
    leads.add(advantage(best.point->value.median, next.point->value.median, plot.sense()), place, "");
    if (stretches.empty() || stretches.back().leader != best.curve) stretches.push_back({best.curve, {}});
    stretches.back().places.push_back(place);
  }
  std::string text = lead_text(stretches, plot, places.has_first, places.has_last);
  text += plot.sense() == Sense::less ? fmt::format("; the next best takes {} times as much.", leads.figures())
                                      : fmt::format(", by {} times over the next best.", leads.figures());
  if (stretches.size() > 1 && stretches.size() <= kMostStretches && !plot.is_by_words())
    text += crossing_text(stretches, plot);
  if (level == compared) {
    text += compared == 1 ? " The two spreads overlap, so this may be chance."
                          : " The spreads of the best two overlap everywhere, so this may be chance.";
  } else if (level > 0) {
    text += fmt::format(" At {} of {} places the spreads of the best two overlap.", level, compared);
  }
  const bool is_of_one_place = places.comparable.size() + places.incomplete.size() == 1;
  return text + incomplete + (is_of_one_place ? "" : best_of_all(plot, panel));
}

/// The best of ours beside the best of another role, wherever there are both.
std::string ours_beside(Role role, const Plot& plot, const Panel& panel, const std::vector<Place>& places) {
  Range range, beyond_limit;
  std::vector<Place> beyond;
  for (const Place& place : places) {
    const auto ours = ranking(panel, place, plot.sense(), [](const Curve& curve) { return curve.role == Role::ours; });
    const auto others = ranking(panel, place, plot.sense(), [role](const Curve& curve) { return curve.role == role; });
    if (ours.empty() || others.empty()) continue;
    const double times = advantage(ours.front().point->value.median, others.front().point->value.median, plot.sense());
    const bool is_beyond = role == Role::limit && times > 1 + kAssumedSpread;
    if (is_beyond) beyond.push_back(place);
    (is_beyond ? beyond_limit : range).add(times, place, others.front().curve->name);
  }
  const auto who = [](const Range& of) { return of.is_beside_one() ? fmt::format(" ({})", of.beside()) : ""; };
  std::string text;
  if (!range.is_empty()) {
    text = role == Role::limit
               ? fmt::format("Of the limit{} the best of ours reaches {}.", who(range), range.text(plot.x_unit))
               : fmt::format("The best of ours is {} times as good as the best rival{}.", range.text(plot.x_unit),
                             who(range));
  }
  if (beyond.empty()) return text;
  if (!text.empty()) text += ' ';
  const std::string names = names_of(beyond, plot.x_unit);
  return text + fmt::format(
                    "{}ours is {} times what was measured as the limit{}: it bounds something else "
                    "there.",
                    names.empty() ? "Here " : "At " + names + " ", beyond_limit.figures(), who(beyond_limit));
}

/// For units of which neither more nor less is better.
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
  return parts.empty() || parts.size() > 2 * kMostStretches ? "" : fmt::format("{}.", fmt::join(parts, "; "));
}

/// Of a curve that has none beside it, or none that it competes with.
std::string course(const Plot& plot, const Curve& curve) {
  if (curve.points.size() < 2) return "";
  const auto [least, most] =
      std::ranges::minmax_element(curve.points, {}, [](const Point& point) { return point.value.median; });
  return fmt::format("{}: least {} at {}, most {} at {}.", curve.name, figure(least->value.median),
                     place_name(least->place, plot.x_unit), figure(most->value.median),
                     place_name(most->place, plot.x_unit));
}

/// Of a curve with the ways that are compared as its places: which of them is best, which worst, and the limits that
/// none of them beats.
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
    all.push_back(ours_beside(Role::limit, plot, panel, places));
  } else {
    const auto contenders = std::ranges::count_if(panel.curves, is_contender);
    all.push_back(who_wins(plot, panel));
    if (contenders == 1) all.push_back(course(plot, *std::ranges::find_if(panel.curves, is_contender)));
    all.push_back(ours_beside(Role::rival, plot, panel, places));
    all.push_back(ours_beside(Role::limit, plot, panel, places));
  }
  std::erase(all, "");
  return all;
}

}  // namespace penumbra::report
