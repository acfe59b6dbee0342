// SPDX-License-Identifier: Apache-2.0
//
// What a mention of a variable does to it.
#pragma once

#include "clang/AST/Expr.h"
#include "clang/AST/ParentMap.h"

namespace gopt {

enum class Access {
  none,    ///< not evaluated: sizeof, decltype
  read,    ///< its value
  write,   ///< all of it, by plain assignment
  modify,  ///< a part of it, or its value and then it: a.b = 1, a += 1
  escape   ///< its address or a reference to it leaves this expression: from here on anything may read or write it
};

/// `parents` covers the body of the function that mentions the variable.
Access access_of(const clang::DeclRefExpr* mention, const clang::ParentMap& parents);

/// The assignment, increment or decrement that modifies the variable at this mention, or null.
const clang::Expr* modification_at(const clang::DeclRefExpr* mention, const clang::ParentMap& parents);

/// The expression evaluates `part`, whatever else it does: no &&, ||, ?: decides about it.
bool always_evaluates(const clang::Expr* whole, const clang::Expr* part, const clang::ParentMap& parents);

}  // namespace gopt
