// SPDX-License-Identifier: Apache-2.0
#include "report/our_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/targets.h"

namespace penumbra::report {
namespace {

double median_of(const Finding& finding) {
  return finding.value.median;
}

/// Returns the value at the place that figures select, or null if they select none.
const Finding* pointed_out(const PlaceOf& place, const std::vector<Finding>& findings) {
  if (place.kind == PlaceOf::Kind::greatest) {
    return &*std::ranges::max_element(findings, {}, median_of);
  }
  const auto is_enough = [&place](const Finding& each) { return each.value.median >= place.at_least; };
  if (place.kind == PlaceOf::Kind::first) {
    const auto found = std::ranges::find_if(findings, is_enough);
    return found == findings.end() ? nullptr : &*found;
  }
  const auto found = std::find_if(findings.rbegin(), findings.rend(), is_enough);
  return found == findings.rend() ? nullptr : &*found;
}

std::optional<double> place_in(const PlaceOf& place, const std::vector<Finding>& findings) {
  if (place.kind == PlaceOf::Kind::crossing) {
    const std::vector<double> where = crossings_of(findings);
    return where.empty() ? std::nullopt : std::optional(where.front());
  }
  const Finding* found = pointed_out(place, findings);
  const auto* number = found == nullptr ? nullptr : std::get_if<double>(&found->place);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

/// Returns " or more" or " or less" at an end of the measured range, because the place may lie further out.
std::string_view how_open(const PlaceOf& place, double where, const std::vector<Finding>& findings) {
  if (place.kind == PlaceOf::Kind::last && findings.back().place == Place(where)) return " or more";
  return place.kind == PlaceOf::Kind::first && findings.front().place == Place(where) ? " or less" : "";
}

}  // namespace

std::optional<OurFigure> our_figure(const PaperNumber& number, const std::optional<double>& place,
                                    const std::vector<Plot>& plots, std::size_t document) {
  if (!number.ours) return std::nullopt;
  std::optional<PlaceChoice> at;
  if (place) at = PlaceChoice{PlaceChoice::Kind::number, *place, 0, ""};
  std::vector<Finding> found = find(*number.ours, plots, document, at);
  if (found.empty()) return std::nullopt;
  const Finding first = number.is_greatest ? *std::ranges::max_element(found, {}, median_of) : found.front();
  std::string what = first.plot->title + ", " + first.of;
  if (number.place_of) {
    std::erase_if(found, [&first](const Finding& each) { return each.plot != first.plot; });
    auto where = place_in(*number.place_of, found);
    const std::string_view open = where ? how_open(*number.place_of, *where, found) : "";
    if (where) *where *= number.scale;
    return OurFigure{where, fmt::format("{} over {}", what, first.to), open};
  }
  const std::string at_place = place_name(first.place, first.plot->x_unit);
  if (!place && !at_place.empty()) what += " at " + at_place;
  if (!first.to.empty()) what += " over " + first.to;
  if (number.scale != 1) {
    what += fmt::format(" ({} {} to each of the {})", figure(number.scale), number.unit, first.plot->unit);
  }
  return OurFigure{first.value.median * number.scale, what, ""};
}

}  // namespace penumbra::report
