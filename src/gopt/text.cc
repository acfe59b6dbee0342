// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <algorithm>

#include "clang/Lex/Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace gopt {
namespace {

constexpr char kMark = '\x01';
constexpr char kMarkEnd = '\x02';

/// Returns the blanks and comments between two tokens, without directives and the text that they exclude. Splices are
/// removed too, unless they lengthen a comment.
std::string without_directives(llvm::StringRef gap) {
  const auto is_directive = [](llvm::StringRef line) {
    const llvm::StringRef text = line.ltrim(" \t");
    return text.starts_with("#") || text.starts_with("%:") || text.starts_with("\?\?=");
  };
  llvm::SmallVector<llvm::StringRef> lines;
  gap.split(lines, '\n');
  if (!std::none_of(lines.begin() + 1, lines.end(), is_directive)) {
    return "\n" + lines.back().take_while([](char c) { return c == ' ' || c == '\t'; }).str();
  }
  if (gap.contains("//")) return gap.str();
  for (llvm::StringRef& line : lines) {
    if (is_spliced(line)) line = line.rtrim(" \t\r\\/?");
  }
  return llvm::join(lines, "\n");
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == kInnerNewline;
}

/// Returns true if no blank is needed between the two tokens. A number absorbs the following token, and :: joins with a
/// : or a <.
bool is_glued(llvm::StringRef token, llvm::StringRef next) {
  if (next == ")" || next == "]" || next == ";" || next == ",") return true;
  if (next == "::" || token.empty() || llvm::isDigit(token.front())) return false;
  return token == "(" || token == "[" || token == "." || token == "->" || token == "!" || token == "~" ||
         token == "::" || next == "." || next == "->";
}

/// Returns true for a character of a word or at the end of a literal.
bool continues_word(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '"' || c == '\'' || static_cast<unsigned char>(c) >= 0x80;
}

/// Returns a file's name for a #line directive.
std::string in_quotes(llvm::StringRef name) {
  std::string text;
  for (const char c : name) text += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return "\"" + text + "\"";
}

}  // namespace

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

/// Walks over the tokens and tracks the file position of the last printed token.
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
    gap(i, in_macro && !whole);
    const auto before = text_.before_.find(i);
    keep_apart(before != text_.before_.end() ? plain(before->second)
               : replaced                    ? plain(replacement->second.text)
                                             : tokens_.spelling(i).str());
    if (before != text_.before_.end()) add(before->second);
    unsigned next = i + 1;
    if (replaced) {
      add(replacement->second.text);
      next = std::max(replacement->second.end, i + 1);
    } else if (in_macro && whole) {
      mark(i);
      const clang::CharSourceRange written = sources_.getExpansionRange(tokens_.tokens_[i].location());
      copy(clang::Lexer::getSourceText(written, sources_, tokens_.language_), i);
      next = group;
    } else {
      if (!in_macro) mark(i);
      copy(tokens_.spelling(i), i);
    }
    opened_ = in_macro && !whole;
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

  /// Returns the end of the tokens that come from the same use of a macro in a file.
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

  /// Prints the text between the last printed token and token `i`.
  void gap(unsigned i, bool opens) {
    if (!started_) return;
    const auto [file, begin] = sources_.getDecomposedLoc(tokens_.written_at(i));
    const clang::SourceLocation last = tokens_.tokens_[last_].location();
    const bool same_macro = last.isMacroID() && tokens_.tokens_[i].location().isMacroID() &&
                            tokens_.written_at(last_) == tokens_.written_at(i);
    if (same_macro) {
      if (spelled_gap(i)) return;
      separate(i);
      return;
    }
    const clang::SourceLocation written_end = last.isMacroID() ? sources_.getExpansionRange(last).getEnd() : last;
    const unsigned length = clang::Lexer::MeasureTokenLength(written_end, sources_, tokens_.language_);
    const auto [last_file, last_begin] = sources_.getDecomposedLoc(written_end);
    if (last_file != file || last_begin + length > begin) {
      out_ += ' ';
      return;
    }
    const std::string between =
        without_directives(sources_.getBufferData(file).substr(last_begin + length, begin - last_begin - length));
    if (between.find('\n') != std::string::npos) marked_ = false;
    out_ += checked(between, tokens_.tokens_[i].location());
    if (opens || opened_) separate(i);
  }

  /// Separates two tokens of an opened macro that were written apart and are now adjacent, such as - and -x.
  void separate(unsigned i) {
    if (started_ && !out_.empty() && !is_blank(out_.back()) &&
        !is_glued(tokens_.spelling(last_), tokens_.spelling(i))) {
      out_ += ' ';
    }
  }

  /// Separates two words or literals that an edit made neighbours: in `f(x)bitor`, the call may become a name.
  void keep_apart(llvm::StringRef next) {
    llvm::StringRef printed = out_;
    while (printed.ends_with(llvm::StringRef(&kMarkEnd, 1))) printed = printed.take_front(printed.rfind(kMark));
    if (started_ && !printed.empty() && !next.empty() && continues_word(printed.back()) &&
        continues_word(next.front())) {
      out_ += ' ';
    }
  }

  /// Prints a token as written, or several tokens with the text between them.
  void copy(llvm::StringRef written, unsigned i) {
    // An opened macro shows the definitions of gopt.h for gopt; the output must have the baseline's definitions.
    if (written == "__gopt_first_item") written = "0U";
    if (written == "__gopt_expensive") written = "(void)sizeof";
    std::string text = checked(written, tokens_.tokens_[i].location());
    std::replace(text.begin(), text.end(), '\n', kInnerNewline);
    out_ += text;
  }

  /// Prints the blanks between two tokens of a macro's argument. Returns false if the tokens are not neighbours.
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

  /// Prints an edit, which moves the following text off its line.
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
  bool opened_ = false;  ///< True if the last printed token belongs to an opened macro.
};

std::string Text::render(TokenRange range) const {
  return Printer(*this).print(range);
}

std::string checked(llvm::StringRef text, clang::SourceLocation where) {
  if (llvm::any_of(text, [](char c) { return c >= kMark && c <= kInnerNewline; })) {
    throw Refusal{where, "a control character is here, which the output cannot hold; write an escape sequence"};
  }
  return text.str();
}

bool is_spliced(llvm::StringRef line) {
  line = line.rtrim(" \t\r");
  return line.ends_with("\\") || line.ends_with("\?\?/");
}

std::string line_mark(unsigned line, llvm::StringRef file) {
  return kMark + std::to_string(line) + ":" + checked(file, {}) + kMarkEnd;
}

std::string plain(llvm::StringRef text) {
  std::string out;
  bool in_mark = false;
  for (const char c : text) {
    const bool blank = is_blank(c);
    if (c == kMark) in_mark = true;
    if (!in_mark && (!blank || (!out.empty() && out.back() != ' '))) out += blank ? ' ' : c;
    if (c == kMarkEnd) in_mark = false;
  }
  return out;
}

std::string with_line_directives(llvm::StringRef text, llvm::StringRef output, unsigned first_line) {
  std::string out;
  std::string file = output.str();
  unsigned line = first_line;      // The line as the compiler counts.
  unsigned physical = first_line;  // The line in the output.
  bool spliced = false;
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
      unsigned written = 0;
      number.getAsInteger(10, written);
      const unsigned wanted = written == 0 ? physical + 1 : written;
      const llvm::StringRef from = written == 0 ? output : name;
      const bool starts_line = bare.find_first_not_of(" \t{}") == std::string::npos && !spliced;
      if (first && starts_line && (wanted != line || from != file)) {
        file = from.str();
        line = wanted;
        out += "#line " + std::to_string(line) + " " + in_quotes(file) + "\n";
        ++physical;
      }
      first = false;
      rest = after;
    }
    spliced = is_spliced(bare);
    const auto inner = static_cast<unsigned>(std::count(bare.begin(), bare.end(), kInnerNewline));
    std::replace(bare.begin(), bare.end(), kInnerNewline, '\n');
    out += bare + "\n";
    line += 1 + inner;
    physical += 1 + inner;
  }
  return out.substr(0, out.find_last_not_of('\n') + 1) + "\n";
}

}  // namespace gopt
