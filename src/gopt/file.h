// SPDX-License-Identifier: Apache-2.0
//
// Writes the output file: the G functions and the declarations that they need. The output for a header includes the
// header. The output for a source repeats its declarations without definitions that would be duplicates.
#pragma once

#include <string>

#include "function.h"

namespace gopt {

class File {
 public:
  File(Unit& unit, const Options& options, std::string output)
      : unit_(unit), options_(options), output_(std::move(output)) {}

  /// Returns the text of the output. The text is unusable if the unit has refused the source.
  std::string write();
  const std::string& explanation() const { return explanation_; }

 private:
  using Declarations = std::vector<const clang::Decl*>;

  void rewrite_annotated();
  void find_needed();
  std::string push_warnings() const;
  std::string header_output();
  std::string source_output();
  void edit_context(const clang::DeclContext* context);
  void edit_function(const clang::FunctionDecl* function, const clang::Decl* outer);
  void edit_variables(const Declarations& group);
  std::string extern_declarations(const Declarations& group);
  std::pair<unsigned, unsigned> extent(const clang::Decl* first, const clang::Decl* last) const;
  void remove(const clang::Decl* first, const clang::Decl* last);
  void check_directives();
  std::string mark(unsigned offset) const;

  struct Edit {
    unsigned end = 0;
    std::string text;
  };

  Unit& unit_;
  Options options_;
  std::string output_;
  std::vector<const clang::FunctionDecl*> annotated_;
  std::map<const clang::FunctionDecl*, std::string> rewritten_;
  std::set<const clang::CallExpr*> expanded_;
  std::set<const clang::Stmt*> vanished_;  ///< Parts that are in no expansion.
  std::set<const clang::Decl*> needed_;
  std::map<unsigned, Edit> edits_;
  std::string explanation_;
  bool prefetches_ranges_ = false;
  bool folds_ = false;
};

}  // namespace gopt
