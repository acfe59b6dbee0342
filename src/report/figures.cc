// SPDX-License-Identifier: Apache-2.0
#include "report/figures.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace penumbra::report {
namespace {

constexpr double kLargestSpelledOut = 1e15, kSmallestSpelledOut = 1e-6;

std::string with_thousands(double whole) {
  std::string digits = fmt::format("{:.0f}", whole);
  const std::size_t sign = whole < 0 ? 1 : 0;
  for (std::size_t end = digits.size(); end > sign + 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

}  // namespace

std::string figure(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= kLargestSpelledOut || size < kSmallestSpelledOut) return fmt::format("{:.2e}", value);
  if (size >= 99.95) return with_thousands(value);
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string figure(const Spread& spread) {
  if (spread.least == spread.most) return figure(spread.median);
  return fmt::format("{} ({} to {})", figure(spread.median), figure(spread.least), figure(spread.most));
}

std::string place_name(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (unit != "B") return figure(value);
  if (value < 1024) return figure(value) + " B";
  std::size_t power = 0;
  double rest = value / 1024;
  while (power + 1 < kUnits.size() && rest >= 1024) {
    rest /= 1024;
    ++power;
  }
  return fmt::format("{} {}", figure(rest), kUnits[power]);
}

std::string place_name(const Place& place, std::string_view unit) {
  const auto* number = std::get_if<double>(&place);
  return number == nullptr ? std::get<std::string>(place) : place_name(*number, unit);
}

std::string place_names(const std::vector<Place>& places, std::string_view unit) {
  std::vector<std::string> names;
  names.reserve(places.size());
  for (const Place& place : places) names.push_back(place_name(place, unit));
  return enumerate(names);
}

std::string enumerate(const std::vector<std::string>& parts, std::string_view between) {
  const bool has_commas =
      std::ranges::any_of(parts, [](const std::string& part) { return part.find(", ") != std::string::npos; });
  if (has_commas) return fmt::format("{}", fmt::join(parts, between));
  std::string all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) all += i + 1 == parts.size() ? " and " : ", ";
    all += parts[i];
  }
  return all;
}

std::string counted(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Sense sense_of(std::string_view unit) {
  constexpr std::array<std::string_view, 8> kTimes{"s", "ms", "us", "ns", "seconds", "cycles", "ticks", "bytes"};
  if (unit.starts_with("instructions")) return Sense::neither;
  const std::string_view word = unit.substr(0, unit.find_first_of(" ,/"));
  for (const std::string_view time : kTimes) {
    if (word == time) return Sense::less;
  }
  return Sense::more;
}

double advantage(double value, double other, Sense sense) {
  const double over = sense == Sense::less ? other : value, under = sense == Sense::less ? value : other;
  return under == 0 ? 0 : over / under;
}

}  // namespace penumbra::report
