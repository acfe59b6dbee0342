// SPDX-License-Identifier: Apache-2.0
//
// Computes the ranges of axes and the positions of their ticks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penumbra::report {

struct Scale {
  bool is_log = false;
  double low = 0, high = 1;

  /// Returns the position of a value, from 0 at the low end to 1 at the high end. Values outside have positions
  /// outside.
  double position(double value) const;
};

/// Returns the scale of an axis of values, which ends at round numbers. The scale is logarithmic if the values span
/// more than a factor of 16, and otherwise starts at zero.
Scale value_scale(std::span<const double> values);
/// Returns the scale of an axis of places, as wide as the values with a small margin at both ends. The scale is
/// logarithmic if the values span more than a factor of 16.
Scale place_scale(std::span<const double> values);

struct Tick {
  double value = 0;
  std::string label;
};

/// Returns about `most` ticks or fewer at round numbers inside the scale; for bytes at powers of two.
std::vector<Tick> ticks(const Scale& scale, std::string_view unit, std::size_t most);

}  // namespace penumbra::report
