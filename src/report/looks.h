// SPDX-License-Identifier: Apache-2.0
//
// Chooses the look of curves: colour, shape of the marks, dashes of the line.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// The looks of a section's plots, in which curves of one name look the same. With more curves than colours, curves of
/// one kind share a colour. The kind is one part of the names ("gopt, 15 threads" has two parts). That part has the
/// most kinds that still fit the colours. Up to 24 curves of one colour differ in shape and dashes. Limits are counted
/// separately, with a colour and dots of their own.
class Looks {
 public:
  static constexpr std::size_t kColours = 6, kShapes = 6, kDashes = 4;
  struct Look {
    std::size_t colour = 0, shape = 0, dash = 0;
    /// Returns the CSS classes of the group of elements with this look.
    std::string classes(Role role) const;
  };

  explicit Looks(const std::vector<const Plot*>& plots);
  /// Returns the look of a curve of the plots.
  Look of(const std::string& curve, Role role) const;

 private:
  std::map<std::pair<bool, std::string>, Look> looks_;  ///< Keyed by "is a limit" and name.
};

/// Splits "tuple by cuda, batches of 64" into "tuple", "cuda", "batches of 64".
std::vector<std::string> parts_of_name(const std::string& curve);

}  // namespace penumbra::report
