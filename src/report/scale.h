// SPDX-License-Identifier: Apache-2.0
//
// Axes: which numbers they span, and where their ticks stand.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penumbra::report {

struct Scale {
  bool is_log = false;
  double low = 0, high = 1;

  /// Where a value stands, from 0 at the low end to 1 at the high one; beyond them what lies outside.
  double position(double value) const;
};

/// Of an axis that something is read from: logarithmic where the values span more than 16 times, from zero otherwise,
/// and in both cases to a round number.
Scale value_scale(std::span<const double> values);
/// Of an axis that something stands along: logarithmic likewise, just as wide as the values, and a little at both ends.
Scale place_scale(std::span<const double> values);

struct Tick {
  double value = 0;
  std::string label;
};

/// At most about `most` of them, at round numbers inside the scale: of bytes at powers of two.
std::vector<Tick> ticks(const Scale& scale, std::string_view unit, std::size_t most);

}  // namespace penumbra::report
