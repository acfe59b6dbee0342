// SPDX-License-Identifier: Apache-2.0
//
// Returns the elements of drawings as SVG.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penumbra::report {

/// Size of a mark that nothing covers.
inline constexpr double kMarkerSize = 3.6;

/// Returns one of Looks' shapes around a point; `size` is about half of its width.
std::string marker(std::size_t shape, double x, double y, double size = kMarkerSize);
std::string text_at(double x, double y, std::string_view anchor, std::string_view text, std::string_view kind = "");
/// Returns a horizontal or vertical line.
std::string line(std::string_view kind, double x1, double y1, double x2, double y2);

}  // namespace penumbra::report
