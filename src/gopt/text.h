// SPDX-License-Identifier: Apache-2.0
//
// The source as a row of tokens, macros expanded, and edits to it. What is not edited is printed as it was written:
// with its comments, its blanks and its macros; a macro is opened only where an edit falls inside it.
#pragma once

#include <map>
#include <string>

#include "clang/AST/Stmt.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Tooling/Syntax/Tokens.h"
#include "llvm/ADT/DenseMap.h"

namespace gopt {

/// Tokens [begin, end).
struct TokenRange {
  unsigned begin = 0;
  unsigned end = 0;
};

/// All tokens of a translation unit after preprocessing.
class Tokens {
 public:
  Tokens(const clang::syntax::TokenBuffer& buffer, const clang::SourceManager& sources);

  /// Whether a token starts at `location`: of >>, when it ends two templates, only the first half does.
  bool contains(clang::SourceLocation location) const { return by_location_.count(location) != 0; }
  /// The token that starts at `location`, which may lie in a macro.
  unsigned at(clang::SourceLocation location) const;
  TokenRange range(clang::SourceRange range) const;
  /// A statement's tokens with its semicolon.
  TokenRange statement(const clang::Stmt* statement) const;
  llvm::StringRef spelling(unsigned token) const { return tokens_[token].text(sources_); }
  /// The first token from `from` on that reads `text` outside of nested brackets; `range.end` if there is none.
  unsigned find(TokenRange range, llvm::StringRef text) const;

 private:
  friend class Text;
  unsigned statement_end(const clang::Stmt* statement) const;
  clang::SourceLocation written_at(unsigned token) const;  ///< where in a file; for a macro, its use

  llvm::ArrayRef<clang::syntax::Token> tokens_;
  const clang::SourceManager& sources_;
  llvm::DenseMap<clang::SourceLocation, unsigned> by_location_;
};

/// One rendering of some of the tokens, with edits. An edit made later swallows those made inside its range.
class Text {
 public:
  explicit Text(const Tokens& tokens) : tokens_(&tokens) {}

  void replace(TokenRange range, std::string text);
  void insert_before(unsigned token, const std::string& text);
  void insert_after(unsigned token, const std::string& text);
  std::string render(TokenRange range) const;

 private:
  struct Replacement {
    unsigned end = 0;
    std::string text;
  };
  class Printer;

  const Tokens* tokens_;
  std::map<unsigned, Replacement> replacements_;
  std::map<unsigned, std::string> before_;
  std::map<unsigned, std::string> after_;
};

/// The mark that says that what follows comes from this line of a source; line 0: from nowhere but the output.
std::string line_mark(unsigned line, llvm::StringRef file);

/// Rendered text in one line, without marks; for people.
std::string plain(llvm::StringRef text);

/// `render` marks in the text where which line of the source starts. This turns the marks into #line directives, where
/// the compiler would count otherwise. `output` and `first_line` say where the text will stand.
std::string with_line_directives(llvm::StringRef text, llvm::StringRef output, unsigned first_line);

}  // namespace gopt
