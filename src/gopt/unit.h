// SPDX-License-Identifier: Apache-2.0
//
// What the compiler asks of a translation unit: which calls are hints, which functions contain some, how a type is
// spelled; and how it refuses.
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

  /// An error at `where`. A refusal says what to write instead.
  void refuse(clang::SourceLocation where, const std::string& message);
  void note(clang::SourceLocation where, const std::string& message);
  bool refused() const { return refused_; }
  /// Says where the work is: what fails without a place of its own is refused there.
  void working_on(clang::SourceLocation where);
  clang::SourceLocation at_work() const { return at_work_; }
  const Macros& macros() const { return macros_; }

  bool is_cxx() const { return ast.getLangOpts().CPlusPlus; }

  /// The call behind `g_expensive(...);`, or null.
  static const clang::CallExpr* hint(const clang::Stmt* statement);
  static bool is_hint(const clang::CallExpr* call);
  static const clang::ForStmt* foreach_loop(const clang::Stmt* statement);

  static bool has_foreach(const clang::Stmt* statement);
  static bool has_label(const clang::Stmt* statement);
  /// The functions of the file that have one.
  std::vector<const clang::FunctionDecl*> annotated() const;
  bool in_file(const clang::Decl* declaration) const;

  /// K&R's way to define a function: int f(p) const int* p; {...}
  static bool is_old_style(const clang::FunctionDecl* function);
  /// Why a function with hints cannot be expanded in another one, whatever the call; empty if it can.
  static std::string obstacle_to_expansion(const clang::FunctionDecl* callee, const clang::FunctionDecl* into);
  /// The function of a call, where its body is here and contains a hint, itself or by what it calls. Else null.
  const clang::FunctionDecl* expandable(const clang::CallExpr* call);
  /// Such a function among those that a call in a template may turn out to mean.
  const clang::FunctionDecl* expandable_candidate(const clang::CallExpr* call);
  /// Refuses macros in the body that mean something else at the end of the file, where the output uses them.
  void check_macros(const clang::FunctionDecl* function);
  /// Items switch somewhere inside.
  bool switches_inside(const clang::Stmt* statement);

  /// A struct with a constant member, or an array of such, which C does not assign.
  static bool has_constant(clang::QualType type);
  /// A type that is written with a local variable: decltype(x). `but_constants`: with one that is not constexpr.
  static bool names_variable(clang::QualType type, bool but_constants = false);
  /// `name` declared with a type: "uint32_t name[4]". It stands where no local variable is known.
  std::string declare(clang::QualType type, const std::string& name) const;
  /// The address of a local variable leaves some expression of the function.
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
