// SPDX-License-Identifier: Apache-2.0
//
// The hint for a read of memory: its text and its location.
#pragma once

#include <vector>

#include "reads.h"

namespace gopt {

struct Advice {
  std::string where;
  std::vector<std::string> code;  ///< Lines to insert. Empty if no hint is possible; `where` then says why.
};

/// Returns the hint for `read`, which is one of `reads`, all reads of the items. `annotated` is the function with the
/// foreach.
Advice advice_for(Unit& unit, const clang::FunctionDecl* annotated, const Read& read, const std::deque<Read>& reads);

/// Returns the source text of an expression in one line.
std::string written(Unit& unit, const clang::Expr* expression);

/// Returns true for the current element of a range-for, which has no name.
bool is_of_range(const clang::Stmt* expression);

/// Returns the full expression that contains `part`.
const clang::Expr* full_expression(const clang::Expr* part, const clang::ParentMap& parents);

}  // namespace gopt
