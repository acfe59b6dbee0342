// SPDX-License-Identifier: Apache-2.0
//
// The source as a row of tokens, macros expanded, and edits to it. What is not edited is printed as it was written:
// with its comments, its blanks and its macros; a macro is opened only where an edit falls inside it.
#pragma once

#include <map>
#include <string>

#include "tokens.h"

namespace gopt {

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

/// Stands for a newline inside a token, a string say: what follows it must not be indented.
constexpr char kInnerNewline = '\x06';

/// Source text for the output. Throws Refusal where it holds characters that the rendering uses for its own marks.
std::string checked(llvm::StringRef text, clang::SourceLocation where);

/// A line ends in a splice: the next one belongs to it, so that no directive can stand in between.
bool is_spliced(llvm::StringRef line);

/// The mark that says that what follows comes from this line of a source; line 0: from nowhere but the output.
std::string line_mark(unsigned line, llvm::StringRef file);

/// Rendered text in one line, without marks; for people.
std::string plain(llvm::StringRef text);

/// `render` marks in the text where which line of the source starts. This turns the marks into #line directives, where
/// the compiler would count otherwise. `output` and `first_line` say where the text will stand.
std::string with_line_directives(llvm::StringRef text, llvm::StringRef output, unsigned first_line);

}  // namespace gopt
