// SPDX-License-Identifier: Apache-2.0
//
// The memory that an expression denotes. Two places with the same text are the same memory, as long as no variable in
// the text changes.
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
  bool in_sequence = false;  ///< True for an array element whose index is the item's number.
  bool calls = false;        ///< True if a function call computes the address.
};

/// An object in memory as the source names it: an lvalue, or the target of a pointer.
struct Object {
  const clang::Expr* lvalue = nullptr;
  const clang::Expr* pointer = nullptr;
};

/// Returns the expression without parentheses and without casts that change only the type.
const clang::Expr* plain_expression(const clang::Expr* expression);

/// The names in one function, for one call of it.
class Places {
 public:
  /// `arguments`: the values of the parameters; null is the key of `this`. `index`: the index of the foreach.
  Places(Unit& unit, const clang::FunctionDecl* function, std::map<const clang::VarDecl*, Place> arguments,
         const clang::VarDecl* index);

  /// Returns an object and the objects that contain it, innermost first. Returns nothing if it is not memory, such as a
  /// local variable.
  std::vector<Object> around(const Object& object);
  /// Returns the largest of `objects` that fits in a cache line.
  Object in_one_line(const std::vector<Object>& objects) const;
  Object hinted(const clang::CallExpr* hint);

  Place place(const Object& object);
  Place value(const clang::Expr* expression);
  Place value_of_variable(const clang::VarDecl* variable);

  /// Returns true if the variable keeps its initial value within one item.
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
