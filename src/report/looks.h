// SPDX-License-Identifier: Apache-2.0
//
// How curves look: colour, shape of the marks, dashes of the line.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// Of the plots of a section, in which curves of one name look the same. With more curves than colours those of one
/// kind share a colour: what kind is, says that part of their names ("gopt, 15 threads" has two) that has the most
/// kinds of which each can have a colour. 24 curves of one colour differ in shape and dashes. Limits have a colour and
/// dots of their own and are counted apart, so that they take none from the others.
class Looks {
 public:
  static constexpr std::size_t kColours = 6, kShapes = 6, kDashes = 4;
  struct Look {
    std::size_t colour = 0, shape = 0, dash = 0;
    /// Of the group of elements that is drawn so.
    std::string classes(Role role) const;
  };

  explicit Looks(const std::vector<const Plot*>& plots);
  /// Of a curve of one of these plots.
  Look of(const std::string& curve, Role role) const;

 private:
  std::map<std::pair<bool, std::string>, Look> looks_;  ///< by whether it is a limit, and its name
};

/// "tuple by cuda, batches of 64": "tuple", "cuda", "batches of 64".
std::vector<std::string> parts_of_name(const std::string& curve);

}  // namespace penumbra::report
