// SPDX-License-Identifier: Apache-2.0
//
// The effect of a mention of a variable.
#pragma once

#include "clang/AST/Expr.h"
#include "clang/AST/ParentMap.h"

namespace gopt {

enum class Access {
  none,    ///< Not evaluated: sizeof, decltype.
  read,    ///< Reads its value.
  write,   ///< Writes all of it by plain assignment.
  modify,  ///< Writes a part of it, or reads and writes it: a.b = 1, a += 1.
  escape   ///< Its address or a reference to it leaves the expression, so later code may read or write the variable.
};

/// Returns the effect of a mention. `parents` covers the body of the function with the mention.
Access access_of(const clang::DeclRefExpr* mention, const clang::ParentMap& parents);

/// Returns the assignment, increment or decrement that modifies the variable at this mention, or null.
const clang::Expr* modification_at(const clang::DeclRefExpr* mention, const clang::ParentMap& parents);

/// Returns true if `whole` always evaluates `part`: no &&, || or ?: decides about it.
bool always_evaluates(const clang::Expr* whole, const clang::Expr* part, const clang::ParentMap& parents);

}  // namespace gopt
