// SPDX-License-Identifier: Apache-2.0
#include "report/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/figures.h"

namespace penumbra::report {
namespace {

constexpr double kLeastSpanOfLog = 16;
constexpr double kMargin = 0.04;  ///< Margin at both ends of an axis of places.
constexpr double kRounding = 1e-9;

struct Extent {
  double least = 0, most = 1;
};

Extent extent_of(std::span<const double> values) {
  if (values.empty()) return {};
  const auto [least, most] = std::ranges::minmax_element(values);
  return {*least, *most};
}

bool spans_much(const Extent& extent) {
  return extent.least > 0 && extent.most / extent.least > kLeastSpanOfLog;
}

/// Return the next of 1, 2, 5, 10, 20 ... times a power of ten, upwards or downwards.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - kRounding)) return factor * power;
  }
  return 10 * power;
}
double round_down(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {5.0, 2.0}) {
    if (factor * power <= value * (1 + kRounding)) return factor * power;
  }
  return power;
}

/// Returns a figure without trailing zeros.
std::string tick_name(double value, std::string_view unit) {
  return unit != "B" && std::abs(value) < 1000 ? fmt::format("{:.4g}", value) : place_name(value, unit);
}

/// Returns the step at which at most `most` of `count` remain.
int steps_of(int count, std::size_t most) {
  return std::max(1, static_cast<int>(std::ceil(count / static_cast<double>(most))));
}

/// Returns ticks at every n-th power of two.
std::vector<Tick> ticks_of_two(const Scale& scale, std::string_view unit, std::size_t most) {
  const int first = static_cast<int>(std::ceil(std::log2(scale.low) - kRounding));
  const int last = static_cast<int>(std::floor(std::log2(scale.high) + kRounding));
  const int step = steps_of(last - first + 1, most);
  std::vector<Tick> all;
  for (int power = first; power <= last; power += step) {
    all.push_back({std::exp2(power), place_name(std::exp2(power), unit)});
  }
  return all;
}

/// Returns ticks at 1, 2, 5 of each power of ten if all fit, otherwise at 1 of every n-th power.
std::vector<Tick> ticks_of_ten(const Scale& scale, std::string_view unit, std::size_t most) {
  const int first = static_cast<int>(std::floor(std::log10(scale.low) + kRounding));
  const int last = static_cast<int>(std::floor(std::log10(scale.high) + kRounding));
  const double decades = std::log10(scale.high / scale.low);
  const bool all_three = decades * 3 <= static_cast<double>(most) + 2;
  const int step = steps_of(last - first, most);
  std::vector<Tick> all;
  for (int power = first; power <= last; power += step) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor != 1 && !all_three) continue;
      const double value = factor * std::pow(10, power);
      if (value < scale.low * (1 - kRounding) || value > scale.high * (1 + kRounding)) continue;
      all.push_back({value, tick_name(value, unit)});
    }
  }
  return all;
}

std::vector<Tick> linear_ticks(const Scale& scale, std::string_view unit, std::size_t most) {
  const double span = scale.high - scale.low;
  const double step = round_up(span / static_cast<double>(std::max<std::size_t>(most, 1)));
  std::vector<Tick> all;
  const double first = std::ceil(scale.low / step - kRounding);
  for (std::size_t i = 0; i <= most + 1; ++i) {
    const double value = (first + static_cast<double>(i)) * step + 0.0;  // Avoids a negative zero.
    if (value > scale.high + span * kRounding) break;
    all.push_back({value, tick_name(value, unit)});
  }
  return all;
}

}  // namespace

double Scale::position(double value) const {
  if (is_log) return value <= 0 ? 0 : std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

Scale value_scale(std::span<const double> values) {
  const Extent extent = extent_of(values);
  if (spans_much(extent)) return {true, round_down(extent.least), round_up(extent.most)};
  const double most = std::max(extent.most, 0.0), least = std::min(extent.least, 0.0);
  if (most == least) return {false, 0, 1};
  const double step = round_up((most - least) / 5);
  return {false, step * std::floor(least / step + kRounding), step * std::ceil(most / step - kRounding)};
}

Scale place_scale(std::span<const double> values) {
  const Extent extent = extent_of(values);
  if (spans_much(extent)) {
    const double margin = std::pow(extent.most / extent.least, kMargin);
    return {true, extent.least / margin, extent.most * margin};
  }
  const double span = extent.most - extent.least;
  const double margin =
      span > std::abs(extent.most) * kRounding ? kMargin * span : std::max(std::abs(extent.most), 1.0);
  return {false, extent.least - margin, extent.most + margin};
}

std::vector<Tick> ticks(const Scale& scale, std::string_view unit, std::size_t most) {
  if (!scale.is_log) return linear_ticks(scale, unit, most);
  std::vector<Tick> all = unit == "B" ? ticks_of_two(scale, unit, most) : ticks_of_ten(scale, unit, most);
  if (all.size() < 2) all = {{scale.low, tick_name(scale.low, unit)}, {scale.high, tick_name(scale.high, unit)}};
  return all;
}

}  // namespace penumbra::report
