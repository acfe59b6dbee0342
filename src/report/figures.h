// SPDX-License-Identifier: Apache-2.0
//
// Formats numbers for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/results_format.h"

namespace penumbra::report {

/// A position on an axis: a number, or words.
using Place = std::variant<double, std::string>;

/// Runs differ in the third digit, so differences that are invisible in print decide nothing.
inline constexpr double kTolerance = 0.005;

/// Returns three significant digits; whole numbers from a hundred on, with thousands separators: "0.0481", "7.25",
/// "1,073,741".
std::string figure(double value);
/// Returns "80.1 (79.9 to 81.2)".
std::string figure(const Spread& spread);
/// Returns a number on an axis of that unit. Bytes are in the largest unit that divides them ("64 KiB").
std::string place_name(double value, std::string_view unit);
std::string place_name(const Place& place, std::string_view unit);
/// Returns several places, joined by enumerate().
std::string place_names(const std::vector<Place>& places, std::string_view unit);
/// Returns "A", "A and B", "A, B and C". If a part has a comma, `between` separates all parts: "A, 1; A, 2; B".
std::string enumerate(const std::vector<std::string>& parts, std::string_view between = "; ");
/// Returns "1 place" or "2 places".
std::string counted(std::size_t count, const std::string& what);

/// The direction in which a unit improves.
enum class Sense { more, less, neither };
/// Returns `more` for rates, `less` for times, and `neither` for units such as instructions.
Sense sense_of(std::string_view unit);

/// Returns how many times `value` is as good as `other`: above one if it is better. For a unit of neither sense, the
/// ratio.
double advantage(double value, double other, Sense sense);

}  // namespace penumbra::report
