// SPDX-License-Identifier: Apache-2.0
#include "suggest.h"

#include "advice.h"
#include "clang/AST/DeclTemplate.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

namespace gopt {
namespace {

constexpr double kNotable = 0.05;  ///< A smaller share of the time, or of the misses, is not reported.
constexpr double kIdle = 0.005;    ///< A hint is superfluous if its accesses have a smaller share of the misses.

/// Returns the function that a run executed: for a template, an instance.
const clang::FunctionDecl* run_function(const clang::FunctionDecl* function) {
  const clang::FunctionTemplateDecl* made_from = function->getDescribedFunctionTemplate();
  if (made_from == nullptr) return function;
  for (const clang::FunctionDecl* instance : made_from->specializations()) {
    const clang::FunctionDecl* definition = nullptr;
    if (instance->hasBody(definition) && !definition->isDependentContext()) return definition;
  }
  return nullptr;
}

void find_loops(const clang::Stmt* statement, std::vector<const clang::ForStmt*>& loops) {
  if (statement == nullptr) return;
  if (const clang::ForStmt* loop = Unit::foreach_loop(statement)) return loops.push_back(loop);
  for (const clang::Stmt* child : statement->children()) find_loops(child, loops);
}

/// Returns the name of a profile's function without namespaces, parameters, and the suffix of a compiler's clone.
llvm::StringRef plain_name(llvm::StringRef function) {
  const llvm::StringRef name = function.take_until([](char c) { return c == '(' || c == '.' || c == '<'; });
  return name.contains("::") ? name.rsplit("::").second : name;
}

std::string percent(double share) {
  return llvm::formatv("{0:f0}%", 100 * share).str();
}

/// Returns the speed-up: "2.1", or "1.3 to 2.1" if it is uncertain.
std::string factor(const Model& model, uint64_t hidden) {
  const std::string most = llvm::formatv("{0:f1}", model.most_factor(hidden)).str();
  if (model.knows_overlap()) return "about " + most;
  return llvm::formatv("{0:f1}", model.least_factor(hidden)).str() + " to " + most;
}

}  // namespace

std::string Suggestions::report() {
  const std::vector<const clang::FunctionDecl*> annotated = unit_.annotated();
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const clang::SourceLocation start = sources.getLocForStartOfFile(sources.getMainFileID());
  if (annotated.empty()) {
    unit_.refuse(start, "no function here has a foreach");
    return "";
  }
  const std::string file = line_of(start).file;
  if (profile_.of_source(file, problem) == nullptr) {
    if (problem.empty()) {
      problem = "the profile has no line of " + file + "; was the program compiled with -g, and has it called it?";
    }
    return "";
  }
  std::string text;
  for (const clang::FunctionDecl* function : annotated) {
    const clang::FunctionDecl* run = run_function(function);
    if (run == nullptr) {
      text += unit_.file_and_line(function->getLocation()) + ": " + function->getNameAsString() +
              ": a template, and nothing in this file says with which arguments; give gopt a file that calls it\n";
      continue;
    }
    Subject subject = subject_of(run);
    report_on(subject);
    text += subject.text;
  }
  return text;
}

Suggestions::Line Suggestions::line_of(clang::SourceLocation where) const {
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const clang::SourceLocation expanded = sources.getExpansionLoc(where);
  const clang::PresumedLoc presumed = sources.getPresumedLoc(expanded);
  return {!sources.isInMainFile(expanded), absolute_path(presumed.getFilename()), presumed.getLine()};
}

std::string Suggestions::name(const Line& line) const {
  return llvm::sys::path::filename(line.file).str() + ":" + std::to_string(line.number);
}

const Profile::Lines& Suggestions::profile_of(const Line& line) {
  static const Profile::Lines kNone;
  std::string ambiguous;
  const Profile::Lines* lines = profile_.of_source(line.file, ambiguous);
  return lines != nullptr ? *lines : kNone;
}

void Suggestions::add(Subject& subject, const Line& line, const Profile::Counts& counts) {
  subject.lines[line].add(counts);
  subject.all.add(counts);
}

void Suggestions::add_loop(Subject& subject, const clang::ForStmt* loop) {
  const Line first = line_of(loop->getBeginLoc());
  const unsigned last = line_of(loop->getEndLoc()).number;
  const Profile::Lines& lines = profile_of(first);
  for (auto at = lines.lower_bound(first.number); at != lines.end() && at->first <= last; ++at) {
    for (const auto& [function, counts] : at->second) {
      add(subject, line_at(first, at->first), counts);
      subject.run_in.insert(function);
    }
  }
}

/// Adds the counts of a called function that belong to the foreach: inlined into it, or in the function itself.
void Suggestions::add_called(Subject& subject, const clang::FunctionDecl* function) {
  const Line first = line_of(function->getBody()->getBeginLoc());
  const unsigned last = line_of(function->getBody()->getEndLoc()).number;
  const Profile::Lines& lines = profile_of(first);
  for (auto at = lines.lower_bound(first.number); at != lines.end() && at->first <= last; ++at) {
    if (subject.lines.count(line_at(first, at->first)) != 0) continue;
    for (const auto& [run_in, counts] : at->second) {
      const bool by_itself = plain_name(run_in) == function->getNameAsString();
      const bool is_unknown = run_in.empty();
      if (is_unknown || by_itself || subject.run_in.count(run_in) != 0) add(subject, line_at(first, at->first), counts);
    }
  }
}

Suggestions::Subject Suggestions::subject_of(const clang::FunctionDecl* function) {
  Subject subject;
  subject.function = function;
  std::vector<const clang::ForStmt*> loops;
  find_loops(function->getBody(), loops);
  std::set<const clang::FunctionDecl*> called;
  for (const clang::ForStmt* loop : loops) {
    const Reads reads(unit_, function, loop);
    subject.reads.insert(subject.reads.end(), reads.all().begin(), reads.all().end());
    subject.hints.insert(reads.hints().begin(), reads.hints().end());
    called.insert(reads.called().begin(), reads.called().end());
    add_loop(subject, loop);
  }
  for (const clang::FunctionDecl* helper : called) add_called(subject, helper);
  return subject;
}

bool Suggestions::is_notable(const Subject& subject, uint64_t misses) {
  return misses > 0 && static_cast<double>(misses) >= kNotable * static_cast<double>(subject.all.misses);
}

void Suggestions::report_on(Subject& subject) {
  const Profile::Counts& all = subject.all;
  subject.text =
      unit_.file_and_line(subject.function->getLocation()) + ": " + subject.function->getNameAsString() + ": ";
  if (all.instructions == 0 && all.misses == 0) {
    subject.text += "the profile has nothing of its foreach; the run has not called it\n";
    return;
  }
  const auto depth = llvm::count_if(subject.lines, [&](const auto& line) {
    return is_notable(subject, line.second.misses) &&
           llvm::any_of(reads_in(subject, line.first), [](const Read* read) { return read->is_first(); });
  });
  const Model model(profile_, all, static_cast<size_t>(depth));
  subject.text += std::to_string(all.misses) + " misses (" + profile_.event + ")";
  if (model.knows_time()) subject.text += " in " + std::to_string(all.instructions) + " instructions";
  if (all.misses == 0 || (model.knows_time() && model.most_saved(all.misses) < kNotable)) {
    subject.text += subject.hints.empty() ? ": no hint would gain anything" : ": the hints that are there gain nothing";
    if (model.knows_overlap() && model.overlap() > 1) {
      subject.text += ", for the core waits for " + std::to_string(model.overlap()) + " of them at a time by itself";
    }
    subject.text += '\n';
    return;
  }
  subject.text += '\n';
  for (const auto& [line, counts] : subject.lines) {
    if (is_notable(subject, counts.misses)) report_line(subject, model, line, counts.misses);
  }
  report_idle_hints(subject);
  if (!model.knows_time()) return;
  const uint64_t all_hidden = llvm::SaturatingAdd(subject.hidden, subject.to_hide);
  const std::string now = factor(model, subject.hidden) + " times as fast as the plain loop";
  const std::string then = factor(model, all_hidden) + " times as fast as the plain loop";
  if (subject.to_hide == 0) {
    subject.text += "  with the hints that are there: " + now + "\n";
  } else if (subject.hints.empty()) {
    subject.text += "  with these hints: " + then + "\n";
  } else {
    subject.text += "  with the hints that are there: " + now + "; with these too: " + then + "\n";
  }
}

/// Returns the reads that may cause a line's misses: reads in the line, else reads of statements that include the line.
std::vector<const Read*> Suggestions::reads_in(const Subject& subject, const Line& line) {
  std::vector<const Read*> exact;
  std::vector<const Read*> around;
  for (const Read& read : subject.reads) {
    const Line begin = line_of(read.access->getExprLoc());
    const clang::Expr* whole = full_expression(read.access, unit_.parents(read.function));
    const bool is_around =
        line_of(whole->getBeginLoc()).number <= line.number && line.number <= line_of(whole->getEndLoc()).number;
    if (begin.file != line.file) continue;
    if (begin.number == line.number) exact.push_back(&read);
    if (is_around) around.push_back(&read);
  }
  const std::vector<const Read*>& all = exact.empty() ? around : exact;
  std::vector<const Read*> first;
  std::set<std::string> known;
  for (const Read* read : all) {
    if (read->is_first() && known.insert(read->address.text).second) first.push_back(read);
  }
  return first.empty() ? all : first;
}

void Suggestions::report_line(Subject& subject, const Model& model, const Line& line, uint64_t misses) {
  subject.text += "  " + name(line) + ": " + std::to_string(misses) + ", " +
                  percent(static_cast<double>(misses) / static_cast<double>(subject.all.misses)) + ": ";
  const std::vector<const Read*> reads = reads_in(subject, line);
  std::vector<const Read*> bare;
  const Read* hinted = nullptr;
  const Read* later = nullptr;
  const Read* in_sequence = nullptr;
  for (const Read* read : reads) {
    if (read->is_first() && read->hint == nullptr) bare.push_back(read);
    if (read->hint != nullptr) hinted = read;
    if (read->in_sequence) {
      in_sequence = read;
    } else if (read->earlier != nullptr && !read->same_for_all) {
      later = read;
    }
  }
  if (!bare.empty()) {
    subject.to_hide = llvm::SaturatingAdd(subject.to_hide, misses);
    bool is_next = false;
    for (const Read* read : bare) {
      subject.text += is_next ? "    perhaps also " : "";
      subject.text += is_of_range(read->access) ? "an element of the range" : written(unit_, read->access);
      if (!read->callee.empty()) subject.text += ", which '" + read->callee + "' is given";
      subject.text += ", without a hint";
      if (!is_next && model.knows_time()) {
        subject.text += std::string("; one saves ") + (model.knows_overlap() ? "about " : "up to ") +
                        percent(model.most_saved(misses)) + " of the time";
      }
      subject.text += '\n';
      const Advice advice = advice_for(unit_, subject.function, *read, subject.reads);
      subject.text += "    " + advice.where + (advice.code.empty() ? "" : ":") + "\n";
      for (const std::string& code : advice.code) subject.text += "      " + code + "\n";
      is_next = true;
    }
    return;
  }
  if (hinted != nullptr) {
    subject.hidden = llvm::SaturatingAdd(subject.hidden, misses);
    subject.text += written(unit_, hinted->access) + ", with the hint of line " +
                    std::to_string(unit_.line(hinted->hint->getBeginLoc())) + "\n";
  } else if (later != nullptr) {
    subject.text += written(unit_, later->access) + ", of which line " +
                    std::to_string(unit_.line(later->earlier->getExprLoc())) + " reads first: the hint belongs there\n";
  } else if (in_sequence != nullptr) {
    subject.text += written(unit_, in_sequence->access) + ", in sequence: the core fetches that ahead by itself\n";
  } else {
    subject.text += "no read of an item's own memory is written here; the compiler may have moved one here\n";
  }
}

void Suggestions::report_idle_hints(Subject& subject) {
  std::vector<const clang::CallExpr*> hints(subject.hints.begin(), subject.hints.end());
  llvm::sort(hints, [this](const auto* one, const auto* other) {
    return unit_.ast.getSourceManager().isBeforeInTranslationUnit(one->getBeginLoc(), other->getBeginLoc());
  });
  for (const clang::CallExpr* hint : hints) {
    std::set<Line> lines;
    for (const Read& read : subject.reads) {
      if (read.hint != hint || read.earlier != nullptr) continue;
      const clang::Expr* whole = full_expression(read.access, unit_.parents(read.function));
      const Line first = line_of(whole->getBeginLoc());
      for (unsigned at = first.number; at <= line_of(whole->getEndLoc()).number; ++at) lines.insert(line_at(first, at));
    }
    uint64_t misses = 0;
    for (const Line& line : lines) {
      const auto found = subject.lines.find(line);
      if (found != subject.lines.end()) misses = llvm::SaturatingAdd(misses, found->second.misses);
    }
    if (static_cast<double>(misses) >= kIdle * static_cast<double>(subject.all.misses)) continue;
    subject.text +=
        "  " + name(line_of(hint->getBeginLoc())) + ": g_expensive(" + written(unit_, hint->getArg(0)) + "): ";
    subject.text += lines.empty() ? "nothing that is to be seen reads it after the hint"
                                  : "misses " + std::to_string(misses) + " times: a switch for nothing";
    subject.text += '\n';
  }
}

}  // namespace gopt
