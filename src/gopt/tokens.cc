// SPDX-License-Identifier: Apache-2.0
#include "tokens.h"

#include <algorithm>

namespace gopt {
namespace {

using clang::tok::TokenKind;

/// Returns true for tokens that begin with a > that may end template arguments by itself.
bool may_be_split(TokenKind kind) {
  return kind == clang::tok::greatergreater || kind == clang::tok::greaterequal ||
         kind == clang::tok::greatergreaterequal || kind == clang::tok::greatergreatergreater;
}

}  // namespace

Tokens::Tokens(const clang::syntax::TokenBuffer& buffer, const clang::SourceManager& sources,
               const clang::LangOptions& language)
    : tokens_(buffer.expandedTokens()), sources_(sources), language_(language) {
  for (unsigned i = 0; i < tokens_.size(); ++i) {
    by_location_[tokens_[i].location()] = i;
    if (may_be_split(tokens_[i].kind())) splittable_.push_back(i);
  }
}

unsigned Tokens::at(clang::SourceLocation location) const {
  const auto found = by_location_.find(location);
  if (found == by_location_.end()) throw Refusal{location, "the code here has no text of its own; write it out"};
  return found->second;
}

unsigned Tokens::last_at(clang::SourceLocation location) const {
  const auto found = by_location_.find(location);
  if (found != by_location_.end()) return found->second;
  if (location.isValid()) {
    const auto [file, offset] = sources_.getDecomposedLoc(sources_.getSpellingLoc(location));
    for (const unsigned i : splittable_) {
      const auto [its_file, begin] = sources_.getDecomposedLoc(sources_.getSpellingLoc(tokens_[i].location()));
      const bool holds = its_file == file && begin <= offset && offset < begin + tokens_[i].length();
      if (holds && written_at(i) == sources_.getExpansionLoc(tokens_[i].location())) return i;
    }
  }
  return at(location);
}

TokenRange Tokens::range(clang::SourceRange range) const {
  const TokenRange found{at(range.getBegin()), last_at(range.getEnd()) + 1};
  if (found.begin >= found.end) throw Refusal{range.getBegin(), "what starts here ends before it; write it out"};
  const unsigned last = found.end - 1;
  const bool is_half = may_be_split(tokens_[last].kind()) && tokens_[last].location() == range.getEnd() && last > 0 &&
                       !is(last - 1, clang::tok::kw_operator);
  if (is_half) throw Refusal{range.getEnd(), "what ends here ends inside a token; put a blank between > and >"};
  return found;
}

TokenRange Tokens::statement(const clang::Stmt* statement) const {
  return {at(statement->getBeginLoc()), statement_end(statement)};
}

unsigned Tokens::statement_end(const clang::Stmt* statement) const {
  if (const auto* s = llvm::dyn_cast<clang::IfStmt>(statement)) {
    return statement_end(s->getElse() != nullptr ? s->getElse() : s->getThen());
  }
  if (const auto* s = llvm::dyn_cast<clang::WhileStmt>(statement)) return statement_end(s->getBody());
  if (const auto* s = llvm::dyn_cast<clang::ForStmt>(statement)) return statement_end(s->getBody());
  if (const auto* s = llvm::dyn_cast<clang::CXXForRangeStmt>(statement)) return statement_end(s->getBody());
  if (const auto* s = llvm::dyn_cast<clang::SwitchStmt>(statement)) return statement_end(s->getBody());
  if (const auto* s = llvm::dyn_cast<clang::SwitchCase>(statement)) return statement_end(s->getSubStmt());
  if (const auto* s = llvm::dyn_cast<clang::LabelStmt>(statement)) return statement_end(s->getSubStmt());
  if (const auto* s = llvm::dyn_cast<clang::AttributedStmt>(statement)) return statement_end(s->getSubStmt());
  unsigned end = last_at(statement->getEndLoc()) + 1;
  const bool complete = llvm::isa<clang::CompoundStmt>(statement) || llvm::isa<clang::DeclStmt>(statement) ||
                        llvm::isa<clang::NullStmt>(statement);
  if (!complete && is(end, clang::tok::semi)) ++end;
  return end;
}

llvm::StringRef Tokens::spelling(unsigned token) const {
  if (token >= tokens_.size()) throw Refusal{{}, "the file ends inside of the code here"};
  return tokens_[token].text(sources_);
}

unsigned Tokens::find(TokenRange range, TokenKind kind) const {
  int depth = 0;
  for (unsigned i = range.begin; i < std::min<size_t>(range.end, tokens_.size()); ++i) {
    const TokenKind found = tokens_[i].kind();
    if (depth == 0 && found == kind) return i;
    if (found == clang::tok::l_paren || found == clang::tok::l_square || found == clang::tok::l_brace) ++depth;
    if (found == clang::tok::r_paren || found == clang::tok::r_square || found == clang::tok::r_brace) --depth;
  }
  return range.end;
}

clang::SourceLocation Tokens::written_at(unsigned token) const {
  return sources_.getExpansionLoc(tokens_[token].location());
}

}  // namespace gopt
