// SPDX-License-Identifier: Apache-2.0
//
// Reports refusals and answers questions about a translation unit: the calls that are hints, the functions that contain
// hints, the spelling of a type.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/ParentMap.h"
#include "clang/Basic/Diagnostic.h"
#include "macros.h"
#include "text.h"

namespace gopt {

class Unit {
 public:
  Unit(clang::ASTContext& context, const Tokens& all_tokens, const Macros& macros)
      : ast(context), tokens(all_tokens), macros_(macros), policy_(context.getPrintingPolicy()) {
    policy_.AnonymousTagLocations = false;
    at_work_ = ast.getSourceManager().getLocForStartOfFile(ast.getSourceManager().getMainFileID());
  }

  /// Reports an error at `where`. The message says what to write instead.
  void refuse(clang::SourceLocation where, const std::string& message);
  void note(clang::SourceLocation where, const std::string& message);
  bool refused() const { return refused_; }
  /// Sets the current position of the work. Failures without their own place are refused there.
  void working_on(clang::SourceLocation where);
  clang::SourceLocation at_work() const { return at_work_; }
  const Macros& macros() const { return macros_; }

  bool is_cxx() const { return ast.getLangOpts().CPlusPlus; }

  /// Returns the call in `g_expensive(...);`, or null.
  static const clang::CallExpr* hint(const clang::Stmt* statement);
  static bool is_hint(const clang::CallExpr* call);
  static const clang::ForStmt* foreach_loop(const clang::Stmt* statement);

  static bool has_foreach(const clang::Stmt* statement);
  static bool has_label(const clang::Stmt* statement);
  /// Returns the functions of the file that contain a foreach.
  std::vector<const clang::FunctionDecl*> annotated() const;
  bool in_file(const clang::Decl* declaration) const;

  /// Returns true for a K&R definition of a function: int f(p) const int* p; {...}
  static bool is_old_style(const clang::FunctionDecl* function);
  /// Returns why a function with hints cannot be expanded in `into`, whatever the call, or an empty text if it can.
  static std::string obstacle_to_expansion(const clang::FunctionDecl* callee, const clang::FunctionDecl* into);
  /// Returns the called function if its body is visible and contains a hint, directly or through its calls. Else
  /// returns null.
  const clang::FunctionDecl* expandable(const clang::CallExpr* call);
  /// Returns such a function among the candidates of a call in a template.
  const clang::FunctionDecl* expandable_candidate(const clang::CallExpr* call);
  /// Refuses macros of the body that have another meaning at the end of the file, if the output uses them.
  void check_macros(const clang::FunctionDecl* function);
  /// Returns true if items switch inside.
  bool switches_inside(const clang::Stmt* statement);

  /// Returns true for a struct with a constant member, or an array of such structs, which C cannot assign.
  static bool has_constant(clang::QualType type);
  /// Returns true for a type that mentions a local variable, such as decltype(x). With `but_constants`, constexpr
  /// variables do not count.
  static bool names_variable(clang::QualType type, bool but_constants = false);
  /// Returns a declaration of `name` with a type, such as "uint32_t name[4]", for a place where no local variable is
  /// visible.
  std::string declare(clang::QualType type, const std::string& name) const;
  /// Returns true if the address of a local variable leaves an expression of the function.
  bool escapes(const clang::VarDecl* variable, const clang::FunctionDecl* function);
  const clang::ParentMap& parents(const clang::FunctionDecl* function);
  std::string file_and_line(clang::SourceLocation where) const;
  unsigned line(clang::SourceLocation where) const;

  // NOLINTBEGIN(cppcoreguidelines-avoid-const-or-ref-data-members)
  clang::ASTContext& ast;
  const Tokens& tokens;
  // NOLINTEND(cppcoreguidelines-avoid-const-or-ref-data-members)

 private:
  bool function_switches(const clang::FunctionDecl* function);
  void find_annotated(const clang::DeclContext* context, std::vector<const clang::FunctionDecl*>& found) const;

  const Macros& macros_;
  clang::PrintingPolicy policy_;
  std::map<const clang::FunctionDecl*, bool> switching_;
  std::map<const clang::FunctionDecl*, std::unique_ptr<clang::ParentMap>> parents_;
  std::map<const clang::FunctionDecl*, std::set<const clang::VarDecl*>> escaping_;
  bool refused_ = false;
  clang::SourceLocation at_work_;
};

}  // namespace gopt
