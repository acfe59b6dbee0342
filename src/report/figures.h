// SPDX-License-Identifier: Apache-2.0
//
// Numbers as a person reads them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/results_format.h"

namespace penumbra::report {

/// Where on an axis something stands: a number, or words.
using Place = std::variant<double, std::string>;

/// Runs differ in the third digit: what is not told apart in print does not decide.
inline constexpr double kTolerance = 0.005;

/// Three significant digits; whole from a hundred on, thousands apart: "0.0481", "7.25", "1,073,741".
std::string figure(double value);
/// "80.1 (79.9 to 81.2)".
std::string figure(const Spread& spread);
/// A number on an axis of that unit: of bytes in the largest unit that it is a multiple of ("64 KiB"), otherwise as it
/// is.
std::string place_name(double value, std::string_view unit);
std::string place_name(const Place& place, std::string_view unit);
/// Several, as enumerate() has them.
std::string place_names(const std::vector<Place>& places, std::string_view unit);
/// "A", "A and B", "A, B and C"; where a part has a comma of its own, `between` stands between all: "A, 1; A, 2; B".
std::string enumerate(const std::vector<std::string>& parts, std::string_view between = "; ");
/// "1 place", "2 places".
std::string counted(std::size_t count, const std::string& what);

/// What of a unit is better.
enum class Sense { more, less, neither };
/// Rates: more; times: less; what is neither by itself, as instructions: neither.
Sense sense_of(std::string_view unit);

/// How many times as good `value` is as `other`: above one if it is better. For a unit of neither sense its ratio.
double advantage(double value, double other, Sense sense);

}  // namespace penumbra::report
