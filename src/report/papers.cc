// SPDX-License-Identifier: Apache-2.0
#include "report/papers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "report/built_in.h"
#include "report/document.h"
#include "report/json_view.h"

namespace penumbra::report {
namespace {

std::pair<double, double> two_numbers(const JsonView& list) {
  const auto ends = list.list();
  if (ends.size() != 2) throw list.error("expected two numbers");
  return {ends[0].number(), ends[1].number()};
}

PlaceChoice choice_of(const JsonView& at) {
  using Kind = PlaceChoice::Kind;
  if (at.is_number()) return {Kind::number, at.number(), 0, ""};
  if (!at.is_text()) {
    const auto [from, to] = two_numbers(at);
    return {Kind::range, from, to, ""};
  }
  if (at.text() == "first") return {Kind::first, 0, 0, ""};
  if (at.text() == "last") return {Kind::last, 0, 0, ""};
  if (at.text() == "best") return {Kind::best, 0, 0, ""};
  return {Kind::words, 0, 0, at.text()};
}

/// Returns the measurement of the plots: one of E1 to E22, by default the file's.
std::string measurement_of(const JsonView& object, const std::string& of_file) {
  const auto other = object.find("measurement");
  if (!other) return of_file;
  if (!is_measurement(other->text())) throw other->error(fmt::format("expected one of E1 to E{}", kMeasurements));
  return other->text();
}

/// `measurement` is the file's measurement, the default of a target.
Target target_of(const JsonView& object, const std::string& measurement) {
  Target target;
  target.measurement = measurement_of(object, measurement);
  target.plot = object.text_or_none("plot");
  target.unit = object.text_or_none("unit");
  target.of = object.text_or_none("of");
  if (const auto each = object.find("of_each")) target.of_each = each->truth();
  if (const auto to = object.find("to")) target.to = to->text();
  if (const auto plot = object.find("to_plot")) target.to_plot = plot->text();
  target.needs = object.text_or_none("needs");
  if (const auto at = object.find("at")) target.at = choice_of(*at);
  if (const auto at = object.find("to_at")) target.to_at = choice_of(*at);
  return target;
}

PlaceOf place_of(const JsonView& ours, const JsonView& place) {
  using Kind = PlaceOf::Kind;
  if (place.text() == "crossing") return {Kind::crossing, 0};
  if (place.text() == "greatest") return {Kind::greatest, 0};
  if (place.text() == "first") return {Kind::first, ours.at("at_least").number()};
  if (place.text() == "last") return {Kind::last, ours.at("at_least").number()};
  throw place.error("expected crossing, greatest, first or last");
}

PaperNumber paper_number_of(const JsonView& object, const std::string& measurement) {
  PaperNumber number;
  number.what = object.at("what").text();
  number.where = object.text_or_none("where");
  number.unit = object.at("unit").text();
  number.x_unit = object.text_or_none("x_unit");
  if (const auto about = object.find("about")) number.is_approximate = about->truth();
  if (const auto value = object.find("value")) number.points.emplace_back(std::nullopt, value->number());
  for (const JsonView& point : object.list_or_none("points")) {
    const auto [place, value] = two_numbers(point);
    number.points.emplace_back(place, value);
  }
  if (number.points.empty()) throw object.error("expected a `value` or `points`");
  number.why_not = object.text_or_none("why_not");
  const auto ours = object.find("ours");
  if (ours.has_value() != number.why_not.empty()) throw object.error("expected `ours` or `why_not`");
  if (!ours) return number;
  number.ours = target_of(*ours, measurement);
  if (const auto scale = ours->find("scale")) number.scale = scale->number();
  if (const auto greatest = ours->find("greatest")) number.is_greatest = greatest->truth();
  if (const auto place = ours->find("place_of")) number.place_of = place_of(*ours, *place);
  return number;
}

Check check_of(const JsonView& object, const std::string& measurement) {
  Check check;
  check.target = target_of(object, measurement);
  const auto bound = [&object](const std::string& key) {
    const auto found = object.find(key);
    return found ? std::optional(found->number()) : std::nullopt;
  };
  check.at_least = bound("at_least");
  check.at_most = bound("at_most");
  check.ahead_up_to = bound("ahead_up_to");
  check.behind_from = bound("behind_from");
  if (const auto peak = object.find("peak")) {
    check.kind = Check::Kind::peak;
    std::tie(check.peak_from, check.peak_to) = two_numbers(*peak);
  } else if (check.ahead_up_to || check.behind_from) {
    check.kind = Check::Kind::ahead;
  } else if (!check.at_least && !check.at_most) {
    throw object.error("expected `at_least`, `at_most`, `ahead_up_to`, `behind_from` or `peak`");
  }
  if (const auto at = object.find("than_at")) {
    check.than_at = choice_of(*at);
    if (check.kind != Check::Kind::bounds) throw at->error("it goes with `at_least` and `at_most` alone");
    if (check.target.to_at || check.target.to_plot) throw at->error("it does not go with `to_at` or `to_plot`");
  }
  const bool needs_ratio = check.than_at || check.kind != Check::Kind::bounds;
  if (needs_ratio && !check.target.to) throw object.error("the key 'to' is missing");
  return check;
}

Conclusion conclusion_of(const JsonView& object, const std::string& measurement) {
  Conclusion conclusion;
  conclusion.says = object.at("says").text();
  conclusion.where = object.text_or_none("where");
  if (const auto is_ours = object.find("is_ours")) conclusion.is_ours = is_ours->truth();
  conclusion.why_not = object.text_or_none("why_not");
  if (const auto check = object.find("check")) conclusion.check = check_of(*check, measurement);
  if (!conclusion.check && conclusion.why_not.empty()) throw object.error("expected `check` or `why_not`");
  return conclusion;
}

PaperFigure figure_of(const JsonView& object, const std::string& measurement) {
  constexpr std::array<std::string_view, 6> kKeys{"figure", "measurement", "plot", "unit", "but", "why_not"};
  for (const auto& [key, value] : object.members()) {
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      throw value.error(fmt::format("a figure has no such key; there are: {}", fmt::join(kKeys, ", ")));
    }
  }
  PaperFigure figure;
  figure.figure = object.at("figure").text();
  if (figure.figure.find_first_of("0123456789") == std::string::npos) {
    throw object.at("figure").error("expected one with a number, as figure 8(a)");
  }
  figure.measurement = measurement_of(object, measurement);
  figure.plot = object.text_or_none("plot");
  figure.unit = object.text_or_none("unit");
  figure.but = object.text_or_none("but");
  figure.why_not = object.text_or_none("why_not");
  if (figure.plot.empty() == figure.why_not.empty()) throw object.error("expected `plot` or `why_not`");
  if (!figure.but.empty() && figure.plot.empty()) throw object.at("but").error("it goes with `plot` alone");
  return figure;
}

Paper paper_of(const JsonView& object, const std::string& measurement) {
  Paper paper{object.at("paper").text(), object.at("where").text(), object.text_or_none("on"), {}, {}, {}};
  for (const JsonView& each : object.list_or_none("figures")) paper.figures.push_back(figure_of(each, measurement));
  for (const JsonView& each : object.list_or_none("numbers")) {
    paper.numbers.push_back(paper_number_of(each, measurement));
  }
  for (const JsonView& each : object.list_or_none("conclusions")) {
    paper.conclusions.push_back(conclusion_of(each, measurement));
  }
  return paper;
}

}  // namespace

PaperMeasurement parse_papers(std::string_view text, const std::string& file) {
  const nlohmann::json json = parse_json(text, file);
  const JsonView root(json, file);
  PaperMeasurement measurement{
      root.at("measurement").text(), root.at("title").text(), root.text_or_none("about"), {}, {}};
  for (const JsonView& each : root.list_or_none("no_race")) measurement.no_race.push_back(each.text());
  for (const JsonView& each : root.at("papers").list()) {
    measurement.papers.push_back(paper_of(each, measurement.measurement));
  }
  return measurement;
}

std::vector<PaperMeasurement> built_in_papers() {
  std::vector<PaperMeasurement> all;
  for (const auto& [name, text] : built_in_files()) {
    if (name.ends_with(".json")) all.push_back(parse_papers(text, std::string(name)));
  }
  return all;
}

}  // namespace penumbra::report
