// SPDX-License-Identifier: Apache-2.0
//
// Records the preprocessor's work. The output is compiled with the macro definitions at the end of the file. So a macro
// with another meaning inside a function must not stay in the function's text.
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
  /// An inclusion whose file lies next to the including file; the output may lie elsewhere.
  struct Inclusion {
    clang::SourceRange name;  ///< Includes the quotes.
    std::string path;
  };
  /// An #else, #elif or #endif and its #if.
  struct Branch {
    clang::SourceLocation condition;
    clang::SourceLocation where;
  };
  std::vector<Use> uses;
  std::vector<Branch> branches;
  std::vector<Inclusion> inclusions;
  clang::Preprocessor* preprocessor = nullptr;

  /// Returns true if the definition at the end of the file differs from the one used here.
  bool has_changed(const Use& use) const;
};

/// Returns the absolute path of a file without dot segments.
std::string absolute_path(llvm::StringRef path);

std::shared_ptr<Macros> watch_macros(clang::Preprocessor& preprocessor);

}  // namespace gopt
