// SPDX-License-Identifier: Apache-2.0
#include "report/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace penumbra::report {
namespace {

constexpr std::size_t kMostPairsTold = 10;

/// Returns true if another run's median lies within the point's stated spread, or within the machine's drift around the
/// point's median.
bool is_within(const Point& point, double drift, double value) {
  const Spread spread = stated_spread(point);
  const double to_either_side = drift * std::abs(spread.median);
  return std::min(spread.least, spread.median - to_either_side) <= value &&
         value <= std::max(spread.most, spread.median + to_either_side);
}

/// Returns the curve of a document, or null if the document lacks it.
const Curve* curve_of(const Plot& plot, std::size_t document, const std::string& name) {
  const auto panel = std::ranges::find(plot.panels, document, &Panel::document);
  if (panel == plot.panels.end()) return nullptr;
  const auto curve = std::ranges::find(panel->curves, name, &Curve::name);
  return curve == panel->curves.end() ? nullptr : &*curve;
}

/// Returns the number of points of run `one` that run `other` lacks. Calls `found` with the curve and both points for
/// each common point.
template <typename Found>
std::size_t match(const Plot& plot, std::size_t one, std::size_t other, Found&& found) {
  std::size_t alone = 0;
  for (const Panel& panel : plot.panels) {
    if (panel.document != one) continue;
    for (const Curve& curve : panel.curves) {
      const Curve* others = curve_of(plot, other, curve.name);
      for (const Point& point : curve.points) {
        const Point* there = others == nullptr ? nullptr : others->near(point.place);
        if (there == nullptr) {
          ++alone;
        } else {
          found(curve, point, *there);
        }
      }
    }
  }
  return alone;
}

std::string share_text(const Share& share) {
  if (share.all == 0) return "none";
  return fmt::format("{} of {} agree ({:.1f}%)", share.agree, share.all, 100 * share.value());
}

std::string run_text(const Context& context, std::size_t document) {
  const Document& run = context.documents[document];
  return fmt::format("{}{}: {}; {}; {}\n", context.machines[document].prefix(), run.file,
                     context.machines[document].name, run.version, run.date);
}

std::string drift_text(double drift) {
  if (drift == 0) return "";
  return fmt::format(", or no further from its median than the machine's pace varied: {:.1f}%", 100 * drift);
}

std::string pair_text(const SeriesPair& pair) {
  const std::string place = place_name(pair.first->place, pair.plot->x_unit);
  return fmt::format("  {} times: {}: {}, {}{}: {} and {} {}\n", figure(pair.times_apart()),
                     pair.plot->measurement.empty() ? pair.plot->benchmark : pair.plot->measurement, pair.plot->title,
                     pair.curve, place.empty() ? "" : " at " + place, figure(pair.first->value),
                     figure(pair.second->value), pair.plot->unit);
}

}  // namespace

bool SeriesPair::has_enough_samples() const {
  return report::has_enough_samples(*first) && report::has_enough_samples(*second);
}

bool SeriesPair::agrees() const {
  return is_within(*first, drift, second->value.median) || is_within(*second, drift, first->value.median);
}

double SeriesPair::times_apart() const {
  const double a = first->value.median, b = second->value.median;
  if (a == b) return 1;
  if (a * b <= 0) return std::numeric_limits<double>::infinity();
  return std::max(a / b, b / a);
}

Share Agreement::of_all() const {
  return {static_cast<std::size_t>(std::ranges::count_if(pairs, &SeriesPair::agrees)), pairs.size()};
}

Share Agreement::of_those_with(bool enough_samples) const {
  Share share;
  for (const SeriesPair& pair : pairs) {
    if (pair.has_enough_samples() != enough_samples) continue;
    ++share.all;
    if (pair.agrees()) ++share.agree;
  }
  return share;
}

Agreement agreement_of(const Context& context) {
  Agreement agreement;
  if (context.machines[0].name == context.machines[1].name) {
    agreement.drift = std::min(drift_of({&context.documents[0], &context.documents[1]}), kMostDrift);
  }
  for (const Plot& plot : context.plots) {
    agreement.only_in_first += match(plot, 0, 1, [&](const Curve& curve, const Point& first, const Point& second) {
      agreement.pairs.push_back({&plot, curve.name, &first, &second, agreement.drift});
    });
    agreement.only_in_second += match(plot, 1, 0, [](const Curve&, const Point&, const Point&) {});
  }
  return agreement;
}

std::string text_of(const Agreement& agreement, const Context& context) {
  std::string text = run_text(context, 0) + run_text(context, 1);
  if (context.machines[0].name != context.machines[1].name) text += "These are different machines.\n";
  text += fmt::format(
      "{} series in both, {} only in A, {} only in B. Two agree if the median of one lies within the spread of the "
      "other{}.\n"
      "with {} samples or more: {}\n"
      "with fewer, whose spread is taken as {:.0f}% to either side of the median or as measured, if that is more: {}\n"
      "all: {}; {:.0f}% are wanted\n",
      agreement.pairs.size(), agreement.only_in_first, agreement.only_in_second, drift_text(agreement.drift),
      kEnoughSamples, share_text(agreement.of_those_with(true)), 100 * kAssumedSpread,
      share_text(agreement.of_those_with(false)), share_text(agreement.of_all()), 100 * kWantedAgreement);
  std::vector<SeriesPair> apart;
  std::ranges::copy_if(agreement.pairs, std::back_inserter(apart),
                       [](const SeriesPair& pair) { return !pair.agrees(); });
  if (apart.empty()) return text;
  std::ranges::stable_sort(apart, std::ranges::greater{}, &SeriesPair::times_apart);
  apart.resize(std::min(apart.size(), kMostPairsTold));
  text += "furthest apart, the medians with least and greatest samples:\n";
  for (const SeriesPair& pair : apart) text += pair_text(pair);
  return text;
}

}  // namespace penumbra::report
