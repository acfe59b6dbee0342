// SPDX-License-Identifier: Apache-2.0
//
// Represents the source as a sequence of tokens with expanded macros, and edits of it. Unedited text is printed as
// written: with its comments, blanks and macros. A macro is opened only if an edit falls inside it.
#pragma once

#include <map>
#include <string>

#include "tokens.h"

namespace gopt {

/// A rendering of tokens with edits. A later edit replaces earlier edits inside its range.
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

/// Replaces a newline inside a token, such as a string: the next line must not be indented.
constexpr char kInnerNewline = '\x06';

/// Returns source text for the output. Throws Refusal if it contains characters that the rendering uses as marks.
std::string checked(llvm::StringRef text, clang::SourceLocation where);

/// Returns true if a line ends in a splice. The next line then continues it, so no directive may be inserted.
bool is_spliced(llvm::StringRef line);

/// Returns the mark that the following text comes from this line of a source. Line 0: it exists only in the output.
std::string line_mark(unsigned line, llvm::StringRef file);

/// Returns rendered text in one line, without marks, for messages.
std::string plain(llvm::StringRef text);

/// Turns the marks of `render` into #line directives wherever the compiler would count differently. `output` and
/// `first_line` give the place of the text.
std::string with_line_directives(llvm::StringRef text, llvm::StringRef output, unsigned first_line);

}  // namespace gopt
