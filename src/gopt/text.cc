// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <algorithm>

#include "clang/AST/Stmt.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace gopt {
namespace {

constexpr char kMark = '\x01';
constexpr char kMarkEnd = '\x02';

/// The blanks and comments between two tokens, without directives and what they hide: those have been obeyed.
std::string without_directives(llvm::StringRef gap) {
  const auto is_directive = [](llvm::StringRef line) { return line.ltrim(" \t").starts_with("#"); };
  llvm::SmallVector<llvm::StringRef> lines;
  gap.split(lines, '\n');
  if (std::none_of(lines.begin() + 1, lines.end(), is_directive)) return gap.str();
  return "\n" + lines.back().take_while([](char c) { return c == ' ' || c == '\t'; }).str();
}

bool glued_to_next(llvm::StringRef token) {
  return token == "(" || token == "[" || token == "." || token == "->" || token == "!" || token == "~" || token == "::";
}

bool glued_to_previous(llvm::StringRef token) {
  return token == ")" || token == "]" || token == "." || token == "->" || token == ";" || token == "," || token == "::";
}

}  // namespace

Tokens::Tokens(const clang::syntax::TokenBuffer& buffer, const clang::SourceManager& sources)
    : tokens_(buffer.expandedTokens()), sources_(sources) {
  for (unsigned i = 0; i < tokens_.size(); ++i) by_location_[tokens_[i].location()] = i;
}

unsigned Tokens::at(clang::SourceLocation location) const {
  const auto found = by_location_.find(location);
  if (found == by_location_.end()) llvm::report_fatal_error("gopt: a syntax tree's node starts inside a token");
  return found->second;
}

TokenRange Tokens::range(clang::SourceRange range) const {
  return {at(range.getBegin()), at(range.getEnd()) + 1};
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
  if (const auto* s = llvm::dyn_cast<clang::SwitchStmt>(statement)) return statement_end(s->getBody());
  if (const auto* s = llvm::dyn_cast<clang::SwitchCase>(statement)) return statement_end(s->getSubStmt());
  if (const auto* s = llvm::dyn_cast<clang::LabelStmt>(statement)) return statement_end(s->getSubStmt());
  if (const auto* s = llvm::dyn_cast<clang::AttributedStmt>(statement)) return statement_end(s->getSubStmt());
  unsigned end = at(statement->getEndLoc()) + 1;
  const bool complete = llvm::isa<clang::CompoundStmt>(statement) || llvm::isa<clang::DeclStmt>(statement) ||
                        llvm::isa<clang::NullStmt>(statement);
  if (!complete && end < tokens_.size() && spelling(end) == ";") ++end;
  return end;
}

unsigned Tokens::find(TokenRange range, llvm::StringRef text) const {
  int depth = 0;
  for (unsigned i = range.begin; i < std::min<size_t>(range.end, tokens_.size()); ++i) {
    const llvm::StringRef token = spelling(i);
    if (depth == 0 && token == text) return i;
    if (token == "(" || token == "[" || token == "{") ++depth;
    if (token == ")" || token == "]" || token == "}") --depth;
  }
  return range.end;
}

clang::SourceLocation Tokens::written_at(unsigned token) const {
  return sources_.getExpansionLoc(tokens_[token].location());
}

void Text::replace(TokenRange range, std::string text) {
  replacements_.erase(replacements_.lower_bound(range.begin), replacements_.lower_bound(range.end));
  before_.erase(before_.lower_bound(range.begin), before_.lower_bound(range.end));
  after_.erase(after_.lower_bound(range.begin), after_.lower_bound(range.end));
  replacements_[range.begin] = {range.end, std::move(text)};
}

void Text::insert_before(unsigned token, const std::string& text) {
  before_[token] = text + before_[token];
}
void Text::insert_after(unsigned token, const std::string& text) {
  after_[token] += text;
}

/// Walks over the tokens and keeps account of where in a file the last one printed was.
class Text::Printer {
 public:
  explicit Printer(const Text& text) : text_(text), tokens_(*text.tokens_), sources_(tokens_.sources_) {}

  std::string print(TokenRange range) {
    for (unsigned i = range.begin; i < range.end;) i = print_at(i, range.end);
    return std::move(out_);
  }

 private:
  unsigned print_at(unsigned i, unsigned end) {
    const unsigned group = group_end(i);
    const bool in_macro = tokens_.tokens_[i].location().isMacroID();
    const bool whole = !in_macro || (group <= end && (i == 0 || group_end(i - 1) != group) && !edited(i, group));
    const auto replacement = text_.replacements_.find(i);
    const bool replaced = replacement != text_.replacements_.end();
    gap(i);
    if (const auto found = text_.before_.find(i); found != text_.before_.end()) add(found->second);
    unsigned next = i + 1;
    if (replaced) {
      add(replacement->second.text);
      next = std::max(replacement->second.end, i + 1);
    } else if (in_macro && whole) {
      mark(i);
      const clang::CharSourceRange written = sources_.getExpansionRange(tokens_.tokens_[i].location());
      out_ += clang::Lexer::getSourceText(written, sources_, clang::LangOptions());
      next = group;
    } else {
      if (!in_macro) mark(i);
      out_ += tokens_.spelling(i);
    }
    last_ = next - 1;
    started_ = true;
    const auto after = text_.after_.find(last_);
    if (after != text_.after_.end()) add(after->second);
    return next;
  }

  bool edited(unsigned begin, unsigned end) const {
    const auto within = [&](const auto& map) {
      const auto found = map.lower_bound(begin);
      return found != map.end() && found->first < end;
    };
    const bool in_replaced = within(text_.replacements_);
    return in_replaced || within_inside(text_.before_, begin + 1, end) || within_inside(text_.after_, begin, end - 1);
  }
  template <class Map>
  static bool within_inside(const Map& map, unsigned begin, unsigned end) {
    const auto found = map.lower_bound(begin);
    return found != map.end() && found->first < end;
  }

  /// The end of the tokens that come from the same use of a macro in a file.
  unsigned group_end(unsigned i) const {
    if (tokens_.tokens_[i].location().isFileID()) return i + 1;
    const clang::SourceLocation use = tokens_.written_at(i);
    unsigned end = i + 1;
    while (end < tokens_.tokens_.size() && tokens_.tokens_[end].location().isMacroID() &&
           tokens_.written_at(end) == use) {
      ++end;
    }
    return end;
  }

  /// What stands between the last token printed and token `i`.
  void gap(unsigned i) {
    if (!started_) return;
    const auto [file, begin] = sources_.getDecomposedLoc(tokens_.written_at(i));
    const clang::SourceLocation last = tokens_.tokens_[last_].location();
    const bool same_macro = last.isMacroID() && tokens_.tokens_[i].location().isMacroID() &&
                            tokens_.written_at(last_) == tokens_.written_at(i);
    if (same_macro) {
      if (spelled_gap(i)) return;
      if (!glued_to_next(tokens_.spelling(last_)) && !glued_to_previous(tokens_.spelling(i))) out_ += ' ';
      return;
    }
    const clang::SourceLocation written_end = last.isMacroID() ? sources_.getExpansionRange(last).getEnd() : last;
    const unsigned length = clang::Lexer::MeasureTokenLength(written_end, sources_, clang::LangOptions());
    const auto [last_file, last_begin] = sources_.getDecomposedLoc(written_end);
    if (last_file != file || last_begin + length > begin) {
      out_ += ' ';
      return;
    }
    const std::string between =
        without_directives(sources_.getBufferData(file).substr(last_begin + length, begin - last_begin - length));
    if (between.find('\n') != std::string::npos) marked_ = false;
    out_ += between;
  }

  /// Between tokens that came into the macro as an argument, the blanks that stand there.
  bool spelled_gap(unsigned i) {
    const clang::SourceLocation last = sources_.getSpellingLoc(tokens_.tokens_[last_].location());
    const auto [last_file, last_begin] = sources_.getDecomposedLoc(last);
    const auto [file, begin] = sources_.getDecomposedLoc(sources_.getSpellingLoc(tokens_.tokens_[i].location()));
    const unsigned last_end = last_begin + tokens_.tokens_[last_].length();
    if (last_file != file || last_end > begin) return false;
    const llvm::StringRef between = sources_.getBufferData(file).substr(last_end, begin - last_end);
    if (between.find_first_not_of(' ') != llvm::StringRef::npos) return false;
    out_ += between;
    return true;
  }

  /// Edits move what follows off its line.
  void add(const std::string& text) {
    out_ += text;
    marked_ = false;
  }

  void mark(unsigned i) {
    if (marked_) return;
    marked_ = true;
    const clang::PresumedLoc where = sources_.getPresumedLoc(tokens_.written_at(i));
    out_ += line_mark(where.getLine(), where.getFilename());
  }

  const Text& text_;
  const Tokens& tokens_;
  const clang::SourceManager& sources_;
  std::string out_;
  unsigned last_ = 0;
  bool started_ = false;
  bool marked_ = false;
};

std::string Text::render(TokenRange range) const {
  return Printer(*this).print(range);
}

std::string line_mark(unsigned line, llvm::StringRef file) {
  return kMark + std::to_string(line) + ":" + file.str() + kMarkEnd;
}

std::string plain(llvm::StringRef text) {
  std::string out;
  bool in_mark = false;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t';
    if (c == kMark) in_mark = true;
    if (!in_mark && (!blank || (!out.empty() && out.back() != ' '))) out += blank ? ' ' : c;
    if (c == kMarkEnd) in_mark = false;
  }
  return out;
}

std::string with_line_directives(llvm::StringRef text, llvm::StringRef output, unsigned first_line) {
  std::string out;
  std::string file = output.str();
  unsigned line = first_line;      // as the compiler counts
  unsigned physical = first_line;  // in the output
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef rest : lines) {
    std::string bare;
    bool first = true;
    while (!rest.empty()) {
      const size_t mark = rest.find(kMark);
      bare += rest.substr(0, mark);
      if (mark == llvm::StringRef::npos) break;
      const auto [where, after] = rest.substr(mark + 1).split(kMarkEnd);
      const auto [number, name] = where.split(':');
      const bool generated = number == "0";
      const unsigned wanted = generated ? physical + 1 : static_cast<unsigned>(std::stoul(number.str()));
      const bool starts_line = bare.find_first_not_of(" \t{}") == std::string::npos;
      if (first && starts_line && (wanted != line || (generated ? output : name) != file)) {
        file = (generated ? output : name).str();
        line = wanted;
        out += "#line " + std::to_string(line) + " \"" + file + "\"\n";
        ++physical;
      }
      first = false;
      rest = after;
    }
    out += bare + "\n";
    ++line;
    ++physical;
  }
  return out.substr(0, out.find_last_not_of('\n') + 1) + "\n";
}

}  // namespace gopt
