// SPDX-License-Identifier: Apache-2.0
//
// The hint for a read of memory: what to write, and where.
#pragma once

#include <vector>

#include "reads.h"

namespace gopt {

struct Advice {
  std::string where;
  std::vector<std::string> code;  ///< lines to write there; none if no hint can stand there, and `where` says why
};

/// `reads`: all that the items do, of which `read` is one. `annotated`: the function with the foreach.
Advice advice_for(Unit& unit, const clang::FunctionDecl* annotated, const Read& read, const std::deque<Read>& reads);

/// An expression in one line, as written.
std::string written(Unit& unit, const clang::Expr* expression);

/// It is the element that a range-for has come to, which nothing names.
bool is_of_range(const clang::Stmt* expression);

/// The expression that a part belongs to and that belongs to no other one.
const clang::Expr* full_expression(const clang::Expr* part, const clang::ParentMap& parents);

}  // namespace gopt
