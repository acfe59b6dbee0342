// SPDX-License-Identifier: Apache-2.0
//
// Maps the nodes of the syntax tree to the preprocessed tokens of a translation unit. Tokens are compared by their
// kind, never by their spelling: <: is a [, and `bitor` is a |.
#pragma once

#include <string>
#include <vector>

#include "clang/AST/Stmt.h"
#include "clang/Basic/LangOptions.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Tooling/Syntax/Tokens.h"
#include "llvm/ADT/DenseMap.h"

namespace gopt {

/// Thrown if the source cannot be rewritten and the work cannot continue. Action turns it into an error at `where`.
struct Refusal {
  clang::SourceLocation where;  ///< Invalid: the current position of the work.
  std::string message;
};

/// Tokens [begin, end).
struct TokenRange {
  unsigned begin = 0;
  unsigned end = 0;
};

class Tokens {
 public:
  /// `language` must be the unit's options: default options would lex 1'000, u8'x', ->* and <=> as several tokens each.
  Tokens(const clang::syntax::TokenBuffer& buffer, const clang::SourceManager& sources,
         const clang::LangOptions& language);

  /// Returns the token that starts at `location`, which may be in a macro. Throws Refusal if no token does.
  unsigned at(clang::SourceLocation location) const;
  /// Returns the token that contains `location`. Both halves of a >> that ends two templates return that token.
  unsigned last_at(clang::SourceLocation location) const;
  TokenRange range(clang::SourceRange range) const;
  /// Returns a statement's tokens including its semicolon.
  TokenRange statement(const clang::Stmt* statement) const;
  llvm::StringRef spelling(unsigned token) const;
  bool is(unsigned token, clang::tok::TokenKind kind) const {
    return token < tokens_.size() && tokens_[token].kind() == kind;
  }
  /// Returns the first token of `kind` from `range.begin` on, outside of nested brackets, or `range.end` if there is
  /// none.
  unsigned find(TokenRange range, clang::tok::TokenKind kind) const;

 private:
  friend class Text;
  unsigned statement_end(const clang::Stmt* statement) const;
  clang::SourceLocation written_at(unsigned token) const;  ///< Returns the place in a file; for a macro, its use.

  llvm::ArrayRef<clang::syntax::Token> tokens_;
  const clang::SourceManager& sources_;
  const clang::LangOptions& language_;
  llvm::DenseMap<clang::SourceLocation, unsigned> by_location_;
  std::vector<unsigned> splittable_;  ///< Tokens that the parser may split in two.
};

}  // namespace gopt
