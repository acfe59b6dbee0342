// SPDX-License-Identifier: Apache-2.0
//
// What the preprocessor has done. Which macros were used where: the output is compiled with the definitions that stand
// at the end of the file, so a macro that meant something else in a function must not be left in its text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clang/Basic/SourceLocation.h"
#include "clang/Lex/Preprocessor.h"

namespace gopt {

struct Macros {
  struct Use {
    std::string name;
    clang::SourceLocation where;
    const clang::MacroInfo* meaning = nullptr;
  };
  /// An inclusion that found its file beside the including one, where the output need not stand.
  struct Inclusion {
    clang::SourceRange name;  ///< with its quotes
    std::string path;
  };
  /// An #else, #elif or #endif and the #if that it belongs to.
  struct Branch {
    clang::SourceLocation condition;
    clang::SourceLocation where;
  };
  std::vector<Use> uses;
  std::vector<Branch> branches;
  std::vector<Inclusion> inclusions;
  clang::Preprocessor* preprocessor = nullptr;

  /// Another definition stands at the end of the file than was used here.
  bool has_changed(const Use& use) const;
};

/// Of a file, without dots.
std::string absolute_path(llvm::StringRef path);

std::shared_ptr<Macros> watch_macros(clang::Preprocessor& preprocessor);

}  // namespace gopt
