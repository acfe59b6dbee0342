// SPDX-License-Identifier: Apache-2.0
//
// Which memory an expression means. Two places with the same text are the same memory, as long as none of the variables
// in it changes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "unit.h"

namespace gopt {

struct Place {
  std::string text;
  std::set<const clang::VarDecl*> variables;
  bool in_sequence = false;  ///< an array's element whose number is that of the item
  bool calls = false;        ///< a function, to compute the address
};

/// An object in memory as the source names it: an lvalue, or what a pointer points to.
struct Object {
  const clang::Expr* lvalue = nullptr;
  const clang::Expr* pointer = nullptr;
};

/// Without parentheses and casts that change no more than the type.
const clang::Expr* plain_expression(const clang::Expr* expression);

/// The names in one function, seen from one call of it.
class Places {
 public:
  /// `arguments`: what its parameters stand for, and null for `this`. `index`: that of the foreach.
  Places(Unit& unit, const clang::FunctionDecl* function, std::map<const clang::VarDecl*, Place> arguments,
         const clang::VarDecl* index);

  /// An object and what holds it, from the inside to the outside. Empty if that is no memory, but a local variable,
  /// say.
  std::vector<Object> around(const Object& object);
  /// The largest of these that fits in a cache line.
  Object in_one_line(const std::vector<Object>& objects) const;
  Object hinted(const clang::CallExpr* hint);

  Place place(const Object& object);
  Place value(const clang::Expr* expression);
  Place value_of_variable(const clang::VarDecl* variable);

  /// It keeps, in one item, the value that it is initialised with.
  bool is_constant(const clang::VarDecl* variable) const { return changed_.count(variable) == 0; }

 private:
  void find_changed(const clang::Stmt* statement, const clang::ParentMap& parents);
  Place place_of_variable(const clang::VarDecl* variable);
  Place element(const clang::Expr* base, const clang::Expr* index);
  bool is_on_stack(const Object& root);

  Unit& unit_;
  std::map<const clang::VarDecl*, Place> arguments_;
  const clang::VarDecl* index_;
  std::set<const clang::VarDecl*> changed_;
};

}  // namespace gopt
