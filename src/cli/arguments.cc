// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "penumbra/engine.h"
#include "penumbra/errors.h"

namespace penumbra::cli {
namespace {

struct Quantity {
  double number = 0;
  std::string unit;
};

/// Parses a non-negative decimal number and the letters after it.
std::optional<Quantity> parse_quantity(const std::string& text) {
  Quantity quantity;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, quantity.number, std::chars_format::fixed);
  if (error != std::errc{} || quantity.number < 0 || !std::isfinite(quantity.number)) return std::nullopt;
  quantity.unit.assign(rest, end);
  return quantity;
}

/// Bounds in the basic unit, both inclusive.
struct Bounds {
  double least, most;
  bool whole;
};

/// Returns a validator that replaces the text by its value in the basic unit.
CLI::Validator with_units(std::map<std::string, double> units, Bounds bounds, const std::string& expected) {
  const auto convert = [units = std::move(units), bounds, expected](std::string& text) -> std::string {
    const auto quantity = parse_quantity(text);
    const auto unit = quantity ? units.find(quantity->unit) : units.end();
    if (unit == units.end()) return fmt::format("'{}': expected {}", text, expected);
    const double value = quantity->number * unit->second;
    const bool fits = value >= bounds.least && value <= bounds.most && (!bounds.whole || value == std::floor(value));
    if (!fits) return fmt::format("'{}': expected {}", text, expected);
    text = bounds.whole ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
    return "";
  };
  return {convert, ""};
}

}  // namespace

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string description = fmt::format("{{{}}}", fmt::join(words, ","));
  const auto check = [words = std::move(words)](std::string& word) -> std::string {
    if (std::ranges::find(words, word) != words.end()) return "";
    const std::string nearest = did_you_mean(word, words);
    return fmt::format("'{}' is not one of {}{}", word, fmt::join(words, ", "), nearest.empty() ? "" : "; " + nearest);
  };
  return {check, description};
}

CLI::Validator as_seconds() {
  constexpr Bounds kBounds{.least = 1e-3, .most = 87600.0 * 3600, .whole = false};
  return with_units({{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}}, kBounds,
                    "a duration such as 10s, 250ms, 2m or 1h, from 1ms to 87600h (10 years)");
}

CLI::Validator as_confirm_time() {
  constexpr Bounds kBounds{.least = 0.1, .most = 24.0 * 3600, .whole = false};  // read_confirm_time()'s
  return with_units({{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}}, kBounds,
                    "a duration such as 60s, 500ms, 2m or 1h, from 100ms to 24h");
}

CLI::Validator as_count() {
  // The limit is far below the point where doubles skip whole numbers.
  constexpr Bounds kBounds{.least = 0, .most = 1e15, .whole = true};
  return with_units({{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}}, kBounds,
                    "a whole number such as 900000, 900k or 2M");
}

CLI::Validator as_seed() {
  const auto check = [](std::string& text) -> std::string {
    std::uint64_t seed = 0;
    const char* const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, seed);
    if (error == std::errc() && after == end) return "";
    return fmt::format("'{}': expected a whole number from 0 to {}", text, std::numeric_limits<std::uint64_t>::max());
  };
  return {check, ""};
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const auto& engine : engines()) names.push_back(engine.name);
  return names;
}

CLI::Validator as_engine() {
  const auto check = [](std::string& choice) -> std::string {
    try {
      check_engine(choice);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  return {check, fmt::format("{{{}}}", fmt::join(engine_names(), ","))};
}

/// CLI11 2.1 gives an option without a value its default text. With an empty default text, the option would count as
/// absent.
CLI::Option* value_is_optional(CLI::Option& option, const std::string& value) {
  return option.expected(0, 1)->default_str(value);
}

CLI::Option* add_json_flag(CLI::App& command, bool& json) {
  return command.add_flag("-j,--json", json, "Print JSON");
}

}  // namespace penumbra::cli
