// SPDX-License-Identifier: Apache-2.0
//
// The tokens of a translation unit after preprocessing, and where the syntax tree's nodes lie among them. Tokens are
// told apart by their kind, never by their spelling: <: is a [, and `bitor` is a |.
#pragma once

#include <string>
#include <vector>

#include "clang/AST/Stmt.h"
#include "clang/Basic/LangOptions.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Tooling/Syntax/Tokens.h"
#include "llvm/ADT/DenseMap.h"

namespace gopt {

/// Thrown where the source cannot be taken and the work on it cannot go on. Action turns it into an error at `where`.
struct Refusal {
  clang::SourceLocation where;  ///< invalid: where the work is at the moment
  std::string message;
};

/// Tokens [begin, end).
struct TokenRange {
  unsigned begin = 0;
  unsigned end = 0;
};

class Tokens {
 public:
  /// `language` is that of the unit: default options would lex 1'000, u8'x', ->* and <=> as several tokens each.
  Tokens(const clang::syntax::TokenBuffer& buffer, const clang::SourceManager& sources,
         const clang::LangOptions& language);

  /// The token that starts at `location`, which may lie in a macro; throws Refusal if none does.
  unsigned at(clang::SourceLocation location) const;
  /// The token that `location` lies in: of a >> that ends two templates, both halves do.
  unsigned last_at(clang::SourceLocation location) const;
  TokenRange range(clang::SourceRange range) const;
  /// A statement's tokens with its semicolon.
  TokenRange statement(const clang::Stmt* statement) const;
  llvm::StringRef spelling(unsigned token) const;
  bool is(unsigned token, clang::tok::TokenKind kind) const {
    return token < tokens_.size() && tokens_[token].kind() == kind;
  }
  /// The first token of `kind` from `range.begin` on, outside of nested brackets; `range.end` if there is none.
  unsigned find(TokenRange range, clang::tok::TokenKind kind) const;

 private:
  friend class Text;
  unsigned statement_end(const clang::Stmt* statement) const;
  clang::SourceLocation written_at(unsigned token) const;  ///< where in a file; for a macro, its use

  llvm::ArrayRef<clang::syntax::Token> tokens_;
  const clang::SourceManager& sources_;
  const clang::LangOptions& language_;
  llvm::DenseMap<clang::SourceLocation, unsigned> by_location_;
  std::vector<unsigned> splittable_;  ///< those of which the parser may make two
};

}  // namespace gopt
