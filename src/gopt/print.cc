// SPDX-License-Identifier: Apache-2.0
//
// Prints G: the ring of items, the switches, and the explanation.
#include <algorithm>

#include "function.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace gopt {
namespace {

std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += by;
  }
  return out;
}

bool is_copied_as_bytes(const Variable& variable) {
  return variable.form == Variable::Form::boxed || variable.type->isArrayType() || Unit::has_constant(variable.type);
}

}  // namespace

std::string Function::label(const char* name, unsigned loop) const {
  return "gopt_" + std::string(name) + (loop == 0 ? "" : "_of_" + std::to_string(loop + 1));
}

uint64_t Function::bytes(const Variable& variable) const {
  const clang::QualType type = variable.type;
  if (type->isDependentType() || type->isIncompleteType()) return 0;
  return static_cast<uint64_t>(unit_.ast.getTypeSizeInChars(type).getQuantity());
}

std::vector<unsigned> Function::kept(unsigned loop) const {
  llvm::BitVector all(static_cast<unsigned>(variables_.size()));
  for (const unsigned at : loops_[loop].switches) all |= saved_[at];
  std::vector<unsigned> variables(all.set_bits_begin(), all.set_bits_end());
  const auto alignment = [&](unsigned number) {
    const clang::QualType type = variables_[number].type;
    return type->isDependentType() ? clang::CharUnits::One() : unit_.ast.getTypeAlignInChars(type);
  };
  std::stable_sort(variables.begin(), variables.end(),
                   [&](unsigned a, unsigned b) { return alignment(a) > alignment(b); });
  return variables;
}

void Function::name_members(unsigned loop) {
  std::set<std::string> names{"gopt_resume"};
  for (const unsigned number : kept(loop)) {  // A member must not hide a type that another member has.
    llvm::SmallVector<llvm::StringRef> words;
    const std::string type = unit_.declare(variables_[number].type, "");
    llvm::SplitString(type, words, " :<>,*&[]()");
    for (const llvm::StringRef word : words) names.insert(word.str());
  }
  for (const unsigned number : kept(loop)) {
    Variable& variable = variables_[number];
    variable.member = variable.name;
    for (unsigned i = 2; !names.insert(variable.member).second; ++i)
      variable.member = variable.name + "_" + std::to_string(i);
  }
}

/// Replaces marks by text that was unknown earlier. A mark is \x03, a letter, a number, \x04.
std::string Function::fill(const std::string& text) {
  std::string out;
  size_t from = 0;
  for (size_t mark = text.find('\x03'); mark != std::string::npos; mark = text.find('\x03', from)) {
    out += text.substr(from, mark - from);
    const size_t end = text.find('\x04', mark);
    const auto number = static_cast<unsigned>(std::stoul(text.substr(mark + 2, end - mark - 2)));
    const size_t line = out.rfind('\n') + 1;
    const size_t first = std::min(out.find_first_not_of(" \t", line), out.size());
    std::string indent = out.substr(line, first - line);
    if (text[mark + 1] == 'S') out += indented(switch_text(switches_[number]), indent);
    if (text[mark + 1] == 'L') out += indented(loop_text(number), indent);
    if (text[mark + 1] == 'Z') out += zero_text(number);
    from = end + 1;
  }
  return out + text.substr(from);
}

/// Returns the name of the index in the body of a foreach.
std::string Function::index_text(unsigned loop) const {
  const Variable& index = variables_[loops_[loop].index];
  return loops_[loop].index_in_item ? "gopt_at->" + index.member : index.name;
}

std::string Function::save_text(const Variable& variable) const {
  const std::string member = "gopt_at->" + variable.member;
  if (is_copied_as_bytes(variable)) {
    const std::string from = use_text(variable);
    return "__builtin_memcpy((void *)&" + member + ", &" + from + ", sizeof " + from + ");";
  }
  return member + " = " + variable.name + ";";
}

std::string Function::restore_text(const Variable& variable) const {
  const std::string member = "gopt_at->" + variable.member;
  if (is_copied_as_bytes(variable)) {
    const std::string to = use_text(variable);
    return "__builtin_memcpy((void *)&" + to + ", &" + member + ", sizeof " + to + ");";
  }
  return variable.name + " = " + member + ";";
}

/// Stores the point at which the item resumes.
std::string Function::mark_text(unsigned number) {
  return "gopt_at->gopt_resume = " + std::to_string(number) + ";";
}

std::string Function::switch_text(const Switch& at) {
  const unsigned number = static_cast<unsigned>(&at - switches_.data());
  std::string saves;
  for (const unsigned variable : stored_[number].set_bits()) saves += save_text(variables_[variable]) + " ";
  std::string restores;
  for (const unsigned variable : saved_[number].set_bits()) {
    const bool stays = variables_[variable].is_index && loops_[at.loop].index_in_item;
    if (!stays) restores += " " + restore_text(variables_[variable]);
  }
  const Loop& loop = loops_[at.loop];
  if (loop.switches.size() > 1 && at.number != loop.first_switch) saves += mark_text(at.number) + " ";
  if (at.marks_first) restores += " " + mark_text(loop.first_switch);
  const std::string resume = label("resume", at.loop) + "_" + std::to_string(at.number);
  return "{ /* " + at.what + " */\n  " + at.prefetch + "\n  " + saves + "goto " + label("switch", at.loop) + ";\n" +
         resume + ":" + (restores.empty() ? ";" : restores) + "\n}";
}

/// Initialises a variable without a value if it is saved and some path may read it.
std::string Function::zero_text(unsigned number) {
  const Variable& variable = variables_[number];
  const bool is_saved = llvm::any_of(saved_, [&](const llvm::BitVector& saved) { return saved.test(number); });
  if (!is_saved || variable.type->isArrayType() || variable.form == Variable::Form::reference ||
      variable.form == Variable::Form::boxed)
    return "";
  if (!flow_.is_live_after(variable.declared_at, number)) return "";
  if (variable.type->isRecordType())
    return " __builtin_memset((void *)&" + variable.name + ", 0, sizeof " + variable.name + ");";
  return " " + variable.name + (unit_.is_cxx() ? " = {};" : " = 0;");
}

/// Returns the struct of the values that are stored for a suspended item.
std::string Function::item_text(unsigned number) {
  std::string text = "  struct gopt_item {\n";
  for (const unsigned variable_number : kept(number)) {
    const Variable& variable = variables_[variable_number];
    // A class with a constructor, or a struct without assignment, is stored as bytes.
    std::string declared = unit_.declare(variable.type, variable.member);
    const std::string type = unit_.declare(variable.type, "");
    if (variable.form == Variable::Form::boxed) {
      declared = llvm::formatv("alignas({0}) unsigned char {1}[sizeof({0})]", type, variable.member);
    } else if (Unit::has_constant(variable.type)) {
      declared = llvm::formatv("__attribute__((aligned(__alignof__({0})))) unsigned char {1}[sizeof({0})]", type,
                               variable.member);
    }
    text.append("    ").append(declared).append(";\n");
  }
  if (loops_[number].switches.size() > 1 || kept(number).empty()) text += "    unsigned gopt_resume;\n";
  return text + "  } gopt_items[gopt_most];\n";
}

/// Returns the declarations before the body, and the start of an item.
std::string Function::head_text(unsigned number) {
  const Loop& loop = loops_[number];
  const std::string index = index_text(number);
  std::string text = "{ /* foreach: " + std::string(options_.any_width ? "up to " : "") +
                     std::to_string(options_.width) + " items take turns */\n" + line_mark(0, "");
  text += "  enum { gopt_most = " + std::to_string(options_.width) + " };\n";
  if (!loop.types.empty()) text += "  " + indented(loop.types.substr(0, loop.types.size() - 1), "  ") + "\n";
  text += item_text(number);
  text += "  struct gopt_item *gopt_at = gopt_items, *gopt_end = gopt_items;\n";
  if (options_.any_width) {
    text +=
        "  struct gopt_item *const gopt_limit = gopt_items + (gopt_width < gopt_most ? gopt_width : "
        "(uint32_t)gopt_most);\n";
  }
  text += "  const uint32_t gopt_count = " + loop.count + ";\n";
  text += "  uint32_t gopt_next = 0;\n";
  if (!loop.index_in_item) text += "  " + unit_.declare(variables_[loop.index].type, index) + ";\n";
  text += "  if (gopt_count == 0) goto " + label("all_done", number) + ";\n";
  text += label("open", number) + ": /* one more item takes part */\n";
  text += "  ++gopt_end;\n";
  if (loop.first_switch > 0) text += "  " + mark_text(loop.first_switch) + "\n";
  text += label("start", number) + ": /* the next item, in the place of one that is done or in a new one */\n";
  text += "  " + index + " = gopt_next++;\n";
  if (mentions_of(variables_[loop.index].declaration, loop.statement->getBody()) == 0)
    text += "  (void)" + index + ";\n";
  return text;
}

/// Returns the end of an item and the jump to the next item.
std::string Function::tail_text(unsigned number) {
  const Loop& loop = loops_[number];
  const auto name = [&](const char* what) { return label(what, number); };
  const size_t switches = loop.switches.size();
  std::string text = line_mark(0, "");
  if (loop.goes_to_done) text += name("item_done") + ":\n";
  text += "  if (gopt_next < gopt_count) goto " + name("start") + ";\n";
  text += "  if (--gopt_end == gopt_items) goto " + name("all_done") + ";\n";
  text += "  if (gopt_at == gopt_end) gopt_at = gopt_items;\n";
  text += "  else *gopt_at = *gopt_end;\n";
  text += "  goto " + name("resume") + (switches > 1 ? "" : "_1") + ";\n";
  text += name("switch") + ": /* to the next item */\n";
  // With several switches g++ would place the code of the ring's end between the frequent paths.
  const std::string at_end = "++gopt_at == gopt_end";
  text += "  if (" + (switches > 1 ? "__builtin_expect(" + at_end + ", 0)" : at_end) + ") {\n";
  text += "    if (gopt_next < gopt_count && gopt_end < " +
          std::string(options_.any_width ? "gopt_limit" : "gopt_items + gopt_most") + ") goto " + name("open") + ";\n";
  text += "    gopt_at = gopt_items;\n";
  text += "  }\n";
  if (switches > 1) {
    text += name("resume") + ":\n  switch (gopt_at->gopt_resume) {\n";
    for (unsigned i = 1; i < switches; ++i) {
      text += "    case " + std::to_string(i) + ": goto " + name("resume") + "_" + std::to_string(i) + ";\n";
    }
    text += "    default: goto " + name("resume") + "_" + std::to_string(switches) + ";\n  }\n";
  } else {
    text += "  goto " + name("resume") + "_1;\n";
  }
  return text + name("all_done") + ":;\n}";
}

std::string Function::loop_text(unsigned number) {
  const Loop& loop = loops_[number];
  std::string text;
  if (!loop.plain.empty()) text += "if (gopt_width <= 1) {\n  " + loop.plain + "\n} else ";
  std::string made = fill(head_text(number) + "  " + loop.body + "\n" + tail_text(number));
  const std::string index = index_text(number);
  for (size_t at = made.find(kIndexMark); at != std::string::npos; at = made.find(kIndexMark, at + index.size())) {
    made.replace(at, 1, index);
  }
  return text + made;
}

std::string Function::explain_variable(const Switch& at, unsigned number, unsigned variable) const {
  const Variable& kept = variables_[variable];
  std::string why;
  const clang::SourceLocation read = flow_.next_read(at.point, variable);
  if (kept.escape.isValid()) {
    why = "its address is taken in line " + std::to_string(unit_.line(kept.escape));
  } else if (read.isValid()) {
    why = "read in line " + std::to_string(unit_.line(read));
  }
  const bool stays = kept.is_index && loops_[at.loop].index_in_item;
  if (!stored_[number].test(variable)) why += stays ? "; kept from the start" : "; unchanged since it was last saved";
  const uint64_t size = bytes(kept);
  return "    " + unit_.declare(kept.type, kept.name) + ", " +
         (size == 0 ? "bytes by the template's arguments" : std::to_string(size) + " bytes") + ": " + why + "\n";
}

void Function::explain(unsigned loop) {
  if (loops_[loop].switches.empty()) return;
  uint64_t item = loops_[loop].switches.size() > 1 ? 4 : 0;
  for (const unsigned variable : kept(loop)) item += bytes(variables_[variable]);
  explanation_ += unit_.file_and_line(loops_[loop].statement->getBeginLoc()) + ": " + function_->getNameAsString() +
                  options_.suffix + ": " + std::to_string(options_.width) + " items take turns; " +
                  std::to_string(item) + " bytes are kept of each\n";
  for (const unsigned at : loops_[loop].switches) {
    uint64_t saved = 0;
    for (const unsigned variable : saved_[at].set_bits()) saved += bytes(variables_[variable]);
    explanation_ += "  " + unit_.file_and_line(switches_[at].where) + ": switch " +
                    std::to_string(switches_[at].number) + ", " + switches_[at].what + ": " + std::to_string(saved) +
                    " bytes\n";
    for (const unsigned variable : saved_[at].set_bits()) explanation_ += explain_variable(switches_[at], at, variable);
  }
}

}  // namespace gopt
