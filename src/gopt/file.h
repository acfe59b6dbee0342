// SPDX-License-Identifier: Apache-2.0
//
// The output file: the G functions and what they need. For a header that is its inclusion; for a source it is what the
// source declares, without the definitions that would then be there twice.
#pragma once

#include <string>

#include "function.h"

namespace gopt {

class File {
 public:
  File(Unit& unit, const Options& options, std::string output)
      : unit_(unit), options_(options), output_(std::move(output)) {}

  /// The text of the output; of no use if the unit has refused.
  std::string write();
  const std::string& explanation() const { return explanation_; }

 private:
  using Declarations = std::vector<const clang::Decl*>;

  void rewrite_annotated();
  void find_needed();
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
  std::set<const clang::Decl*> needed_;
  std::map<unsigned, Edit> edits_;
  std::string explanation_;
  bool prefetches_ranges_ = false;
};

}  // namespace gopt
